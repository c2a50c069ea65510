//! What is said of models: settings while labelling, what a file was made for, how it is used.

mod origin;
mod running;
mod settings;

pub use origin::{ModelOrigin, ModelUse};
pub use running::{ModelTrial, RunningModels};
pub use settings::ModelSettings;
