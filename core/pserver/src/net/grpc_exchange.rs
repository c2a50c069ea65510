//! The client's side of the protocol, for threads that wait: an AD instance's.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callgrove_model::{FuncId, ProgramId, RankId, fnv1a};
use callgrove_net::{Credential, GrpcChannel, GrpcTarget, innermost_cause, is_connection_failure};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tonic::{Code, Response, Status};

use super::proto::pserver_client::PserverClient;
use super::{MAX_MESSAGE_BYTES, proto, wire};
use crate::error::Refusal;
use crate::protocol::LEASE_MS;
use crate::{
    ExchangeSession, FunctionRequest, Hello, PserverError, Registered, RunProgress, SyncReply,
    SyncRequest, Transport,
};

/// An AD instance's exchange with a server elsewhere.
pub type GrpcExchange = ExchangeSession<Grpc>;

/// Time between signs of life: four fit into a lease.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(LEASE_MS / 4);
/// Time before the first attempt to connect again, doubled after each up to [`MAX_BACKOFF`].
const MIN_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(3);
/// Time between attempts to register for the first time.
const REGISTER_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Where the server is and how patient the client.
#[derive(Clone, Debug)]
pub struct ExchangeOptions {
    /// `host:port`, `http://host:port` or `https://host:port`.
    pub address: String,
    /// What the server is shown.
    pub credential: Option<Credential>,
    /// Certificate of the authority that signed the server's, as PEM; `https` needs it.
    pub ca_file: Option<PathBuf>,
    /// Longest time for a connection to come about.
    pub connect_timeout: Duration,
    /// Longest time that a call takes, whatever happens.
    pub deadline: Duration,
    /// How long the first registration waits for a server that is not there yet, or for a rank whose former
    /// instance has died but has not been silent for long enough.
    pub startup_wait: Duration,
}

impl ExchangeOptions {
    /// Usual patience: connections 3 s, calls 5 s, the start 15 s.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            credential: None,
            ca_file: None,
            connect_timeout: Duration::from_secs(3),
            deadline: Duration::from_secs(5),
            startup_wait: Duration::from_millis(LEASE_MS) + Duration::from_secs(5),
        }
    }
}

/// The exchange with the server of the options. Connects when it registers.
///
/// # Errors
/// [`PserverError::BadOption`] for an address or certificate file that cannot be used.
pub fn connect(options: ExchangeOptions) -> Result<GrpcExchange, PserverError> {
    Ok(ExchangeSession::new(Grpc::new(options)?))
}

type Connection = PserverClient<GrpcChannel>;

/// Carries requests over gRPC. A task of its own gives signs of life, and looks for the server while it is away.
pub struct Grpc {
    // Before the runtime, for it is dropped first.
    connection: Connection,
    runtime: Runtime,
    shared: Arc<Shared>,
    options: ExchangeOptions,
    call_ends: Instant,
    is_known: bool,
}

/// What the background task and the calls tell each other.
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
        let about = match status.code() {
            Code::AlreadyExists => Refusal::Rank,
            Code::InvalidArgument | Code::ResourceExhausted | Code::OutOfRange => Refusal::Data,
            Code::Unauthenticated | Code::PermissionDenied => Refusal::Access,
            _ => Refusal::Protocol,
        };
        PserverError::Refused {
            address: self.options.address.clone(),
            about,
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
        let give_up = Instant::now() + self.options.startup_wait;
        loop {
            let result = self.try_register(hello);
            let may_wait = match &result {
                Ok(_) => {
                    self.is_known = true;
                    false
                }
                Err(PserverError::NotConnected { .. }) => true,
                Err(PserverError::Refused { about, .. }) => *about == Refusal::Rank,
                Err(_) => false,
            };
            if self.is_known || !may_wait || Instant::now() + REGISTER_RETRY_INTERVAL > give_up {
                return result;
            }
            std::thread::sleep(REGISTER_RETRY_INTERVAL);
            self.begin_call();
        }
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
        Ok(RunProgress {
            num_learning: reply.num_learning,
            absent: reply.absent.into_iter().map(RankId).collect(),
            learnt_in: reply.learnt_in,
        })
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

impl Shared {
    fn go_down(&self, cause: String) {
        *lock(&self.cause) = cause;
        self.is_down.store(true, Ordering::Release);
        self.went_down.notify_one();
    }
}

/// Gives signs of life while the server is there, and looks for it, ever less often, while it is not.
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
            Ok(Err(status)) if is_connection_failure(&status) => shared.go_down(innermost_cause(&status)),
            Err(_) => shared.go_down(format!("no sign of life within {deadline:?}")),
            // That the server has forgotten the instance shows with the next request.
            Ok(_) => {}
        }
    }
}

/// Half to all of a time, another share for each instance, so that not all come at once.
fn spread(time: Duration, instance: &str) -> Duration {
    let share = fnv1a(instance.as_bytes()) % 512;
    time * (512 + share as u32) / 1024
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
