//! Trends of a running job: ranks that are slower than their peers, growth, and changes for good, while the run goes on.
//!
//! ```text
//! StepBrief of every rank ─ TrendBook: windows of own times ─ callgrove_patterns::trend ─ documents
//! ```
//!
//! An instance reports with each step the own times of the functions under their callers that took most of it: number,
//! quantile .40 and sum. The server keeps up to 40 windows of each on each rank; when there are more, neighbours are joined,
//! so that memory does not grow with the number of steps. What is a trend, the engine for recorded runs says.

mod book;
mod document;

pub(crate) use book::TrendBook;
pub use document::TrendDocument;
