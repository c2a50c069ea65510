//! Trees for people: what sets one apart from the usual ones, why it is rare by design, and what it consists of in short.

mod by_design;
mod explainer;
mod summary;

pub use by_design::design_words;
pub use explainer::Explainer;
pub use summary::{SummaryNode, summarize};
