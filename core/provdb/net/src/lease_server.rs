//! The server's side of claims over the network: a claim lasts as long as its holder sends heartbeats.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgrove_provdb::Claim;
use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::store_thread::StoreThread;
use super::{proto, wire};

/// A holder that is silent for this time loses its claim.
const LEASE: Duration = Duration::from_secs(15);

/// The claims that clients hold, by program and rank.
#[derive(Clone)]
pub(super) struct Leases {
    /// The store that grants them.
    writer: StoreThread,
    held: Arc<Mutex<BTreeMap<(u32, u32), Leased>>>,
}

/// A claim held by a client.
struct Leased {
    claim: Claim,
    lease: String,
    /// Number of the newest stream that held it; only that one may release it.
    stream: u64,
}

impl Leases {
    pub(super) fn new(writer: StoreThread) -> Self {
        Self {
            writer,
            held: Arc::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held().is_empty()
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<(u32, u32), Leased>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Grants a claim, and monitors it until its stream ends or falls silent.
pub(super) async fn grant(
    leases: Leases,
    mut messages: Streaming<proto::ClaimRequest>,
) -> Result<ReceiverStream<Result<proto::ClaimReply, Status>>, Status> {
    let Some(request) = messages.message().await? else {
        return Err(Status::invalid_argument("no claim was sent: name a rank"));
    };
    let key = (request.program, request.rank);
    let stream = match take_over(&leases, &request) {
        Some(stream) => stream,
        None => claim(&leases, request).await?,
    };
    let (sender, replies) = mpsc::channel(1);
    tokio::spawn(async move {
        // The reply stream ends with this task, when `sender` is dropped.
        if sender.send(Ok(proto::ClaimReply {})).await.is_ok() {
            while let Ok(Ok(Some(_))) = tokio::time::timeout(LEASE, messages.message()).await {}
        }
        release(&leases, key, stream).await;
    });
    Ok(ReceiverStream::new(replies))
}

/// Hands a claim to a new stream of the client that already holds it. The former stream has broken, even if the server
/// has not noticed yet.
fn take_over(leases: &Leases, request: &proto::ClaimRequest) -> Option<u64> {
    let mut held = leases.held();
    let leased = held.get_mut(&(request.program, request.rank))?;
    (leased.lease == request.lease).then(|| {
        leased.stream += 1;
        leased.stream
    })
}

async fn claim(leases: &Leases, request: proto::ClaimRequest) -> Result<u64, Status> {
    let proto::ClaimRequest {
        program,
        rank,
        instance,
        lease,
    } = request;
    let claimed = leases
        .writer
        .run(move |store| store.claim(program, rank, &instance))
        .await;
    let claim = claimed.map_err(wire::status)?;
    leases.held().insert(
        (program, rank),
        Leased {
            claim,
            lease,
            stream: 0,
        },
    );
    Ok(0)
}

/// Releases a claim, unless another stream has taken it over.
async fn release(leases: &Leases, key: (u32, u32), stream: u64) {
    let ended = {
        let mut held = leases.held();
        let is_newest = held.get(&key).is_some_and(|leased| leased.stream == stream);
        if is_newest { held.remove(&key) } else { None }
    };
    if let Some(leased) = ended {
        // On the store's thread, since it may take a while. If the thread has ended, so has the store.
        drop(
            leases
                .writer
                .run(move |_| {
                    drop(leased.claim);
                    Ok(())
                })
                .await,
        );
    }
}
