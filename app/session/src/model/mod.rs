//! Information about models: the origin of a file, and the models of a running job.

mod origin;
mod running;

pub use origin::ModelOrigin;
pub use running::{ModelTrial, RunningModels};
