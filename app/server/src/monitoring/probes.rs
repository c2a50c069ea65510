//! `GET /healthz` and `GET /readyz`, which need no token.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::routing::get;

use super::health::DatabaseHealth;

/// What a server can report of itself. Default: that it answers.
#[derive(Clone, Debug, Default)]
pub struct Monitored {
    /// The database of a parameter server.
    pub database: Option<Arc<DatabaseHealth>>,
}

/// The routes that an operator and their tools ask.
pub fn router(monitored: Monitored) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readiness))
        .with_state(monitored)
}

/// Returns true for requests that are answered without a token. Their connections stay in the budget of those without
/// a valid request.
pub(crate) fn is_probe(request: &Request) -> bool {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    is_read && matches!(request.uri().path(), "/healthz" | "/readyz")
}

async fn readiness(State(monitored): State<Monitored>) -> (StatusCode, String) {
    let checked = monitored
        .database
        .map_or(Ok(()), |database| database.check());
    match checked {
        Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}
