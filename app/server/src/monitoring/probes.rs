//! `GET /healthz` and `GET /readyz`, which need no token.

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};

use super::monitored::Monitored;

/// Returns true for requests that are answered without a token. Their connections stay among the pending ones.
pub(crate) fn is_probe(request: &Request) -> bool {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    is_read && matches!(request.uri().path(), "/healthz" | "/readyz")
}

pub(super) async fn readiness(State(monitored): State<Monitored>) -> (StatusCode, String) {
    let mut checked = monitored
        .database
        .map_or(Ok(()), |database| database.check());
    if let Some(served) = monitored.served {
        checked = checked.and(served.check().await);
    }
    match checked {
        Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}
