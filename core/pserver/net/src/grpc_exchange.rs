//! The blocking gRPC client of an AD instance.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callgrove_model::{FuncId, ProgramId, RankId, fnv1a};
use callgrove_net::{Credential, GrpcChannel, GrpcTarget, innermost_cause, is_connection_failure};
use callgrove_pserver::{
    ExchangeSession, FunctionRequest, Hello, LEASE_MS, PserverError, Refusal, Registered,
    RunProgress, SyncReply, SyncRequest, Transport,
};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tonic::{Code, Response, Status};

use super::proto::pserver_client::PserverClient;
use super::registration::register_within;
use super::{MAX_MESSAGE_BYTES, proto, wire};

/// An AD instance's exchange with a remote server.
pub type GrpcExchange = ExchangeSession<Grpc>;

/// Interval between heartbeats: four fit into a lease.
pub(crate) const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(LEASE_MS / 4);
/// Delay before the first attempt to reconnect, doubled after each attempt up to [`MAX_BACKOFF`].
const MIN_BACKOFF: Duration = Duration::from_millis(100);
/// Maximum delay before an attempt to reconnect.
const MAX_BACKOFF: Duration = Duration::from_secs(3);

/// The address of the server, the credential and the timeouts of a client.
#[derive(Clone, Debug)]
pub struct ExchangeOptions {
    /// `host:port`, `http://host:port`, `https://host:port` or the path of an address file.
    pub address: String,
    /// The credential shown to the server.
    pub credential: Option<Credential>,
    /// Certificate of the authority that signed the server's, in PEM format; required for `https`.
    pub ca_file: Option<PathBuf>,
    /// Timeout for establishing a connection.
    pub connect_timeout: Duration,
    /// Timeout of a call, reconnecting included.
    pub deadline: Duration,
    /// Timeout of the first registration. Until then it waits for a server that has not started yet, and for a rank
    /// whose former instance has died but whose lease is not over.
    pub startup_wait: Duration,
    /// On a message bus, the group to whose log the instance writes, for a merger.
    pub group: Option<u32>,
}

impl ExchangeOptions {
    /// Returns options with the usual timeouts: 3 s for connections, 5 s for calls, 15 s for the start.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            credential: None,
            ca_file: None,
            connect_timeout: Duration::from_secs(3),
            deadline: Duration::from_secs(5),
            startup_wait: Duration::from_millis(LEASE_MS) + Duration::from_secs(5),
            group: None,
        }
    }
}

/// Creates the exchange with the server of the options. It connects when it registers.
///
/// # Errors
/// [`PserverError::BadOption`] for an address or certificate file that cannot be used.
pub fn connect(options: ExchangeOptions) -> Result<GrpcExchange, PserverError> {
    Ok(ExchangeSession::new(Grpc::new(options)?))
}

type Connection = PserverClient<GrpcChannel>;

/// A transport over gRPC. A background task sends heartbeats, and tries to reconnect while the server is unreachable.
pub struct Grpc {
    // Declared before the runtime, so that it is dropped first.
    connection: Connection,
    runtime: Runtime,
    shared: Arc<Shared>,
    options: ExchangeOptions,
    call_ends: Instant,
    is_known: bool,
}

/// The state shared by the background task and the calls.
#[derive(Debug, Default)]
struct Shared {
    is_down: AtomicBool,
    cause: Mutex<String>,
    instance: Mutex<String>,
    went_down: Notify,
}

impl fmt::Debug for Grpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grpc")
            .field("address", &self.options.address)
            .field("is_up", &self.is_up())
            .finish_non_exhaustive()
    }
}

impl Grpc {
    fn new(options: ExchangeOptions) -> Result<Self, PserverError> {
        let target = GrpcTarget {
            address: &options.address,
            credential: options.credential.as_ref(),
            ca_file: options.ca_file.as_deref(),
            connect_timeout: options.connect_timeout,
            ping_timeout: options.deadline,
        };
        let (runtime, line) =
            target
                .channel("pserver-client")
                .map_err(|cause| PserverError::BadOption {
                    option: format!("the parameter server's address {}", options.address),
                    cause,
                })?;
        let connection = PserverClient::new(line)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let shared = Arc::<Shared>::default();
        runtime.spawn(watch(
            connection.clone(),
            Arc::clone(&shared),
            options.deadline,
        ));
        Ok(Self {
            connection,
            runtime,
            shared,
            call_ends: Instant::now() + options.deadline,
            options,
            is_known: false,
        })
    }

    fn call<T>(
        &self,
        request: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, PserverError> {
        let left = self.call_ends.saturating_duration_since(Instant::now());
        let answer = self
            .runtime
            .block_on(async { tokio::time::timeout(left, request).await });
        match answer {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(self.error_of(&status)),
            Err(_) => {
                let deadline = self.options.deadline;
                Err(self.down(format!("no answer within {deadline:?}")))
            }
        }
    }

    fn error_of(&self, status: &Status) -> PserverError {
        if is_connection_failure(status) {
            return self.down(innermost_cause(status));
        }
        if status.code() == Code::FailedPrecondition {
            let instance = lock(&self.shared.instance).clone();
            return PserverError::NotRegistered { instance };
        }
        PserverError::Refused {
            address: self.options.address.clone(),
            about: subject_of(status.code()),
            cause: status.message().to_owned(),
        }
    }

    fn down(&self, cause: String) -> PserverError {
        self.shared.go_down(cause);
        self.absence()
    }

    fn try_register(&mut self, hello: &Hello) -> Result<Registered, PserverError> {
        let mut connection = self.connection.clone();
        let request = wire::hello_to_wire(hello)?;
        let reply = self.call(async move { connection.register(request).await })?;
        wire::registered_from_wire(&reply)
    }
}

impl Transport for Grpc {
    fn max_request_bytes(&self) -> usize {
        MAX_MESSAGE_BYTES / 4
    }

    fn begin_call(&mut self) {
        self.call_ends = Instant::now() + self.options.deadline;
    }

    fn is_up(&self) -> bool {
        !self.shared.is_down.load(Ordering::Acquire)
    }

    fn absence(&self) -> PserverError {
        PserverError::NotConnected {
            address: self.options.address.clone(),
            cause: lock(&self.shared.cause).clone(),
        }
    }

    fn register(&mut self, hello: &Hello) -> Result<Registered, PserverError> {
        lock(&self.shared.instance).clone_from(&hello.instance);
        let wait = if self.is_known {
            Duration::ZERO
        } else {
            self.options.startup_wait
        };
        let registered = register_within(wait, || {
            self.begin_call();
            self.try_register(hello)
        });
        self.is_known |= registered.is_ok();
        registered
    }

    fn functions(
        &mut self,
        program: ProgramId,
        requests: &[FunctionRequest],
    ) -> Result<Vec<FuncId>, PserverError> {
        let mut connection = self.connection.clone();
        let request = wire::functions_to_wire(program, requests);
        let reply = self.call(async move { connection.functions(request).await })?;
        Ok(reply.fids.into_iter().map(FuncId).collect())
    }

    fn sync(&mut self, request: SyncRequest) -> Result<SyncReply, PserverError> {
        let mut connection = self.connection.clone();
        let request = wire::request_to_wire(request);
        wire::reply_from_wire(self.call(async move { connection.sync(request).await })?)
    }

    fn progress(
        &mut self,
        program: ProgramId,
        num_ranks: u32,
    ) -> Result<RunProgress, PserverError> {
        let mut connection = self.connection.clone();
        let program = program.0;
        let request = proto::ProgressRequest { program, num_ranks };
        let reply = self.call(async move { connection.progress(request).await })?;
        Ok(progress_from_wire(reply))
    }

    fn goodbye(&mut self, instance: &str) -> Result<(), PserverError> {
        let mut connection = self.connection.clone();
        let instance = instance.to_owned();
        let request = proto::GoodbyeRequest { instance };
        self.call(async move { connection.goodbye(request).await })?;
        lock(&self.shared.instance).clear();
        Ok(())
    }
}

/// Returns the subject of a refusal with a code.
pub(crate) fn subject_of(code: Code) -> Refusal {
    match code {
        Code::AlreadyExists => Refusal::Rank,
        Code::InvalidArgument | Code::ResourceExhausted | Code::OutOfRange => Refusal::Data,
        Code::Unauthenticated | Code::PermissionDenied => Refusal::Access,
        _ => Refusal::Protocol,
    }
}

pub(crate) fn progress_from_wire(reply: proto::ProgressReply) -> RunProgress {
    RunProgress {
        num_learning: reply.num_learning,
        absent: reply.absent.into_iter().map(RankId).collect(),
        learnt_in: reply.learnt_in,
    }
}

impl Shared {
    fn go_down(&self, cause: String) {
        *lock(&self.cause) = cause;
        self.is_down.store(true, Ordering::Release);
        self.went_down.notify_one();
    }
}

/// Sends heartbeats while the server is up, and tries to reconnect, at growing intervals, while it is down.
async fn watch(mut connection: Connection, shared: Arc<Shared>, deadline: Duration) {
    let mut backoff = MIN_BACKOFF;
    loop {
        let instance = lock(&shared.instance).clone();
        if shared.is_down.load(Ordering::Acquire) {
            tokio::time::sleep(spread(backoff, &instance)).await;
            backoff = (backoff * 2).min(MAX_BACKOFF);
            let health = connection.health(proto::HealthRequest {});
            if let Ok(Ok(_)) = tokio::time::timeout(deadline, health).await {
                shared.is_down.store(false, Ordering::Release);
                backoff = MIN_BACKOFF;
            }
            continue;
        }
        if tokio::time::timeout(HEARTBEAT_INTERVAL, shared.went_down.notified())
            .await
            .is_ok()
            || instance.is_empty()
        {
            continue;
        }
        let beat = connection.heartbeat(proto::HeartbeatRequest { instance });
        match tokio::time::timeout(deadline, beat).await {
            Ok(Err(status)) if is_connection_failure(&status) => {
                shared.go_down(innermost_cause(&status));
            }
            Err(_) => shared.go_down(format!("no heartbeat reply within {deadline:?}")),
            // If the server has forgotten the instance, the next request shows it.
            Ok(_) => {}
        }
    }
}

/// Returns half to all of a time, by a fraction that depends on the instance, so that instances do not reconnect all at
/// once.
fn spread(time: Duration, instance: &str) -> Duration {
    let share = fnv1a(instance.as_bytes()) % 512;
    time * (512 + share as u32) / 1024
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
