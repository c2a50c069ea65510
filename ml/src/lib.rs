//! Learning on call stack trees.
//!
//! Everything here is pure: it uses no file, socket, thread start, clock or environment. Loops run in parallel if the
//! caller's thread pool has threads, and sequentially in a browser; the results are the same. Every long function
//! takes a [`Progress`] and can be cancelled through it.
//!
//! ```text
//! forest_file (any trees as JSON lines) ─ Forest
//! Forest ─ wl (subtrees, bags) ─┬─ features (excess time, rarity) ─┬─ ocsvm ─ scores ─ metrics
//!                               └─ stack2vec (the paper's vectors) ─┤
//!                                                                   └─ projection (map)
//! Forest ─ decision (like executions, p-values, false discovery rate) ─ abnormal or not
//! Forest ─ explain (what differs from the usual trees)
//! ```
//!
//! [`detector`] combines the parts: [`detector::Embedding::fit`] once per forest, [`detector::Detector::train`] after
//! each label, [`detector::ModelArtifact`] for other runs. All defaults are in [`detector::DetectorParams`], which
//! also has the paper's settings. [`active`] selects the tree to ask about next and the labels to review; [`cause`]
//! finds the anomalies that the tracer itself caused. [`evaluate`] measures the detector on a known truth, in
//! comparison with the [`baselines`].
//!
//! "The paper" is Xie, Xu, Mueller: A Visual Analytics Framework for the Detection of Anomalous Call
//! Stack Trees in High Performance Computing Applications, IEEE TVCG 25(1), 2019
//! (doi:10.1109/TVCG.2018.2865026).

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
pub mod baselines;
pub mod cause;
mod cholesky;
pub mod dataset;
pub mod decision;
pub mod detector;
mod distances;
mod error;
pub mod evaluate;
pub mod explain;
pub mod features;
pub mod forest_file;
pub mod function_match;
pub mod knn;
pub mod metrics;
pub mod ocsvm;
pub mod projection;
mod real;
pub mod stack2vec;
pub mod suggest;
pub mod wl;

pub use callgrove_model::{Cancelled, Progress};
pub use error::{MlError, Result};
