//! The client's side of claims over the network: heartbeats for as long as the claim is held.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callgrove_provdb::ProvDbError;
use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use super::RemoteClient;
use super::proto;

/// Interval between heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);
/// Pause before the client requests a claim again after its stream broke.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// The claims that a client has lost.
#[derive(Clone, Default)]
pub(super) struct LostClaims(Arc<Mutex<Vec<(u32, u32)>>>);

impl LostClaims {
    fn add(&self, program: u32, rank: u32) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((program, rank));
    }

    /// Returns a rank that another instance took, if there is one.
    pub(super) fn first(&self) -> Option<(u32, u32)> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .first()
            .copied()
    }
}

/// Requests a claim. Its stream is open when this returns.
pub(super) async fn ask(
    mut client: RemoteClient,
    request: proto::ClaimRequest,
) -> Result<HeldStream, Status> {
    let (heartbeats, messages) = mpsc::channel(1);
    heartbeats
        .send(request)
        .await
        .map_err(|error| Status::internal(error.to_string()))?;
    let mut replies = client
        .claim(ReceiverStream::new(messages))
        .await?
        .into_inner();
    match replies.message().await? {
        Some(proto::ClaimReply {}) => Ok(HeldStream {
            heartbeats,
            replies,
        }),
        None => Err(Status::unavailable(
            "the server ended the claim immediately",
        )),
    }
}

/// Both directions of a claim's stream.
pub(super) struct HeldStream {
    heartbeats: mpsc::Sender<proto::ClaimRequest>,
    replies: Streaming<proto::ClaimReply>,
}

impl HeldStream {
    /// Sends heartbeats until the stream breaks.
    async fn keep(&mut self) {
        loop {
            match tokio::time::timeout(HEARTBEAT_INTERVAL, self.replies.message()).await {
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None) | Err(_)) => return,
                Err(_) => {
                    if self
                        .heartbeats
                        .send(proto::ClaimRequest::default())
                        .await
                        .is_err()
                    {
                        return;
                    }
                }
            }
        }
    }
}

/// Holds a claim, and requests it again when its stream breaks, until another instance has it.
pub(super) async fn keep(
    client: RemoteClient,
    request: proto::ClaimRequest,
    mut stream: HeldStream,
    lost_claims: LostClaims,
) {
    loop {
        stream.keep().await;
        drop(stream);
        stream = loop {
            tokio::time::sleep(RETRY_PAUSE).await;
            match ask(client.clone(), request.clone()).await {
                Ok(stream) => break stream,
                Err(status) if status.code() == Code::AlreadyExists => {
                    return lost_claims.add(request.program, request.rank);
                }
                Err(_) => {}
            }
        };
    }
}

/// Returns the error of a lost claim.
pub(super) fn lost((program, rank): (u32, u32), place: &str) -> ProvDbError {
    ProvDbError::ClaimLost {
        program,
        rank,
        place: place.to_owned(),
    }
}
