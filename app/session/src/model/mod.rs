//! Information about models: settings, origin and use of a file, and the models of a running job.

mod origin;
mod running;
mod settings;

pub use origin::{ModelOrigin, ModelUse};
pub use running::{ModelTrial, RunningModels};
pub use settings::ModelSettings;
