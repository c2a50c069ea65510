//! The parameter server's side of a message bus: reads the log, publishes models, answers requests.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::{HeaderMap, Message as Request, Subscriber};
use callgrove_model::fnv1a;
use callgrove_pserver::{Hello, MergerStart, MonotonicClock, PserverError, ServerState};
use futures_util::{FutureExt as _, StreamExt as _};
use prost::Message as _;
use prost::bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tonic::Code;

use super::answers::{answer, decoded, goodbye_of, method_of, registration_of};
use super::bus_task::{BusProblem, BusTask, BusWork};
use super::connection::{Bus, REFUSAL, in_full};
use super::groups::{GroupEnd, Groups};
use super::log_reader::LogReader;
use super::model_blocks::ModelBlocks;
use crate::grpc_exchange::ExchangeOptions;
use crate::{proto, wire};

/// Time between two publications of models, and between two looks at what the log can forget.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(500);
/// How long a request waits for mergers: shorter than the deadline of a call.
const MERGER_TIMEOUT: Duration = Duration::from_secs(4);

/// A parameter server on a message bus. Its state gets the contributions that the log has and it lacks, also those of
/// before its start.
#[derive(Debug)]
pub struct BusServer(BusTask);

impl BusServer {
    /// Connects to the bus of the options, waiting for one that has not started yet, and begins to read.
    ///
    /// # Errors
    /// [`PserverError::NotConnected`] if the bus cannot be reached or lacks what is needed; [`PserverError::BadOption`].
    pub fn start(options: &ExchangeOptions, state: Arc<ServerState>) -> Result<Self, PserverError> {
        let task = BusTask::start(options, "bus-server", |bus, problem| Reader {
            bus,
            state,
            clock: MonotonicClock::new(),
            log: String::new(),
            position: 0,
            forgotten: 0,
            groups: Groups::default(),
            blocks: ModelBlocks::default(),
            unplaced: Vec::new(),
            waiting: Vec::new(),
            registered: BTreeSet::new(),
            num_refused: 0,
            problem,
        })?;
        Ok(Self(task))
    }

    /// Returns why the log is not read or models are not published at present.
    pub fn problem(&self) -> Option<String> {
        self.0.problem()
    }

    /// Reads what the log has now, and ends. Returns why it could not, if so: the next server reads the rest.
    pub fn finish(self) -> Option<String> {
        self.0.finish()
    }
}

/// A request, and what its answer is to include.
struct WaitingRequest {
    request: Request,
    /// All entries of the log up to this position.
    position: u64,
    /// All entries of the logs of groups up to these.
    groups: Vec<GroupEnd>,
    gives_up: Instant,
    /// The group that lacks a merger for the instance.
    missing_merger: Option<u32>,
}

/// What the log and those of groups have when the server is asked to end.
struct End {
    position: u64,
    groups: Vec<GroupEnd>,
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
    groups: Groups,
    blocks: ModelBlocks,
    /// Requests that have arrived since the end of the log was asked for.
    unplaced: Vec<Request>,
    waiting: Vec<WaitingRequest>,
    /// Hashes of the registrations that the log has.
    registered: BTreeSet<u64>,
    num_refused: u64,
    problem: BusProblem,
}

impl BusWork for Reader {
    async fn follow(&mut self, stopped: &mut watch::Receiver<bool>) -> Result<(), String> {
        let connection = self.bus.num_connects();
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
                read = entries.next() => {
                    for (position, entry) in read? {
                        self.take_entry(position, entry.payload.clone());
                    }
                }
                request = requests.next() => self.take_requests(request, &mut requests)?,
                _ = tick.tick() => {
                    // A bus that was killed has forgotten what this reader was about to get.
                    if self.bus.num_connects() != connection {
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
                    None => self.end_of_logs().await?,
                };
                if self.has_read(&last) {
                    self.publish().await?;
                    return self.say_over().await;
                }
                end = Some(last);
            }
        }
    }
}

impl Reader {
    /// Begins to read the log after what the state has.
    async fn open_log(&mut self) -> Result<LogReader, String> {
        self.groups.forget_connection();
        let extent = self.bus.log.extent().await?;
        self.position = self.state.begin_log(&extent.id).max(extent.before);
        self.log = extent.id;
        LogReader::open(&self.bus.log, self.position).await
    }

    /// Returns what the logs have now.
    async fn end_of_logs(&mut self) -> Result<End, String> {
        let mut groups = Vec::new();
        for group in self.state.groups() {
            groups.push(self.groups.end_of(&self.bus, group).await?);
        }
        let position = self.bus.log.extent().await?.last;
        Ok(End { position, groups })
    }

    /// Returns whether the state has everything up to an end of the logs.
    fn has_read(&self, end: &End) -> bool {
        let missing = end
            .groups
            .iter()
            .find_map(|it| Some((it, it.missing_after(&self.state)?)));
        if let Some((group, position)) = missing {
            self.problem.set(Some(group.remedy(position)));
        }
        missing.is_none() && self.position >= end.position
    }

    /// Says to the mergers that the job is over.
    async fn say_over(&self) -> Result<(), String> {
        let client = &self.bus.client;
        let said = client.publish(self.bus.over(), Bytes::new()).await;
        said.map_err(|error| in_full(&error))?;
        client.flush().await.map_err(|error| in_full(&error))
    }

    fn take_entry(&mut self, position: u64, payload: Bytes) {
        let added = match wire::entry_from_wire(payload) {
            Ok(wire::LogEntry::Part(part)) => {
                let start = Instant::now();
                let added = self.state.add_logged(*part, position, self.clock.now_ms());
                self.state.count_exchange(start.elapsed());
                added
            }
            Ok(wire::LogEntry::Registration(hello, group)) => {
                if let Some(group) = group {
                    self.state.join_group(&hello.instance, group);
                }
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
            self.problem.set(Some(format!(
                "entry {position} of the log on the message bus is left out ({} so far): {error}",
                self.num_refused
            )));
        }
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
    /// instances whose ranks they take. A request about an instance of a group waits for the sums of the group, too.
    async fn place_requests(&mut self) -> Result<(), String> {
        let requests = std::mem::take(&mut self.unplaced);
        let gives_up = Instant::now() + MERGER_TIMEOUT;
        let mut placed = Vec::new();
        for request in requests {
            let mut missing_merger = None;
            let groups = match (registration_of(&request), goodbye_of(&request)) {
                (Some((hello, group)), _) => {
                    missing_merger = group.filter(|&it| self.lacks_merger(&hello.instance, it));
                    match missing_merger {
                        Some(_) => Vec::new(),
                        None => self.log_registration(&request, &hello).await?,
                    }
                }
                (None, Some(instance)) => match self.state.group_of(&instance) {
                    Some(group) => vec![self.groups.end_of(&self.bus, group).await?],
                    None => Vec::new(),
                },
                (None, None) => Vec::new(),
            };
            placed.push(WaitingRequest {
                request,
                position: 0,
                groups,
                gives_up,
                missing_merger,
            });
        }
        let position = self.bus.log.extent().await?.last;
        let placed = placed.into_iter();
        self.waiting
            .extend(placed.map(|it| WaitingRequest { position, ..it }));
        Ok(())
    }

    /// Returns whether an instance is a new one of a group without a merger: its data would come with those of the next
    /// merger.
    fn lacks_merger(&self, instance: &str, group: u32) -> bool {
        let is_new = self.state.group_of(instance).is_none();
        is_new && !self.groups.has_merger(group, self.clock.now_ms())
    }

    /// Writes a registration into the log, and before it the ends of former holders of its ranks. Returns the ends of the
    /// logs of their groups.
    async fn log_registration(
        &mut self,
        request: &Request,
        hello: &Hello,
    ) -> Result<Vec<GroupEnd>, String> {
        let former = self.state.former_holders(hello, self.clock.now_ms());
        let mut groups = Vec::new();
        for former in former.into_iter().flatten() {
            if let Some(group) = self.state.group_of(&former) {
                groups.push(self.groups.fence(&self.bus, group, &former).await?);
            }
            // Also for one of a group, which may not register again.
            let fence = wire::fence_to_wire(&former);
            let log = &self.bus.log;
            self.bus.append(log, &[fence], &former).await?;
        }
        if self.registered.insert(fnv1a(&request.payload)) {
            let registration = decoded(request.payload.clone()).map_err(|it| it.1)?;
            let entry = wire::registration_to_wire(registration);
            let log = &self.bus.log;
            self.bus.append(log, &[entry], &hello.instance).await?;
        }
        Ok(groups)
    }

    /// Answers the requests that the log has been read for.
    async fn answer_waiting(&mut self) -> Result<(), String> {
        let now = Instant::now();
        let position = self.position;
        let state = Arc::clone(&self.state);
        let is_due = |it: &mut WaitingRequest| {
            it.groups.retain(|end| end.missing_after(&state).is_some());
            it.position <= position && (it.groups.is_empty() || it.gives_up < now)
        };
        let due: Vec<WaitingRequest> = self.waiting.extract_if(.., is_due).collect();
        for waiting in due {
            let request = &waiting.request;
            let Some(reply) = request.reply.clone() else {
                continue;
            };
            let mut headers = HeaderMap::new();
            let answer = match self.answer(&waiting) {
                Ok(answer) => answer,
                Err((code, cause)) => {
                    headers.insert(REFUSAL, i32::from(code).to_string().as_str());
                    cause.into_bytes()
                }
            };
            if method_of(request) == "progress" {
                // Who asks judges by the models that the answer is about.
                self.publish().await?;
            }
            let client = &self.bus.client;
            let sent = client.publish_with_headers(reply, headers, Bytes::from(answer));
            sent.await.map_err(|error| in_full(&error))?;
        }
        Ok(())
    }

    fn answer(&mut self, waiting: &WaitingRequest) -> Result<Vec<u8>, (Code, String)> {
        if let Some(group) = waiting.missing_merger {
            let cause =
                format!("group {group} has no merger: start `callgrove merger --group {group}`");
            return Err((Code::Unavailable, cause));
        }
        // What it has waited for in vain.
        if let Some(end) = waiting.groups.first() {
            let read = end.missing_after(&self.state).unwrap_or(end.position);
            return Err((Code::Unavailable, end.remedy(read)));
        }
        let request = &waiting.request;
        let now_ms = self.clock.now_ms();
        if method_of(request) != "merge" {
            return answer(&self.state, request, now_ms);
        }
        let request: proto::MergeRequest = decoded(request.payload.clone())?;
        self.groups.claim(&request, now_ms)?;
        let (group, log) = (request.group, &request.log);
        let start = match request.state() {
            proto::MergerState::Starting => self.state.merger_start(group, log),
            proto::MergerState::Merging | proto::MergerState::Ending => MergerStart {
                position: self.state.group_position(group, log),
                ..MergerStart::default()
            },
        };
        Ok(wire::merger_start_to_wire(&start).encode_to_vec())
    }

    /// Publishes what changed, and lets the logs forget what is saved.
    async fn publish(&mut self) -> Result<(), String> {
        self.blocks.publish(&self.bus, &self.state).await?;
        let saved = self.state.saved_position_of(&self.log);
        if saved > self.forgotten {
            self.bus.log.forget(saved).await?;
            self.forgotten = saved;
        }
        self.groups.forget_saved(&self.bus, &self.state).await?;
        if self.num_refused == 0 {
            self.problem.set(None);
        }
        Ok(())
    }
}
