//! Monitoring of a server: liveness, readiness and metrics.

mod document_counts;
mod health;
mod metrics;
mod monitored;
mod probes;
mod routes;
mod text;

pub use document_counts::DocumentCounts;
pub use health::DatabaseHealth;
pub use monitored::Monitored;
pub use routes::router;

pub(crate) use health::PanicGuard;
pub(crate) use probes::is_probe;
