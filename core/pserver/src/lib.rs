//! The parameter server: merges the models and statistics of all AD instances.

mod error;
mod exchange;
pub mod packet;
mod report;

pub use error::PserverError;
pub use exchange::{Hello, Link, ModelExchange, Synced, Welcome};
pub use report::{AnomalySummary, CounterReport, FunctionReport, StepReport};
