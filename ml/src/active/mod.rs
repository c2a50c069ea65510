//! Active learning: which tree to ask about next, and which labels to look at again.

mod doubt;
mod query;

pub use doubt::{Doubt, doubtful_labels};
pub use query::{Query, next_queries};
