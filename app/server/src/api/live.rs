//! The running job: its overview, and its packets as they arrive.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use callgrove_overview::packet::{Packet, VERSION};
use callgrove_overview::{Overview, RankRange};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::error::ApiError;
use super::state::{Api, Live, json_response};
use crate::connection::Stopping;
use crate::hub::{FellBehind, Hub, OverviewSnapshot, PacketPage, PacketProgress};

/// Maximum time that a request waits for packets.
pub const MAX_WAIT: Duration = Duration::from_mins(1);
/// Bytes a second of answers with digests to one follower, and of answers with single ranks. With both, a follower of a
/// job with many ranks gets less than 2 MB a second, however often packets come.
const MAX_BYTES_PER_S: u64 = 900_000;

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

/// The parameters of `GET /api/overview`: none for the whole job, or all three.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedRanks {
    program: Option<u32>,
    first_rank: Option<u32>,
    last_rank: Option<u32>,
}

impl ListedRanks {
    /// Returns the ranks; `None` for the whole job.
    fn range(&self) -> Result<Option<RankRange>, ApiError> {
        match (self.program, self.first_rank, self.last_rank) {
            (None, None, None) => Ok(None),
            (Some(app), Some(first_rank), Some(last_rank)) => Ok(Some(RankRange {
                app,
                first_rank,
                last_rank,
            })),
            _ => Err(ApiError::bad_request(
                "a range of ranks is incomplete: ask /api/overview?program=PROGRAM&first_rank=RANK&last_rank=RANK"
                    .to_owned(),
            )),
        }
    }
}

/// `GET /api/overview`.
pub(super) async fn overview(
    State(api): State<Api>,
    stopping: Option<Extension<Stopping>>,
    listed: Result<Query<ListedRanks>, QueryRejection>,
) -> Result<Response, ApiError> {
    let hub = Arc::clone(api.live.hub()?);
    let Query(listed) = listed.map_err(|error| {
        ApiError::bad_request(format!(
            "{}: ask /api/overview, or /api/overview?program=PROGRAM&first_rank=RANK&last_rank=RANK",
            error.body_text()
        ))
    })?;
    let Some(range) = listed.range()? else {
        let (progress, overview) = without_delay(move || hub.overview_json()).await?;
        return Ok(json_response(overview_answer(progress, &overview)));
    };
    let OverviewSnapshot { progress, overview } = hub.snapshot();
    let ranks = without_delay(move || serde_json::to_vec(&overview.of_ranks(range))).await?;
    paced(ranks.len(), stopping).await;
    Ok(json_response(overview_answer(progress, &ranks)))
}

/// Runs work that takes long enough to delay other requests, such as to serialize the history of many ranks.
async fn without_delay<T: Send + 'static>(
    work: impl FnOnce() -> serde_json::Result<T> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => Err(ApiError::defect(&error)),
        Err(error) => Err(ApiError::defect(&error)),
    }
}

fn overview_answer(PacketProgress { version, ended }: PacketProgress, overview: &[u8]) -> Vec<u8> {
    let head = format!("{{\"version\":{version},\"ended\":{ended},\"overview\":");
    [head.as_bytes(), overview, b"}"].concat()
}

/// Waits as long as an answer of a job with many ranks takes at the largest rate, or until the server stops.
async fn paced(num_bytes: usize, stopping: Option<Extension<Stopping>>) {
    let pause = Duration::from_millis(num_bytes as u64 * 1_000 / MAX_BYTES_PER_S);
    tokio::select! {
        () = sleep(pause) => {}
        () = stopped(stopping) => {}
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
        () = stopped(stopping.clone()) => {}
    }
    let hub = Arc::clone(hub);
    let page = page(&hub, after)?;
    let overview = if page.are_digests && !page.packets.is_empty() {
        Some(without_delay(move || hub.overview_json()).await?.1)
    } else {
        None
    };
    let json = packets_answer(&page, overview.as_ref());
    if page.are_digests {
        paced(json.len(), stopping).await;
    }
    Ok(json_response(json))
}

fn page(hub: &Hub, after: u64) -> Result<PacketPage, ApiError> {
    hub.packets_after(after).map_err(|FellBehind { oldest, newest }| {
            let message = format!(
                "the packets after {after} are not available, only those after {oldest} to {newest}: start again with \
                 /api/overview"
            );
            ApiError::new(StatusCode::GONE, message)
        })
}

/// Returns the answer with the packets, or with their digests and the overview that goes with them.
fn packets_answer(page: &PacketPage, overview: Option<&Bytes>) -> Vec<u8> {
    let (version, ended) = (page.version, page.ended);
    let mut json = format!("{{\"version\":{version},\"ended\":{ended},").into_bytes();
    if let Some(overview) = overview {
        json.extend_from_slice(b"\"overview\":");
        json.extend_from_slice(overview);
        json.push(b',');
    }
    json.extend_from_slice(if page.are_digests {
        b"\"digests\":["
    } else {
        b"\"packets\":["
    });
    for (idx, packet) in page.packets.iter().enumerate() {
        if idx > 0 {
            json.push(b',');
        }
        json.extend_from_slice(packet);
    }
    json.extend_from_slice(b"]}");
    json
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
