//! The server's side of claims over the network: a claim lasts as long as its holder sends heartbeats. A holder that
//! has been silent may not know that another client has its rank; its writes are refused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgrove_provdb::{Claim, ProvDbError, Store};
use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::store_thread::StoreThread;
use super::{proto, wire};

/// A holder that is silent for this time loses its claim.
const LEASE: Duration = Duration::from_secs(15);
/// Maximum number of ranks whose last leases are remembered. Beyond it, those of released ranks are forgotten.
const MAX_REMEMBERED_LEASES: usize = 1 << 17;

/// Program and rank.
type Key = (u32, u32);

/// The claims of clients.
#[derive(Clone)]
pub(super) struct Leases {
    /// The store that grants them.
    writer: StoreThread,
    claims: Arc<Mutex<GrantedClaims>>,
}

/// The claims that clients hold, and the last lease of each rank.
#[derive(Default)]
struct GrantedClaims {
    held: BTreeMap<Key, Leased>,
    /// The lease of the newest claim of each rank, held or released. A write under an older one is refused.
    last_leases: BTreeMap<Key, String>,
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
            claims: Arc::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.claims().held.is_empty()
    }

    /// Runs a write of a client that believes to hold `claims`.
    ///
    /// The check is made on the thread of the store, where claims are granted too. So no write of a former holder
    /// comes after a grant to the next one.
    ///
    /// # Errors
    /// [`ProvDbError::ClaimLost`] if one of the claims has been granted to another client since; those of the write.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        claims: Vec<proto::HeldClaim>,
        write: impl FnOnce(&mut dyn Store) -> Result<T, ProvDbError> + Send + 'static,
    ) -> Result<T, ProvDbError> {
        let granted = Arc::clone(&self.claims);
        let checked = move |store: &mut dyn Store| {
            lock(&granted).check(&claims)?;
            write(store)
        };
        self.writer.run(checked).await
    }

    fn claims(&self) -> MutexGuard<'_, GrantedClaims> {
        lock(&self.claims)
    }
}

fn lock(claims: &Mutex<GrantedClaims>) -> MutexGuard<'_, GrantedClaims> {
    claims.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GrantedClaims {
    /// Returns an error if a claim has been granted to another client since. A claim that is unknown here, for example
    /// of the time before the server was restarted, passes.
    fn check(&self, claims: &[proto::HeldClaim]) -> Result<(), ProvDbError> {
        let is_lost = |claim: &&proto::HeldClaim| {
            let last = self.last_leases.get(&(claim.program, claim.rank));
            last.is_some_and(|last| *last != claim.lease)
        };
        claims.iter().find(is_lost).map_or(Ok(()), |claim| {
            Err(ProvDbError::ClaimLost {
                program: claim.program,
                rank: claim.rank,
                place: "this server".to_owned(),
            })
        })
    }

    /// Records the newest lease of a rank.
    fn remember(&mut self, key: Key, lease: String) {
        if self.last_leases.len() >= MAX_REMEMBERED_LEASES {
            let held = &self.held;
            self.last_leases.retain(|key, _| held.contains_key(key));
        }
        self.last_leases.insert(key, lease);
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
    let mut claims = leases.claims();
    let leased = claims.held.get_mut(&(request.program, request.rank))?;
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
        is_renewal,
    } = request;
    let key = (program, rank);
    let renewed = is_renewal.then(|| proto::HeldClaim {
        program,
        rank,
        lease: lease.clone(),
    });
    let (claims, granted) = (Arc::clone(&leases.claims), lease.clone());
    let grant = move |store: &mut dyn Store| {
        lock(&claims).check(renewed.as_slice())?;
        let claim = store.claim(program, rank, &instance)?;
        lock(&claims).remember(key, granted);
        Ok(claim)
    };
    let claim = leases.writer.run(grant).await.map_err(wire::status)?;
    let leased = Leased {
        claim,
        lease,
        stream: 0,
    };
    leases.claims().held.insert(key, leased);
    Ok(0)
}

/// Releases a claim, unless another stream has taken it over.
async fn release(leases: &Leases, key: Key, stream: u64) {
    let ended = {
        let held = &mut leases.claims().held;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn held(rank: u32, lease: &str) -> proto::HeldClaim {
        proto::HeldClaim {
            program: 0,
            rank,
            lease: lease.to_owned(),
        }
    }

    #[test]
    fn a_write_under_an_older_lease_is_refused() {
        let mut claims = GrantedClaims::default();
        let both = [held(1, "a"), held(2, "b")];
        assert!(claims.check(&both).is_ok(), "both are unknown");
        claims.remember((0, 1), "a".to_owned());
        claims.remember((0, 2), "b".to_owned());
        assert!(claims.check(&both).is_ok());
        claims.remember((0, 2), "c".to_owned());
        let error = claims.check(&both).expect_err("rank 2 has another holder");
        assert!(
            matches!(error, ProvDbError::ClaimLost { rank: 2, .. }),
            "{error:?}"
        );
        assert!(claims.check(&[]).is_ok(), "a client without a rank");
    }

    #[test]
    fn leases_of_released_ranks_are_forgotten_at_the_limit() {
        let mut claims = GrantedClaims::default();
        let keeper = Leased {
            claim: Claim::new(0, 7, ()),
            lease: "kept".to_owned(),
            stream: 0,
        };
        claims.held.insert((0, 7), keeper);
        for rank in (0..).take(MAX_REMEMBERED_LEASES + 1) {
            claims.remember((0, rank), "kept".to_owned());
        }
        assert_eq!(claims.last_leases.len(), 2, "the held one and the newest");
        assert!(claims.check(&[held(7, "older")]).is_err());
    }
}
