//! The JSON interface, `/api/…`; `docs/http.md` describes each endpoint.

pub(crate) mod body_budget;
mod documents;
mod error;
mod live;
mod provenance_pool;
mod state;
mod tree_model_registry;
mod tree_models;

use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

pub use documents::{DEFAULT_LIMIT, MAX_LIMIT};
pub use error::ApiError;
pub use live::{MAX_WAIT, OverviewAnswer};
pub use provenance_pool::Documents;
pub use state::{Api, Live};
pub use tree_model_registry::TreeModelRegistry;
pub use tree_models::{ModelVersion, Published};

/// Timeout of a request, body and waiting included, after which it is answered by 503.
const MAX_REQUEST_TIME: Duration = Duration::from_mins(2);

/// Answer of `GET /api/health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Version of the program.
    pub version: String,
    /// True if there is live data.
    pub live: bool,
    /// True if there is a provenance database.
    pub documents: bool,
}

/// Returns the routes of the JSON interface.
pub fn router(api: Api) -> Router {
    let routes = Router::new()
        .route("/api/health", get(health))
        .route("/api/overview", get(live::overview))
        .route("/api/packets", get(live::packets))
        .route("/api/anomalydata", post(live::receive))
        .route("/api/documents/{collection}", get(documents::documents))
        .route("/api/count/{collection}", get(documents::count))
        .route("/api/schema/{collection}", get(documents::schema))
        .route("/api/tree-model", get(tree_models::one))
        .route(
            "/api/tree-models",
            get(tree_models::list)
                .post(tree_models::publish)
                .layer(DefaultBodyLimit::max(tree_models::MAX_BODY_BYTES)),
        )
        .route("/api/tree-models/in-force", post(tree_models::put_in_force));
    routes
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn(with_timeout))
        .with_state(api)
}

async fn health(State(api): State<Api>) -> Json<Health> {
    Json(Health {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        live: api.live.hub().is_ok(),
        documents: api.documents.is_some(),
    })
}

async fn method_not_allowed(method: Method) -> ApiError {
    let message = format!("{method} is not supported for this path: use GET, or POST to send data");
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
}

async fn with_timeout(request: Request, next: Next) -> Response {
    timeout(MAX_REQUEST_TIME, next.run(request))
        .await
        .unwrap_or_else(|_| {
            let message =
                "the request took longer than two minutes: send it faster, or request less at once";
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message).into_response()
        })
}
