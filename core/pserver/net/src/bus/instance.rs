//! The blocking client of an AD instance.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::client::Request;
use async_nats::connection::State;
use async_nats::{Client, RequestErrorKind};
use callgrove_model::{FuncId, ProgramId};
use callgrove_pserver::{
    Cursor, ExchangeSession, FunctionRequest, FunctionTable, Hello, PserverError, Refusal,
    Registered, Retention, RunProgress, SyncReply, SyncRequest, Transport,
};
use prost::Message;
use prost::bytes::Bytes;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tonic::Code;

use super::bus_task::runtime_of;
use super::connection::{Bus, Log, REFUSAL, in_full};
use super::published::{PublishedReader, newest_version};
use crate::grpc_exchange::{ExchangeOptions, HEARTBEAT_INTERVAL, progress_from_wire, subject_of};
use crate::registration::register_within;
use crate::{MAX_MESSAGE_BYTES, proto, wire};

/// An AD instance's exchange over a message bus.
pub type BusExchange = ExchangeSession<JetStream>;

/// How long an instance waits for new tree models before it goes on without.
const TREE_MODELS_TIMEOUT: Duration = Duration::from_secs(1);
/// The position of an instance that needs no models with the reply.
const NO_MODELS: Cursor = Cursor {
    version: u64::MAX,
    fid: FuncId(u32::MAX),
};

/// A transport over NATS JetStream. A background task sends heartbeats; the connection restores itself.
pub struct JetStream {
    /// The bus, and the log for contributions.
    bus: Option<(Bus, Log)>,
    options: ExchangeOptions,
    call_ends: Instant,
    is_known: bool,
    /// The functions under the indices of the server.
    functions: FunctionTable,
    /// The first entries of a contribution in parts.
    entries: Vec<Vec<u8>>,
    published: PublishedReader,
    /// The epoch of the server with which it registered last.
    epoch: u64,
    registration: Arc<SharedRegistration>,
    /// Last, since the others need it to end.
    runtime: Runtime,
}

/// Creates the exchange over the bus of the options, whose address is `nats://host:port/JOB` or the path of the address
/// file of a bus. It connects when it registers.
///
/// # Errors
/// [`PserverError::BadOption`] if no thread can be started.
pub fn connect(options: ExchangeOptions) -> Result<BusExchange, PserverError> {
    let runtime = runtime_of(&options, "bus-client")?;
    Ok(ExchangeSession::new(JetStream {
        bus: None,
        call_ends: Instant::now() + options.deadline,
        is_known: false,
        functions: FunctionTable::default(),
        entries: Vec::new(),
        published: PublishedReader::default(),
        epoch: 0,
        registration: Arc::default(),
        runtime,
        options,
    }))
}

/// What the calls and the background task share.
#[derive(Default)]
struct SharedRegistration {
    /// The name of the registered instance.
    instance: Mutex<String>,
    /// True if the server does not know the instance any more.
    is_forgotten: AtomicBool,
}

/// The failure of a request.
pub(super) enum Failure {
    /// No answer, and the reason.
    NoAnswer(String),
    /// A refusal of the server.
    Refused(Code, String),
}

impl JetStream {
    fn left(&self) -> Duration {
        self.call_ends.saturating_duration_since(Instant::now())
    }

    fn bus(&self) -> Result<(Bus, Log), PserverError> {
        self.bus.clone().ok_or_else(|| self.absence())
    }

    fn not_connected(&self, cause: impl Into<String>) -> PserverError {
        PserverError::NotConnected {
            address: self.options.address.clone(),
            cause: cause.into(),
        }
    }

    fn not_registered(&self) -> PserverError {
        let instance = lock(&self.registration.instance).clone();
        PserverError::NotRegistered { instance }
    }

    /// Runs a call on the bus within the time that is left.
    fn within<T>(&self, call: impl Future<Output = Result<T, String>>) -> Result<T, PserverError> {
        let left = self.left();
        let ended = self.runtime.block_on(async { timeout(left, call).await });
        match ended {
            Ok(result) => result.map_err(|cause| self.not_connected(cause)),
            Err(_) => Err(self.not_connected("the message bus does not answer in time")),
        }
    }

    /// Sends a request to the server, and waits for the reply.
    fn ask<Reply: Message + Default>(
        &self,
        method: &str,
        message: &impl Message,
        within: Duration,
    ) -> Result<Reply, PserverError> {
        let (bus, _) = self.bus()?;
        let payload = Bytes::from(message.encode_to_vec());
        let asked = ask(&bus.client, bus.requests(method), payload, within);
        match self.runtime.block_on(asked) {
            Ok(bytes) => Reply::decode(bytes).map_err(|error| PserverError::Refused {
                address: self.options.address.clone(),
                about: Refusal::Protocol,
                cause: error.to_string(),
            }),
            Err(Failure::Refused(Code::FailedPrecondition, _)) => Err(self.not_registered()),
            Err(Failure::NoAnswer(cause) | Failure::Refused(Code::Unavailable, cause)) => {
                Err(self.not_connected(cause))
            }
            Err(Failure::Refused(code, cause)) => Err(PserverError::Refused {
                address: self.options.address.clone(),
                about: subject_of(code),
                cause,
            }),
        }
    }

    fn try_register(&mut self, hello: &Hello) -> Result<Registered, PserverError> {
        if self.bus.is_none() {
            let group = self.options.group;
            let (bus, log) = self.within(async {
                let bus = Bus::open(&self.options).await?;
                let log = match group {
                    Some(group) => bus.log_of_group(group).await?,
                    None => bus.log.clone(),
                };
                Ok((bus, log))
            })?;
            self.runtime
                .spawn(send_heartbeats(bus.clone(), Arc::clone(&self.registration)));
            self.bus = Some((bus, log));
        }
        let request = proto::RegisterRequest {
            group: self.options.group,
            ..wire::hello_to_wire(hello)?
        };
        let reply: proto::RegisterReply = self.ask("register", &request, self.left())?;
        let registered = wire::registered_from_wire(&reply)?;
        if registered.epoch != self.epoch {
            // Its indices may be others; the session asks for all of them again.
            self.functions = FunctionTable::default();
            self.epoch = registered.epoch;
        }
        self.registration
            .is_forgotten
            .store(false, Ordering::Release);
        Ok(Registered {
            retention: Retention::Logged,
            ..registered
        })
    }

    /// Appends a part to the log with the last part of its contribution. Returns the position; `None` before.
    fn append(&mut self, request: &SyncRequest) -> Result<Option<u64>, PserverError> {
        let number = request.part;
        if number.index == 0 {
            self.entries.clear();
        }
        let name = |fid| self.functions.get(fid);
        let entry =
            wire::part_to_wire(&request.instance, number, &request.contribution, None, name);
        self.entries.push(entry);
        if number.num_left > 0 {
            return Ok(None);
        }
        let entries = std::mem::take(&mut self.entries);
        let id = format!(
            "{:016x}-{}",
            callgrove_model::fnv1a(request.instance.as_bytes()),
            number.sequence
        );
        let (bus, log) = self.bus()?;
        self.within(bus.append(&log, &entries, &id)).map(Some)
    }

    /// Reads the models that changed since the request's position into the reply.
    fn read_models(
        &mut self,
        request: &SyncRequest,
        reply: &mut SyncReply,
    ) -> Result<(), PserverError> {
        let (bus, _) = self.bus()?;
        let mut published = std::mem::take(&mut self.published);
        let read = self.within(published.read(&bus, request.cursor));
        self.published = published;
        reply.models = read?;
        let version = self.published.version();
        if version.version > 0 && version.epoch != request.epoch {
            return Err(self.not_registered());
        }
        let position = self.published.position(self.options.group);
        reply.version = position;
        reply.saved_version = position;
        // Never the default, which asks for all models.
        reply.cursor = Cursor {
            version: version.version.max(1),
            fid: FuncId(u32::MAX),
        };
        if version.tree_generation != request.tree_generation {
            let trees = wire::reply_from_wire(self.tree_models(request)?)?;
            reply.tree_models = trees.tree_models;
            reply.tree_generation = trees.tree_generation;
        }
        Ok(())
    }

    /// Returns the tree models that changed since a generation, if the server answers soon.
    fn tree_models(&self, request: &SyncRequest) -> Result<proto::SyncReply, PserverError> {
        let poll = wire::request_to_wire(SyncRequest {
            part: callgrove_pserver::PartNumber::default(),
            cursor: NO_MODELS,
            contribution: Arc::default(),
            ..request.clone()
        });
        let within = self.left().min(TREE_MODELS_TIMEOUT);
        match self.ask("sync", &poll, within) {
            Err(PserverError::NotConnected { .. }) => Ok(proto::SyncReply {
                tree_generation: request.tree_generation,
                ..proto::SyncReply::default()
            }),
            reply => reply,
        }
    }
}

impl Transport for JetStream {
    fn max_request_bytes(&self) -> usize {
        MAX_MESSAGE_BYTES / 4
    }

    fn begin_call(&mut self) {
        self.call_ends = Instant::now() + self.options.deadline;
    }

    fn is_up(&self) -> bool {
        let state = self.bus.as_ref();
        let state = state.map(|(bus, _)| bus.client.connection_state());
        state.is_none_or(|it| it == State::Connected)
    }

    fn absence(&self) -> PserverError {
        self.not_connected("the message bus cannot be reached")
    }

    fn register(&mut self, hello: &Hello) -> Result<Registered, PserverError> {
        lock(&self.registration.instance).clone_from(&hello.instance);
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
        let request = wire::functions_to_wire(program, requests);
        let reply: proto::FunctionsReply = self.ask("functions", &request, self.left())?;
        let fids: Vec<FuncId> = reply.fids.into_iter().map(FuncId).collect();
        for (request, &fid) in requests.iter().zip(&fids) {
            self.functions.insert(fid, program, request.name.clone());
        }
        Ok(fids)
    }

    fn sync(&mut self, request: SyncRequest) -> Result<SyncReply, PserverError> {
        if self.registration.is_forgotten.load(Ordering::Acquire) {
            return Err(self.not_registered());
        }
        let is_poll = request.part.sequence == 0;
        let included_in = if is_poll {
            Some(0)
        } else {
            self.append(&request)?
        };
        let mut reply = SyncReply {
            included_in,
            cursor: request.cursor,
            tree_generation: request.tree_generation,
            ..SyncReply::default()
        };
        if included_in.is_none() {
            return Ok(reply);
        }
        let read = self.read_models(&request, &mut reply);
        if read.is_err() {
            // What was read so far is lost with the reply, so all of it is read again.
            self.published = PublishedReader::default();
        }
        match read {
            // The log has the contribution, so the request has not failed if the models cannot be read.
            Err(PserverError::NotConnected { .. }) if !is_poll => Ok(SyncReply {
                models: Vec::new(),
                ..reply
            }),
            read => read.map(|()| reply),
        }
    }

    fn progress(
        &mut self,
        program: ProgramId,
        num_ranks: u32,
    ) -> Result<RunProgress, PserverError> {
        let request = proto::ProgressRequest {
            program: program.0,
            num_ranks,
        };
        let reply: proto::ProgressReply = self.ask("progress", &request, self.left())?;
        let progress = progress_from_wire(reply);
        // A replica of the stream may have the models later.
        let (bus, _) = self.bus()?;
        self.within(async {
            loop {
                let newest = newest_version(&bus).await?;
                if newest.is_some_and(|it| it.version >= progress.learnt_in) {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })?;
        Ok(progress)
    }

    fn goodbye(&mut self, instance: &str) -> Result<(), PserverError> {
        let instance = instance.to_owned();
        let request = proto::GoodbyeRequest { instance };
        let _: proto::GoodbyeReply = self.ask("goodbye", &request, self.left())?;
        lock(&self.registration.instance).clear();
        Ok(())
    }
}

impl fmt::Debug for JetStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStream")
            .field("address", &self.options.address)
            .field("is_up", &self.is_up())
            .finish_non_exhaustive()
    }
}

pub(super) async fn ask(
    client: &Client,
    subject: String,
    payload: Bytes,
    within: Duration,
) -> Result<Bytes, Failure> {
    let request = Request::new().payload(payload).timeout(Some(within));
    let reply = client.send_request(subject, request).await;
    let reply = reply.map_err(|error| {
        Failure::NoAnswer(match error.kind() {
            RequestErrorKind::NoResponders => {
                "no parameter server serves this job on the message bus".to_owned()
            }
            RequestErrorKind::TimedOut => format!("no answer within {within:?}"),
            _ => in_full(&error),
        })
    })?;
    let refusal = reply.headers.as_ref().and_then(|it| it.get(REFUSAL));
    let Some(code) = refusal else {
        return Ok(reply.payload);
    };
    let code = code.as_str().parse().map_or(Code::Unknown, Code::from_i32);
    let cause = String::from_utf8_lossy(&reply.payload).into_owned();
    Err(Failure::Refused(code, cause))
}

/// Sends heartbeats.
async fn send_heartbeats(bus: Bus, registration: Arc<SharedRegistration>) {
    loop {
        tokio::time::sleep(HEARTBEAT_INTERVAL).await;
        let instance = lock(&registration.instance).clone();
        if instance.is_empty() {
            continue;
        }
        let payload = Bytes::from(proto::HeartbeatRequest { instance }.encode_to_vec());
        let subject = bus.requests("heartbeat");
        let beat = ask(&bus.client, subject, payload, HEARTBEAT_INTERVAL).await;
        if let Err(Failure::Refused(Code::FailedPrecondition, _)) = beat {
            registration.is_forgotten.store(true, Ordering::Release);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
