//! Trends of a running job: ranks that are slower than their peers, growth, and permanent changes.
//!
//! ```text
//! StallSummary of every rank ─ TrendBook: windows of own times ─ callgrove_trends ─ documents
//! ```
//!
//! With each step an instance reports the exclusive times of the functions (under their callers) that took most of it:
//! number, 0.40 quantile and sum. The server keeps up to 40 windows of each function on each rank; beyond that,
//! neighbours are joined, so that memory does not grow with the number of steps. The engine for recorded runs decides
//! what is a trend.

mod book;
mod document;

pub(crate) use book::TrendBook;
pub use document::{DueTrends, TrendDocument};
