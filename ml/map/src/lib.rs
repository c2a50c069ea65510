//! Neighbours of rows in many dimensions, and maps of them in two.
//!
//! [`knn`] is exact; [`projection`] has multidimensional scaling (classical and by landmarks, SMACOF), t-SNE, and
//! measures of how well a map keeps neighbours. Pure and deterministic, as all of `ml`.

#![cfg_attr(
    not(test),
    warn(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_lossless
    )
)]

pub mod knn;
pub mod projection;
