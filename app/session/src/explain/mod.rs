//! Trees told to a person: what sets one apart from the usual ones, and what it is made of in short.

mod explainer;
mod summary;

pub use explainer::Explainer;
pub use summary::{SummaryNode, summarize};
