//! What is said of models: settings while labelling, what a file was made for, how it is used.

mod origin;
mod settings;

pub use origin::{ModelOrigin, ModelUse};
pub use settings::ModelSettings;
