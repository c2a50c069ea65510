//! The blocking client: a remote store.

use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_model::RunIdentity;
use callgrove_net::{Credential, GrpcTarget, innermost_cause};
use callgrove_provdb::{
    AccessMode, Claim, Collection, Document, ProvDbError, Query, ReadBounds, SqlTable, StateChange,
    Store, parse_run, without_secrets,
};
use tokio::runtime::Runtime;
use tonic::codegen::tokio_stream;
use tonic::{Code, Status};

use super::lease_client::{self, ClientClaims, HeldStream};
use super::proto::prov_db_client::ProvDbClient;
use super::{MAX_MESSAGE_BYTES, RemoteClient, proto, wire};

/// Maximum number of documents removed by one call; their keys are short.
const MAX_KEYS: usize = 1 << 12;
/// Timeout of one attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection without a ping reply for this time is broken.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of the retries of a call while the server is unreachable.
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause before the first retry; it doubles up to the maximum.
const MIN_RETRY_PAUSE: Duration = Duration::from_millis(50);
/// Maximum pause before a retry.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(2);

/// Interval at which a call checks whether it should end.
const BOUNDS_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Options for reaching a server.
#[derive(Clone, Debug, Default)]
pub struct RemoteOptions {
    /// The credential shown to the server.
    pub credential: Option<Credential>,
    /// Certificates (PEM) that sign the server's, instead of the public authorities.
    pub ca_file: Option<PathBuf>,
}

/// A provenance database behind another process. Calls block.
pub struct RemoteStore {
    client: RemoteClient,
    background: Arc<Background>,
    claims: ClientClaims,
    /// The token of this client, and the start of that of each claim.
    lease: String,
    mode: AccessMode,
    place: String,
    /// The bounds of the following reads.
    bounds: Option<ReadBounds>,
}

impl RemoteStore {
    /// Connects to the server at `http://host:port`, at `https://host:port`, which needs the certificate that signed the
    /// server's, or to that of an address file.
    ///
    /// # Errors
    /// The address, token or certificate is invalid, or the server does not answer or refuses.
    pub fn open(url: &str, mode: AccessMode, options: &RemoteOptions) -> Result<Self, ProvDbError> {
        let place = without_secrets(url);
        let bad = |cause: String| ProvDbError::BadUrl {
            cause,
            url: place.clone(),
        };
        let target = GrpcTarget {
            address: url,
            credential: options.credential.as_ref(),
            ca_file: options.ca_file.as_deref(),
            connect_timeout: CONNECT_TIMEOUT,
            ping_timeout: PING_TIMEOUT,
        };
        let (runtime, channel) = target.channel("provdb-client").map_err(bad)?;
        let client = ProvDbClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let store = Self {
            client,
            background: Arc::new(Background(Some(runtime))),
            claims: ClientClaims::default(),
            lease: format!("{:016x}", RandomState::new().hash_one(std::process::id())),
            mode,
            place,
            bounds: None,
        };
        let request = async |mut client: RemoteClient| client.health(proto::HealthRequest {}).await;
        store.call(Duration::ZERO, request)?;
        Ok(store)
    }

    /// Calls the server, and retries for at most `retry_for` while it is unreachable.
    fn call<T>(
        &self,
        retry_for: Duration,
        request: impl AsyncFn(RemoteClient) -> Result<T, Status>,
    ) -> Result<T, ProvDbError> {
        let attempts = async {
            let deadline = Instant::now() + retry_for;
            let mut pause = MIN_RETRY_PAUSE;
            loop {
                let status = match request(self.client.clone()).await {
                    Ok(reply) => return Ok(reply),
                    Err(status) => status,
                };
                if !wire::is_break(&status) {
                    return Err(wire::error(&status, &self.place));
                }
                if Instant::now() + pause > deadline {
                    let cause = innermost_cause(&status);
                    return Err(ProvDbError::Unreachable {
                        cause,
                        place: self.place.clone(),
                    });
                }
                tokio::time::sleep(pause).await;
                pause = (2 * pause).min(MAX_RETRY_PAUSE);
            }
        };
        let within_bounds = async {
            tokio::select! {
                result = attempts => result,
                failure = self.ended() => Err(failure),
            }
        };
        match &self.background.0 {
            Some(runtime) => runtime.block_on(within_bounds),
            None => Err(ProvDbError::Unreachable {
                cause: "the client has stopped".to_owned(),
                place: self.place.clone(),
            }),
        }
    }

    /// Completes, with the reason, when the bounds of the read end it. The server notices when the request ends.
    async fn ended(&self) -> ProvDbError {
        let Some(bounds) = &self.bounds else {
            return std::future::pending().await;
        };
        while !bounds.is_over() {
            tokio::time::sleep(BOUNDS_POLL_INTERVAL).await;
        }
        bounds.failure()
    }

    /// Requests a claim, and records it. It is held until its stream ends.
    fn request_claim(
        &self,
        program: u32,
        rank: u32,
        instance: &str,
    ) -> Result<(proto::ClaimRequest, HeldStream), ProvDbError> {
        let claimed = RandomState::new().hash_one((program, rank));
        let request = proto::ClaimRequest {
            program,
            rank,
            instance: instance.to_owned(),
            // Unique to this claim, so that a second claim of the same rank is refused.
            lease: format!("{}{claimed:016x}", self.lease),
            is_renewal: false,
        };
        let stream = self.call(RETRY_TIMEOUT, async |client: RemoteClient| {
            lease_client::ask(client, request.clone()).await
        })?;
        self.claims.hold(&request);
        Ok((request, stream))
    }

    /// Returns an error if this is read-only, or has lost a rank that it claimed.
    fn check_writable(&self) -> Result<(), ProvDbError> {
        if self.mode == AccessMode::ReadOnly {
            return Err(ProvDbError::ReadOnly(self.place.clone()));
        }
        self.claims
            .first_lost()
            .map_or(Ok(()), |rank| Err(lease_client::lost(rank, &self.place)))
    }
}

impl Store for RemoteStore {
    fn put(&mut self, documents: &[Document]) -> Result<(), ProvDbError> {
        self.check_writable()?;
        let messages = wire::put_requests(documents, self.claims.to_wire(), &self.lease)?;
        self.call(RETRY_TIMEOUT, async |mut client: RemoteClient| {
            client
                .put(tokio_stream::iter(messages.clone()))
                .await
                .map(|_| ())
        })
    }

    fn forget_step(&mut self, program: u32, rank: u32, step: u32) -> Result<(), ProvDbError> {
        self.check_writable()?;
        let request = proto::ForgetStepRequest {
            program,
            rank,
            step,
            claims: self.claims.to_wire(),
        };
        self.call(RETRY_TIMEOUT, async |mut client: RemoteClient| {
            client.forget_step(request.clone()).await.map(|_| ())
        })
    }

    fn remove(
        &mut self,
        collection: Collection,
        rank: u32,
        keys: &[String],
    ) -> Result<(), ProvDbError> {
        self.check_writable()?;
        for keys in keys.chunks(MAX_KEYS) {
            let request = proto::RemoveRequest {
                collection: collection.to_string(),
                rank,
                keys: keys.to_vec(),
                claims: self.claims.to_wire(),
            };
            self.call(RETRY_TIMEOUT, async |mut client: RemoteClient| {
                client.remove(request.clone()).await.map(|_| ())
            })?;
        }
        Ok(())
    }

    fn change_states(&mut self, changes: &[StateChange<'_>]) -> Result<(), ProvDbError> {
        self.check_writable()?;
        let messages = wire::state_requests(changes, self.claims.to_wire(), &self.lease)?;
        self.call(RETRY_TIMEOUT, async |mut client: RemoteClient| {
            client
                .change_states(tokio_stream::iter(messages.clone()))
                .await
                .map(|_| ())
        })
    }

    fn state(&mut self, name: &str) -> Result<Option<Vec<u8>>, ProvDbError> {
        self.call(RETRY_TIMEOUT, async |mut client: RemoteClient| {
            let request = proto::StateRequest {
                name: name.to_owned(),
            };
            match client.state(request).await {
                Ok(parts) => joined(parts.into_inner()).await.map(Some),
                Err(status) if status.code() == Code::NotFound => Ok(None),
                Err(status) => Err(status),
            }
        })
    }

    fn find_ids(&mut self, query: &Query) -> Result<Vec<i64>, ProvDbError> {
        let request = wire::query_request(query);
        self.call(RETRY_TIMEOUT, async |mut client: RemoteClient| {
            let mut replies = client.find_ids(request.clone()).await?.into_inner();
            let mut ids = Vec::new();
            while let Some(reply) = replies.message().await? {
                ids.extend(reply.ids);
            }
            Ok(ids)
        })
    }

    fn documents(
        &mut self,
        collection: Collection,
        ids: &[i64],
    ) -> Result<Vec<String>, ProvDbError> {
        let request = proto::DocumentsRequest {
            collection: collection.to_string(),
            ids: ids.to_vec(),
        };
        self.call(RETRY_TIMEOUT, async |mut client: RemoteClient| {
            let mut replies = client.documents(request.clone()).await?.into_inner();
            let mut documents = Vec::new();
            while let Some(reply) = replies.message().await? {
                documents.extend(reply.documents);
            }
            Ok(documents)
        })
    }

    fn count(&mut self, query: &Query) -> Result<u64, ProvDbError> {
        let request = wire::query_request(query);
        self.call(RETRY_TIMEOUT, async |mut client: RemoteClient| {
            Ok(client.count(request.clone()).await?.into_inner().count)
        })
    }

    fn bound_reads(&mut self, bounds: &ReadBounds) {
        self.bounds = Some(bounds.clone());
    }

    fn find_plain_sql(&mut self, sql: &str) -> Result<SqlTable, ProvDbError> {
        let json = self.call(RETRY_TIMEOUT, async |mut client: RemoteClient| {
            let request = proto::PlainSqlRequest {
                sql: sql.to_owned(),
            };
            joined(client.find_plain_sql(request).await?.into_inner()).await
        })?;
        serde_json::from_slice(&json).map_err(|error| ProvDbError::PlainSql(error.to_string()))
    }

    fn join_run(&mut self, run: &RunIdentity) -> Result<RunIdentity, ProvDbError> {
        self.check_writable()?;
        let request = wire::join_run_request(run, self.claims.to_wire())?;
        let json = self.call(RETRY_TIMEOUT, async |mut client: RemoteClient| {
            let reply = client.join_run(request.clone()).await?;
            Ok(reply.into_inner().run_json)
        })?;
        parse_run(json.as_bytes(), &self.place)
    }

    fn claim(&mut self, program: u32, rank: u32, instance: &str) -> Result<Claim, ProvDbError> {
        self.check_writable()?;
        let (request, stream) = self.request_claim(program, rank, instance)?;
        let lease = request.lease.clone();
        let keep = lease_client::keep(self.client.clone(), request, stream, self.claims.clone());
        let task = self
            .background
            .0
            .as_ref()
            .map(|runtime| runtime.spawn(keep));
        Ok(Claim::new(
            program,
            rank,
            LeaseTask {
                key: (program, rank),
                lease,
                claims: self.claims.clone(),
                task,
                _background: Arc::clone(&self.background),
            },
        ))
    }

    fn leave(&mut self) -> Result<(), ProvDbError> {
        let request = proto::GoodbyeRequest {
            writer: self.lease.clone(),
        };
        self.call(Duration::ZERO, async |mut client: RemoteClient| {
            client.goodbye(request.clone()).await.map(|_| ())
        })
    }
}

async fn joined(mut parts: tonic::Streaming<proto::Part>) -> Result<Vec<u8>, Status> {
    let mut bytes = Vec::new();
    while let Some(part) = parts.message().await? {
        bytes.extend(part.bytes);
    }
    Ok(bytes)
}

/// The runtime of a store, which its claims keep alive.
struct Background(Option<Runtime>);

impl Drop for Background {
    /// Shuts down without blocking, so that a store may be dropped anywhere, even by a task of another runtime.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A claim; its task keeps the stream open.
struct LeaseTask {
    key: (u32, u32),
    lease: String,
    claims: ClientClaims,
    task: Option<tokio::task::JoinHandle<()>>,
    _background: Arc<Background>,
}

impl Drop for LeaseTask {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        self.claims.release(self.key, &self.lease);
    }
}

#[cfg(test)]
mod tests;
