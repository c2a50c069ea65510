//! Why a tree is anomalous: the importance of its subtrees, section 5.3.1 of the paper.

mod importance;
mod params;

pub use importance::{Explanation, SubtreeImportance, explain};
pub use params::{ExplainParams, Neighbours};
