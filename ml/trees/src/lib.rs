//! Call stack trees as learning sees them.
//!
//! ```text
//! Forest ─┬─ wl (relabelled subtrees, bags) ─ dataset (rows of features)
//!         └─ explain (differences from the usual trees)
//! ```
//!
//! Everything here is pure: no file, socket, thread start, clock or environment. Loops run in parallel
//! where the caller's thread pool has threads, and one after the other in a browser; the results are
//! the same. Every long function takes a [`Progress`] and can be cancelled through it.
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

pub mod dataset;
mod distances;
pub mod error;
pub mod explain;
pub mod function_match;
pub mod real;
pub mod suggest;
pub mod wl;

pub use callgrove_model::{Cancelled, Progress};
pub use error::{MlError, Result};
