//! The running job: its overview, and its packets as they arrive.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use callgrove_pserver::overview::Overview;
use callgrove_pserver::packet::{Packet, VERSION};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::error::ApiError;
use super::state::{Api, Live, json_response};
use crate::connection::Stopping;
use crate::hub::{FellBehind, Hub, OverviewSnapshot, PacketPage};

/// Maximum time that a request waits for packets.
pub const MAX_WAIT: Duration = Duration::from_mins(1);

/// Answer of `GET /api/overview`.
#[derive(Debug, Serialize, Deserialize)]
pub struct OverviewAnswer {
    /// Version of the overview: the number of its newest packet.
    pub version: u64,
    /// True if the run has ended.
    pub ended: bool,
    /// The overview of all packets up to that version.
    pub overview: Arc<Overview>,
}

/// `GET /api/overview`.
pub(super) async fn overview(State(api): State<Api>) -> Result<Response, ApiError> {
    let OverviewSnapshot { progress, overview } = api.live.hub()?.snapshot();
    // Serializing the history of many ranks takes long enough to delay other requests.
    let json = tokio::task::spawn_blocking(move || {
        serde_json::to_vec(&OverviewAnswer {
            version: progress.version,
            ended: progress.ended,
            overview,
        })
    });
    match json.await {
        Ok(Ok(json)) => Ok(json_response(json)),
        Ok(Err(error)) => Err(ApiError::defect(&error)),
        Err(error) => Err(ApiError::defect(&error)),
    }
}

/// The parameters of `GET /api/packets`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Following {
    /// The version that the client has.
    after: u64,
    /// Time to wait for a packet if none is available.
    #[serde(default)]
    wait_ms: u64,
}

/// `GET /api/packets`.
pub(super) async fn packets(
    State(api): State<Api>,
    stopping: Option<Extension<Stopping>>,
    following: Result<Query<Following>, QueryRejection>,
) -> Result<Response, ApiError> {
    let hub = api.live.hub()?;
    let Query(Following { after, wait_ms }) = following.map_err(|error| {
        ApiError::bad_request(format!(
            "{}: ask /api/packets?after=VERSION&wait_ms=MILLISECONDS",
            error.body_text()
        ))
    })?;
    let wait = Duration::from_millis(wait_ms).min(MAX_WAIT);
    tokio::select! {
        () = hub.changed_from(after) => {}
        () = sleep(wait) => {}
        () = stopped(stopping) => {}
    }
    page(hub, after)
}

fn page(hub: &Hub, after: u64) -> Result<Response, ApiError> {
    let PacketPage { version, ended, packets } =
        hub.packets_after(after).map_err(|FellBehind { oldest, newest }| {
            let message = format!(
                "the packets after {after} are not available, only those after {oldest} to {newest}: start again with \
                 /api/overview"
            );
            ApiError::new(StatusCode::GONE, message)
        })?;
    let mut json = format!("{{\"version\":{version},\"ended\":{ended},\"packets\":[").into_bytes();
    for (idx, packet) in packets.iter().enumerate() {
        if idx > 0 {
            json.push(b',');
        }
        json.extend_from_slice(packet);
    }
    json.extend_from_slice(b"]}");
    Ok(json_response(json))
}

/// Ready once the server is stopping, so that waiting requests are answered before it ends.
pub(super) async fn stopped(stopping: Option<Extension<Stopping>>) {
    match stopping {
        // An error means that the server has been dropped.
        Some(Extension(Stopping(mut stopping))) => drop(stopping.wait_for(|stop| *stop).await),
        None => std::future::pending().await,
    }
}

/// `POST /api/anomalydata`, as parameter servers post.
pub(super) async fn receive(
    State(api): State<Api>,
    packet: Result<Json<Packet>, JsonRejection>,
) -> Result<Json<Value>, ApiError> {
    let Live::Posted(hub) = &api.live else {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "this server does not accept packets from other parameter servers, which would mix their runs with its own",
        ));
    };
    let Json(packet) = packet.map_err(|error| ApiError::new(error.status(), error.body_text()))?;
    if packet.version != VERSION {
        return Err(ApiError::bad_request(format!(
            "the packet is of version {} of the schema, this server reads version {VERSION}: use the same release on both sides",
            packet.version
        )));
    }
    let hub = Arc::clone(hub);
    // Applying a packet of a large job takes long enough to delay other requests.
    match tokio::task::spawn_blocking(move || hub.publish(&packet)).await {
        Ok(version) => Ok(Json(json!({ "version": version }))),
        Err(error) => Err(ApiError::defect(&error)),
    }
}
