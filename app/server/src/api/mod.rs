//! The JSON interface, `/api/…`; the crate's README tells how to use each endpoint.

mod error;
mod live;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

pub use error::ApiError;
pub use live::MAX_WAIT;

use crate::hub::Hub;

/// A request of the JSON interface that takes longer, body and waiting included, is answered by 503.
const MAX_REQUEST_TIME: Duration = Duration::from_secs(120);

/// What a server has to show.
#[derive(Clone)]
pub struct Api {
    /// The running job.
    pub live: Live,
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
}

/// The routes of the JSON interface.
pub fn router(api: Api) -> Router {
    let routes = Router::new()
        .route("/api/health", get(health))
        .route("/api/overview", get(live::overview))
        .route("/api/packets", get(live::packets))
        .route("/api/anomalydata", post(live::receive));
    routes.layer(from_fn(in_time)).with_state(api)
}

async fn health(State(api): State<Api>) -> Json<Health> {
    Json(Health {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        live: api.live.hub().is_ok(),
    })
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
