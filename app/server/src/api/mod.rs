//! The JSON interface, `/api/…`; the crate's README tells how to use each endpoint.

mod documents;
mod error;
mod live;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

pub use documents::{DEFAULT_LIMIT, Documents, MAX_LIMIT};
pub use error::ApiError;
pub use live::MAX_WAIT;

use crate::hub::Hub;

/// A request of the JSON interface that takes longer, body and waiting included, is answered by 503.
const MAX_REQUEST_TIME: Duration = Duration::from_mins(2);

/// What a server has to show.
#[derive(Clone)]
pub struct Api {
    /// The running job.
    pub live: Live,
    /// The provenance database, if this server can ask it.
    pub documents: Option<Documents>,
}

impl Api {
    fn documents(&self) -> Result<&Documents, ApiError> {
        self.documents.as_ref().ok_or_else(|| {
            ApiError::new(
                StatusCode::NOT_FOUND,
                "this server has no provenance database: start it with --provdb, or ask `callgrove provdb`",
            )
        })
    }
}

/// Where packets about the running job come from.
#[derive(Clone)]
pub enum Live {
    /// This server knows nothing about it.
    Absent,
    /// The program publishes them itself; the interface shows them.
    Published(Arc<Hub>),
    /// A parameter server posts them to `/api/anomalydata`; the interface shows them.
    Posted(Arc<Hub>),
}

impl Live {
    fn hub(&self) -> Result<&Arc<Hub>, ApiError> {
        match self {
            Self::Published(hub) | Self::Posted(hub) => Ok(hub),
            Self::Absent => Err(ApiError::new(
                StatusCode::NOT_FOUND,
                "this server has no live data: ask the parameter server of the run (`callgrove pserver` or `callgrove run`)",
            )),
        }
    }
}

/// Answer of `GET /api/health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Version of the program.
    pub version: String,
    /// Whether there is live data.
    pub live: bool,
    /// Whether there is a provenance database.
    pub documents: bool,
}

/// The routes of the JSON interface.
pub fn router(api: Api) -> Router {
    let routes = Router::new()
        .route("/api/health", get(health))
        .route("/api/overview", get(live::overview))
        .route("/api/packets", get(live::packets))
        .route("/api/anomalydata", post(live::receive))
        .route("/api/documents/{collection}", get(documents::documents))
        .route("/api/count/{collection}", get(documents::count))
        .route("/api/schema/{collection}", get(documents::schema));
    routes
        .method_not_allowed_fallback(other_method)
        .layer(from_fn(in_time))
        .with_state(api)
}

async fn health(State(api): State<Api>) -> Json<Health> {
    Json(Health {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        live: api.live.hub().is_ok(),
        documents: api.documents.is_some(),
    })
}

async fn other_method(method: Method) -> ApiError {
    let message = format!("{method} is not for this path: use GET, or POST for /api/anomalydata");
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
}

async fn in_time(request: Request, next: Next) -> Response {
    timeout(MAX_REQUEST_TIME, next.run(request))
        .await
        .unwrap_or_else(|_| {
            let message =
                "the request took longer than two minutes: send it faster, or ask for less at once";
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message).into_response()
        })
}

/// An answer whose JSON is already written.
fn written(json: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}
