//! The routes of monitoring.

use axum::Router;
use axum::routing::get;

use super::metrics::metrics;
use super::monitored::Monitored;
use super::probes::readiness;

/// Returns the routes for operators and their tools.
pub fn router(monitored: Monitored) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .with_state(monitored)
}
