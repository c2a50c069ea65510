//! Claims over the network: a claim lasts as long as its holder gives signs of life.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use super::remote::RemoteClient;
use super::service::{Leased, ProvDbService};
use super::{proto, wire};
use crate::ProvDbError;

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(3);
/// A holder that is silent for so long has lost its claim.
const LEASE: Duration = Duration::from_secs(15);
/// Pause before a client asks again for a claim whose stream broke.
const PAUSE: Duration = Duration::from_millis(200);

/// Server: grants a claim and watches over it until its stream ends or falls silent.
pub(super) async fn grant(
    service: ProvDbService,
    mut messages: Streaming<proto::ClaimRequest>,
) -> Result<ReceiverStream<Result<proto::ClaimReply, Status>>, Status> {
    let Some(request) = messages.message().await? else {
        return Err(Status::invalid_argument("no claim was sent: name a rank"));
    };
    let place = (request.program, request.rank);
    let holder = match take_over(&service, &request) {
        Some(holder) => holder,
        None => claim(&service, request).await?,
    };
    let (sender, replies) = mpsc::channel(1);
    tokio::spawn(async move {
        // The stream of replies ends with this task, when `sender` goes.
        if sender.send(Ok(proto::ClaimReply {})).await.is_ok() {
            while let Ok(Ok(Some(_))) = tokio::time::timeout(LEASE, messages.message()).await {}
        }
        give_back(&service, place, holder).await;
    });
    Ok(ReceiverStream::new(replies))
}

/// Gives a claim to a new stream of the client that holds it already; the former stream has broken, though the server
/// may not know that yet.
fn take_over(service: &ProvDbService, request: &proto::ClaimRequest) -> Option<u64> {
    let mut leases = service.leases();
    let leased = leases.get_mut(&(request.program, request.rank))?;
    (leased.lease == request.lease).then(|| {
        leased.holder += 1;
        leased.holder
    })
}

async fn claim(service: &ProvDbService, request: proto::ClaimRequest) -> Result<u64, Status> {
    let proto::ClaimRequest {
        program,
        rank,
        instance,
        lease,
    } = request;
    let claimed = service
        .writer
        .run(move |store| store.claim(program, rank, &instance))
        .await;
    let claim = claimed.map_err(wire::status)?;
    service.leases().insert(
        (program, rank),
        Leased {
            claim,
            lease,
            holder: 0,
        },
    );
    Ok(0)
}

/// Gives a claim back, unless another stream has taken it over.
async fn give_back(service: &ProvDbService, place: (u32, u32), holder: u64) {
    let ended = {
        let mut leases = service.leases();
        let is_newest = leases
            .get(&place)
            .is_some_and(|leased| leased.holder == holder);
        if is_newest {
            leases.remove(&place)
        } else {
            None
        }
    };
    if let Some(leased) = ended {
        // On the store's thread, for that may take a while. If the thread has ended, so has the store.
        drop(
            service
                .writer
                .run(move |_| {
                    drop(leased.claim);
                    Ok(())
                })
                .await,
        );
    }
}

/// What a client knows of its claims.
#[derive(Clone, Default)]
pub(super) struct Losses(Arc<Mutex<Vec<(u32, u32)>>>);

impl Losses {
    fn add(&self, program: u32, rank: u32) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((program, rank));
    }

    /// A rank that another instance took, if there is one.
    pub(super) fn first(&self) -> Option<(u32, u32)> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .first()
            .copied()
    }
}

/// The client asks for a claim. Its stream is open when this returns.
pub(super) async fn ask(
    mut client: RemoteClient,
    request: proto::ClaimRequest,
) -> Result<HeldStream, Status> {
    let (beats, messages) = mpsc::channel(1);
    beats
        .send(request)
        .await
        .map_err(|error| Status::internal(error.to_string()))?;
    let mut replies = client
        .claim(ReceiverStream::new(messages))
        .await?
        .into_inner();
    match replies.message().await? {
        Some(proto::ClaimReply {}) => Ok(HeldStream { beats, replies }),
        None => Err(Status::unavailable("the server ended the claim at once")),
    }
}

/// Both directions of a claim's stream.
pub(super) struct HeldStream {
    beats: mpsc::Sender<proto::ClaimRequest>,
    replies: Streaming<proto::ClaimReply>,
}

impl HeldStream {
    /// Gives signs of life until the stream breaks.
    async fn keep(&mut self) {
        loop {
            match tokio::time::timeout(BEAT, self.replies.message()).await {
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None) | Err(_)) => return,
                Err(_) => {
                    if self
                        .beats
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

/// The client keeps a claim, asking for it again when its stream breaks, until somebody else has it.
pub(super) async fn keep(
    client: RemoteClient,
    request: proto::ClaimRequest,
    mut stream: HeldStream,
    losses: Losses,
) {
    loop {
        stream.keep().await;
        drop(stream);
        stream = loop {
            tokio::time::sleep(PAUSE).await;
            match ask(client.clone(), request.clone()).await {
                Ok(stream) => break stream,
                Err(status) if status.code() == Code::AlreadyExists => {
                    return losses.add(request.program, request.rank);
                }
                Err(_) => {}
            }
        };
    }
}

/// The error of a lost claim.
pub(super) fn lost((program, rank): (u32, u32), place: &str) -> ProvDbError {
    ProvDbError::ClaimLost {
        program,
        rank,
        place: place.to_owned(),
    }
}
