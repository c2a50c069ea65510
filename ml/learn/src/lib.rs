//! Learning from call stack trees: features, embeddings and the one-class SVM.
//!
//! ```text
//! bags ─┬─ features (excess time, rarity) ─┬─ ocsvm ─ scores
//!       └─ stack2vec (the paper's vectors) ┘
//! ```
//!
//! [`cause`] finds the executions whose time the tracer itself took. Pure and deterministic, as all of `ml`.

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

pub mod cause;
mod cholesky;
pub mod features;
pub mod metrics;
pub mod ocsvm;
pub mod stack2vec;
