//! Which call stack trees are abnormal, and which one a person is asked about next.
//!
//! [`detector`] ties all of `ml` together: [`detector::Embedding::fit`] once per forest, [`detector::Detector::train`]
//! after each label, [`detector::ModelArtifact`] for other runs. All defaults are in [`detector::DetectorParams`],
//! which also has the paper's settings. [`decision`] turns scores into p-values and decides by a false discovery rate;
//! [`active`] proposes the next tree and the labels to look at again.

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

pub mod active;
pub mod decision;
pub mod detector;
