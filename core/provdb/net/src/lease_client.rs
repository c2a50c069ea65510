//! The client's side of claims over the network: heartbeats for as long as a claim is held, and the list of held claims
//! that every write carries.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// The claims that a client holds and those that it has lost, by program and rank.
#[derive(Clone, Default)]
pub(super) struct ClientClaims(Arc<Mutex<KnownClaims>>);

#[derive(Default)]
struct KnownClaims {
    /// With the lease of each.
    held: BTreeMap<(u32, u32), String>,
    /// In the order in which the client noticed.
    lost: Vec<(u32, u32)>,
}

impl ClientClaims {
    /// Records a granted claim.
    pub(super) fn hold(&self, request: &proto::ClaimRequest) {
        let key = (request.program, request.rank);
        self.known().held.insert(key, request.lease.clone());
    }

    /// Removes a claim that its owner released.
    pub(super) fn release(&self, key: (u32, u32), lease: &str) {
        let held = &mut self.known().held;
        if held.get(&key).is_some_and(|newest| newest == lease) {
            held.remove(&key);
        }
    }

    fn lose(&self, key: (u32, u32)) {
        self.known().lost.push(key);
    }

    /// Returns a rank that another instance took, if there is one.
    pub(super) fn first_lost(&self) -> Option<(u32, u32)> {
        self.known().lost.first().copied()
    }

    /// Returns the held claims, which every write carries.
    pub(super) fn to_wire(&self) -> Vec<proto::HeldClaim> {
        let known = self.known();
        let claim = |(&(program, rank), lease): (&(u32, u32), &String)| proto::HeldClaim {
            program,
            rank,
            lease: lease.clone(),
        };
        known.held.iter().map(claim).collect()
    }

    fn known(&self) -> MutexGuard<'_, KnownClaims> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    claims: ClientClaims,
) {
    let renewal = proto::ClaimRequest {
        is_renewal: true,
        ..request
    };
    loop {
        stream.keep().await;
        drop(stream);
        stream = loop {
            tokio::time::sleep(RETRY_PAUSE).await;
            match ask(client.clone(), renewal.clone()).await {
                Ok(stream) => break stream,
                Err(status) if status.code() == Code::AlreadyExists => {
                    return claims.lose((renewal.program, renewal.rank));
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
