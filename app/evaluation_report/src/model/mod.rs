//! Models on the executions of a run: their results, and what they were learned from.

mod difference;
mod evaluation;
mod origin_facts;
mod trial;

pub use difference::{ChangedTree, ModelChangeTable, changed_trees};
pub use evaluation::ModelEvaluation;
pub use origin_facts::{model_json, model_row, print_model};
pub use trial::PublicationTrial;
