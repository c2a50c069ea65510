//! Explanations of trees: differences from the usual ones, rare by design, and summaries.

mod by_design;
mod explainer;

pub use by_design::design_text;
pub use explainer::Explainer;
