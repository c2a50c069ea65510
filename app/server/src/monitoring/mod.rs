//! What an operator asks of a server: whether it runs, whether it does its work, and its metrics.

mod health;
mod probes;

pub use health::DatabaseHealth;
pub use probes::{Monitored, router};

pub(crate) use health::PanicGuard;
pub(crate) use probes::is_probe;
