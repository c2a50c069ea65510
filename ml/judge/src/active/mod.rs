//! Active learning: which tree to ask about next, and which labels to review.

mod doubt;
mod query_strategy;

pub use doubt::{Doubt, doubtful_labels};
pub use query_strategy::{QueryStrategy, next_queries};
