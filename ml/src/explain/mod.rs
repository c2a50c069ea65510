//! Why a tree is anomalous: the importance of its subtrees, section 5.3.1 of the paper.

mod importance;
mod params;

pub use importance::{SubtreeImportance, TreeExplanation, explain};
pub use params::{ExplainParams, NeighbourPool};
