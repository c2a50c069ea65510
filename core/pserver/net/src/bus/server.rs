//! The parameter server's side of a message bus: reads the log, publishes models, answers requests.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::consumer::{Consumer, DeliverPolicy};
use async_nats::jetstream::{Message as LogMessage, stream};
use async_nats::{HeaderMap, Message as Request, Subscriber};
use callgrove_model::{ProgramId, fnv1a};
use callgrove_pserver::{Hello, MonotonicClock, PserverError, ServerState};
use futures_util::{FutureExt as _, StreamExt as _};
use prost::Message as _;
use prost::bytes::Bytes;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tonic::Code;

use super::connection::{Bus, REFUSAL, in_full};
use super::instance::runtime_of;
use super::model_blocks::ModelBlocks;
use crate::grpc_exchange::ExchangeOptions;
use crate::service::{code_of, progress_to_wire};
use crate::{proto, wire};

/// Pause between attempts to reach the bus.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// Time between two publications of models, and between two looks at what the log can forget.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(500);
/// How long the bus may be asked for entries before it must answer that it has no more: it says so twice in this time, and
/// a reader that hears nothing begins again.
const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// Most entries that are read before models are published and requests answered.
const MAX_ENTRIES: usize = 256;
/// Time in which the rest of the log must be read at the end.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// A parameter server on a message bus. Its state gets the contributions that the log has and it lacks, also those of
/// before its start.
pub struct BusServer {
    stop: watch::Sender<bool>,
    reader: JoinHandle<()>,
    problem: Arc<Mutex<Option<String>>>,
    /// Last, since the reader needs it to end.
    runtime: Runtime,
}

impl BusServer {
    /// Connects to the bus of the options, waiting for one that has not started yet, and begins to read.
    ///
    /// # Errors
    /// [`PserverError::NotConnected`] if the bus cannot be reached or lacks what is needed; [`PserverError::BadOption`].
    pub fn start(options: &ExchangeOptions, state: Arc<ServerState>) -> Result<Self, PserverError> {
        let runtime = runtime_of(options, "bus-server")?;
        let give_up = Instant::now() + options.startup_wait;
        let bus = loop {
            match runtime.block_on(Bus::open(options)) {
                Ok(bus) => break bus,
                Err(_) if Instant::now() + RETRY_INTERVAL < give_up => {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                Err(cause) => {
                    return Err(PserverError::NotConnected {
                        address: options.address.clone(),
                        cause,
                    });
                }
            }
        };
        let problem = Arc::<Mutex<Option<String>>>::default();
        let (stop, stopped) = watch::channel(false);
        let reader = Reader {
            bus,
            state,
            clock: MonotonicClock::new(),
            log: String::new(),
            position: 0,
            forgotten: 0,
            blocks: ModelBlocks::default(),
            unplaced: Vec::new(),
            waiting: Vec::new(),
            registered: BTreeSet::new(),
            num_refused: 0,
            problem: Arc::clone(&problem),
        };
        Ok(Self {
            stop,
            reader: runtime.spawn(reader.run(stopped)),
            problem,
            runtime,
        })
    }

    /// Returns why the log is not read or models are not published at present.
    pub fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }

    /// Reads what the log has now, and ends. Returns why it could not, if so: the next server reads the rest.
    pub fn finish(self) -> Option<String> {
        self.stop.send_replace(true);
        let ended = self
            .runtime
            .block_on(async { timeout(END_TIMEOUT, self.reader).await });
        match ended {
            Ok(Ok(())) => lock(&self.problem).clone(),
            Ok(Err(panicked)) => Some(panicked.to_string()),
            Err(_) => Some(format!(
                "the log was not read to its end within {END_TIMEOUT:?}"
            )),
        }
    }
}

impl fmt::Debug for BusServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BusServer")
            .field("problem", &self.problem())
            .finish_non_exhaustive()
    }
}

/// A request, and the position of the log up to which its answer is to include everything.
struct WaitingRequest {
    request: Request,
    position: u64,
}

/// Reads the log of one job.
struct Reader {
    bus: Bus,
    state: Arc<ServerState>,
    clock: MonotonicClock,
    /// Identifies the log.
    log: String,
    /// The last entry that was read.
    position: u64,
    /// The log has forgotten entries up to this one.
    forgotten: u64,
    blocks: ModelBlocks,
    /// Requests that have arrived since the end of the log was asked for.
    unplaced: Vec<Request>,
    waiting: Vec<WaitingRequest>,
    /// Hashes of the registrations that the log has.
    registered: BTreeSet<u64>,
    num_refused: u64,
    problem: Arc<Mutex<Option<String>>>,
}

impl Reader {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        loop {
            match self.follow(&mut stopped).await {
                Ok(()) => return,
                Err(cause) => {
                    *lock(&self.problem) = Some(format!("the message bus: {cause}"));
                    if *stopped.borrow() {
                        return;
                    }
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
            }
        }
    }

    /// Follows the log until asked to stop and at its end.
    async fn follow(&mut self, stopped: &mut watch::Receiver<bool>) -> Result<(), String> {
        let connection = self.connection();
        let mut entries = self.open_log().await?;
        // Before the first answer, so that instances find this epoch.
        self.publish().await?;
        let subject = self.bus.requests("*");
        let requests = self.bus.client.subscribe(subject).await;
        let mut requests = requests.map_err(|error| in_full(&error))?;
        let mut tick = interval(PUBLISH_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut end = None;
        loop {
            tokio::select! {
                entry = entries.next() => self.take_entries(entry, &mut entries)?,
                request = requests.next() => self.take_requests(request, &mut requests)?,
                _ = tick.tick() => {
                    // A bus that was killed has forgotten what this reader was about to get.
                    if self.connection() != connection {
                        return Err("connected again".to_owned());
                    }
                    self.publish().await?;
                }
                _ = stopped.changed(), if end.is_none() => {}
            }
            if !self.unplaced.is_empty() {
                self.place_requests().await?;
            }
            self.answer_waiting().await?;
            if *stopped.borrow() {
                let last = match end {
                    Some(last) => last,
                    None => self.end_of_log().await?,
                };
                end = Some(last);
                if self.position >= last {
                    return self.publish().await;
                }
            }
        }
    }

    /// Returns the number of the connection to the bus, which restores itself.
    fn connection(&self) -> u64 {
        let statistics = self.bus.client.statistics();
        statistics.connects.load(Ordering::Relaxed)
    }

    /// Begins to read the log after what the state has.
    async fn open_log(&mut self) -> Result<Ordered, String> {
        let info = self.bus.log.get_info().await.map_err(|it| in_full(&it))?;
        self.log = info.created.unix_timestamp_nanos().to_string();
        self.position = self
            .state
            .begin_log(&self.log)
            .max(position_before(&info.state));
        let consumer: Consumer<OrderedConfig> = self
            .bus
            .log
            .create_consumer(OrderedConfig {
                deliver_policy: DeliverPolicy::ByStartSequence {
                    start_sequence: self.position + 1,
                },
                max_expires: READ_TIMEOUT,
                ..OrderedConfig::default()
            })
            .await
            .map_err(|error| in_full(&error))?;
        consumer.messages().await.map_err(|error| in_full(&error))
    }

    /// Returns the position of the last entry of the log.
    async fn end_of_log(&self) -> Result<u64, String> {
        let info = self.bus.log.get_info().await.map_err(|it| in_full(&it))?;
        Ok(info.state.last_sequence)
    }

    /// Adds an entry, and those that have arrived after it.
    fn take_entries(
        &mut self,
        first: Option<Result<LogMessage, impl std::error::Error>>,
        entries: &mut Ordered,
    ) -> Result<(), String> {
        let first = first.ok_or("the log cannot be read any more")?;
        self.take_entry(&first.map_err(|error| in_full(&error))?)?;
        for _ in 1..MAX_ENTRIES {
            match entries.next().now_or_never() {
                Some(Some(Ok(entry))) => self.take_entry(&entry)?,
                Some(Some(Err(error))) => return Err(in_full(&error)),
                _ => break,
            }
        }
        Ok(())
    }

    fn take_entry(&mut self, entry: &LogMessage) -> Result<(), String> {
        let info = entry.info().map_err(|error| error.to_string())?;
        let position = info.stream_sequence;
        let added = match wire::entry_from_wire(entry.payload.clone()) {
            Ok(wire::LogEntry::Part(part)) => {
                let start = Instant::now();
                let added = self.state.add_logged(*part, position, self.clock.now_ms());
                self.state.count_exchange(start.elapsed());
                added
            }
            Ok(wire::LogEntry::Registration(hello)) => {
                self.state.add_registration(&hello, position);
                Ok(())
            }
            Ok(wire::LogEntry::Fence(instance)) => {
                self.state.fence(instance, position);
                Ok(())
            }
            Err(error) => {
                self.state.advance_log(position);
                Err(error)
            }
        };
        self.position = position;
        if let Err(error) = added {
            self.num_refused += 1;
            *lock(&self.problem) = Some(format!(
                "entry {position} of the log on the message bus is left out ({} so far): {error}",
                self.num_refused
            ));
        }
        Ok(())
    }

    fn take_requests(
        &mut self,
        first: Option<Request>,
        requests: &mut Subscriber,
    ) -> Result<(), String> {
        self.unplaced
            .push(first.ok_or("the subscription to requests has ended")?);
        while let Some(Some(request)) = requests.next().now_or_never() {
            self.unplaced.push(request);
        }
        Ok(())
    }

    /// Gives each new request the present end of the log, which then has registrations, and before them the ends of the
    /// instances whose ranks they take.
    async fn place_requests(&mut self) -> Result<(), String> {
        for request in &self.unplaced {
            let Some(hello) = registration_of(request) else {
                continue;
            };
            let former = self.state.former_holders(&hello, self.clock.now_ms());
            for instance in former.into_iter().flatten() {
                let fence = wire::fence_to_wire(&instance);
                self.bus.append(&[fence], &instance).await?;
            }
            if self.registered.insert(fnv1a(&request.payload)) {
                let registration = decoded(request.payload.clone()).map_err(|it| it.1)?;
                let entry = wire::registration_to_wire(registration);
                self.bus.append(&[entry], &hello.instance).await?;
            }
        }
        let position = self.end_of_log().await?;
        let placed = self.unplaced.drain(..);
        let placed = placed.map(|request| WaitingRequest { request, position });
        self.waiting.extend(placed);
        Ok(())
    }

    /// Answers the requests that the log has been read for.
    async fn answer_waiting(&mut self) -> Result<(), String> {
        let position = self.position;
        let due = self.waiting.extract_if(.., |it| it.position <= position);
        let due: Vec<WaitingRequest> = due.collect();
        for WaitingRequest { request, .. } in due {
            let Some(reply) = request.reply.clone() else {
                continue;
            };
            let mut headers = HeaderMap::new();
            let answer = match self.answer(&request) {
                Ok(answer) => answer,
                Err((code, cause)) => {
                    headers.insert(REFUSAL, i32::from(code).to_string().as_str());
                    cause.into_bytes()
                }
            };
            if method_of(&request) == "progress" {
                // Who asks judges by the models that the answer is about.
                self.publish().await?;
            }
            let client = &self.bus.client;
            let sent = client.publish_with_headers(reply, headers, Bytes::from(answer));
            sent.await.map_err(|error| in_full(&error))?;
        }
        Ok(())
    }

    fn answer(&self, request: &Request) -> Result<Vec<u8>, (Code, String)> {
        let now_ms = self.clock.now_ms();
        let state = &self.state;
        let refused = |error: PserverError| (code_of(&error), error.to_string());
        let payload = request.payload.clone();
        match method_of(request) {
            "register" => {
                let hello = wire::hello_from_wire(decoded(payload)?).map_err(refused)?;
                let registered = state.register(&hello, now_ms).map_err(refused)?;
                let reply = wire::registered_to_wire(registered).map_err(refused)?;
                Ok(reply.encode_to_vec())
            }
            "functions" => {
                let request: proto::FunctionsRequest = decoded(payload)?;
                let names = wire::functions_from_wire(request.names);
                let fids = state.functions(ProgramId(request.program), &names);
                let fids = fids.map_err(refused)?.into_iter().map(|fid| fid.0);
                let fids = fids.collect();
                Ok(proto::FunctionsReply { fids }.encode_to_vec())
            }
            "sync" => {
                let request = wire::request_from_wire(decoded(payload)?).map_err(refused)?;
                let reply = state.sync(request, now_ms).map_err(refused)?;
                Ok(wire::reply_to_wire(&reply).encode_to_vec())
            }
            "heartbeat" => {
                let request: proto::HeartbeatRequest = decoded(payload)?;
                state
                    .heartbeat(&request.instance, now_ms)
                    .map_err(refused)?;
                Ok(proto::HeartbeatReply {}.encode_to_vec())
            }
            "progress" => {
                let request: proto::ProgressRequest = decoded(payload)?;
                let program = ProgramId(request.program);
                let progress = state.progress(program, request.num_ranks, now_ms);
                Ok(progress_to_wire(progress).encode_to_vec())
            }
            "goodbye" => {
                let request: proto::GoodbyeRequest = decoded(payload)?;
                state.goodbye(&request.instance);
                Ok(proto::GoodbyeReply {}.encode_to_vec())
            }
            other => Err((Code::Unimplemented, format!("there is no request {other}"))),
        }
    }

    /// Publishes what changed, and lets the log forget what is saved.
    async fn publish(&mut self) -> Result<(), String> {
        self.blocks.publish(&self.bus, &self.state).await?;
        let saved = self.state.saved_position_of(&self.log);
        if saved > self.forgotten {
            let purge = self.bus.log.purge().sequence(saved + 1).await;
            purge.map_err(|error| in_full(&error))?;
            self.forgotten = saved;
        }
        if self.num_refused == 0 {
            *lock(&self.problem) = None;
        }
        Ok(())
    }
}

/// Returns the position before the first entry that the log still has.
fn position_before(log: &stream::State) -> u64 {
    match log.messages {
        0 => log.last_sequence,
        _ => log.first_sequence.saturating_sub(1),
    }
}

/// Returns the registration that a request is, if it is one.
fn registration_of(request: &Request) -> Option<Hello> {
    let is_one = method_of(request) == "register";
    let request = is_one.then(|| proto::RegisterRequest::decode(request.payload.clone()));
    wire::hello_from_wire(request?.ok()?).ok()
}

fn method_of(request: &Request) -> &str {
    let subject = request.subject.as_str();
    subject
        .rsplit_once('.')
        .map_or(subject, |(_, method)| method)
}

fn decoded<M: prost::Message + Default>(payload: Bytes) -> Result<M, (Code, String)> {
    M::decode(payload).map_err(|error| (Code::InvalidArgument, error.to_string()))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
