//! How well anomalies are found, on a known truth, by Callgrove and by others.
//!
//! [`baselines`] by crates of others need the feature `peers`; browsers do without this crate.

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

pub mod baselines;
pub mod evaluate;
