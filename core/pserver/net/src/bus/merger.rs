//! A merger of one group on a message bus: writes sums of what the log of the group has to the log of the server.

use std::time::{Duration, Instant};

use callgrove_pserver::{GroupMerger, MergerStart, PserverError};
use futures_util::StreamExt as _;
use prost::Message as _;
use prost::bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::bus_task::{BusProblem, BusTask, BusWork};
use super::connection::{Bus, in_full};
use super::instance::{Failure, ask};
use super::log_reader::LogReader;
use crate::grpc_exchange::{ExchangeOptions, HEARTBEAT_INTERVAL};
use crate::{MAX_MESSAGE_BYTES, proto, wire};

/// Time between two sums.
const SUM_INTERVAL: Duration = Duration::from_millis(500);
/// How long a merger waits for the server before it says so.
const START_WAIT: Duration = Duration::from_secs(3);
/// Timeout of requests to the server.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// A merger of the contributions of a group.
#[derive(Debug)]
pub struct BusMerger(BusTask);

impl BusMerger {
    /// Connects to the bus of the options, waiting for one that has not started yet, and begins to merge. `name` is globally
    /// unique, over all time. A second merger of the group waits until the first one has ended.
    ///
    /// # Errors
    /// [`PserverError::NotConnected`] if the bus cannot be reached or lacks what is needed; [`PserverError::BadOption`].
    pub fn start(
        options: &ExchangeOptions,
        group: u32,
        name: String,
    ) -> Result<Self, PserverError> {
        let task = BusTask::start(options, "bus-merger", |bus, problem| GroupReader {
            bus,
            group,
            name,
            num_refused: 0,
            problem,
        })?;
        Ok(Self(task))
    }

    /// Returns why it does not merge at present.
    pub fn problem(&self) -> Option<String> {
        self.0.problem()
    }

    /// Returns whether the parameter server has ended the job.
    pub fn is_over(&self) -> bool {
        self.0.is_over()
    }

    /// Merges what the log of the group has now, and ends. Returns why it could not, if so: the next merger does it.
    pub fn finish(self) -> Option<String> {
        self.0.finish()
    }
}

/// Reads the log of one group.
struct GroupReader {
    bus: Bus,
    group: u32,
    name: String,
    num_refused: u64,
    problem: BusProblem,
}

impl BusWork for GroupReader {
    async fn follow(&mut self, stopped: &mut watch::Receiver<bool>) -> Result<(), String> {
        let connection = self.bus.num_connects();
        let over = self.bus.client.subscribe(self.bus.over()).await;
        let mut over = over.map_err(|error| in_full(&error))?;
        let log = self.bus.log_of_group(self.group).await?;
        let extent = log.extent().await?;
        let start = self.start_of(&extent.id).await?;
        let mut merger = GroupMerger::new(self.group, &extent.id, start);
        self.note_success();
        // What the log has forgotten is saved, or it is lost.
        merger.advance(extent.before);
        let mut entries = LogReader::open(&log, merger.position()).await?;
        let mut tick = interval(SUM_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut asked = Instant::now();
        let mut is_over = false;
        loop {
            tokio::select! {
                read = entries.next() => {
                    for (position, entry) in read? {
                        self.take_entry(&mut merger, position, entry.payload.clone());
                    }
                    if merger.is_full() {
                        self.send(&mut merger).await?;
                    }
                }
                _ = tick.tick() => {
                    if self.bus.num_connects() != connection {
                        return Err("connected again".to_owned());
                    }
                    self.send(&mut merger).await?;
                    if asked.elapsed() >= HEARTBEAT_INTERVAL {
                        self.check(&extent.id, &merger).await?;
                        asked = Instant::now();
                    }
                }
                _ = over.next() => is_over = true,
                _ = stopped.changed(), if !is_over => {}
            }
            if is_over || *stopped.borrow() {
                is_over = true;
                if merger.position() >= log.extent().await?.last {
                    self.send(&mut merger).await?;
                    self.note_success();
                    // Without an answer, the next merger waits until the lease is over.
                    self.ask(&extent.id, proto::MergerState::Ending).await.ok();
                    return Ok(());
                }
            }
        }
    }
}

impl GroupReader {
    /// Asks the server what it has of the group. For a server that starts at the same time it waits a little.
    async fn start_of(&self, log: &str) -> Result<MergerStart, String> {
        let give_up = Instant::now() + START_WAIT;
        loop {
            match self.ask(log, proto::MergerState::Starting).await {
                Ok(reply) => return Ok(wire::merger_start_from_wire(reply)),
                Err(Failure::NoAnswer(_)) if Instant::now() < give_up => {
                    tokio::time::sleep(SUM_INTERVAL).await;
                }
                Err(Failure::NoAnswer(cause) | Failure::Refused(_, cause)) => return Err(cause),
            }
        }
    }

    /// Checks that the server has all sums: it leaves out those of a merger that is not the only one.
    async fn check(&self, log: &str, merger: &GroupMerger) -> Result<(), String> {
        match self.ask(log, proto::MergerState::Merging).await {
            Ok(reply) if reply.position == merger.taken() => {
                self.note_success();
                Ok(())
            }
            Ok(reply) => Err(format!(
                "the parameter server has entries up to {} of group {}, not to {}: merging from there",
                reply.position,
                self.group,
                merger.taken()
            )),
            Err(Failure::Refused(_, cause)) => Err(cause),
            // The log keeps the sums.
            Err(Failure::NoAnswer(cause)) => {
                self.problem.set(Some(format!("the message bus: {cause}")));
                Ok(())
            }
        }
    }

    fn note_success(&self) {
        if self.num_refused == 0 {
            self.problem.set(None);
        }
    }

    async fn ask(
        &self,
        log: &str,
        state: proto::MergerState,
    ) -> Result<proto::MergeReply, Failure> {
        let request = proto::MergeRequest {
            merger: self.name.clone(),
            group: self.group,
            log: log.to_owned(),
            state: state.into(),
        };
        let payload = Bytes::from(request.encode_to_vec());
        let subject = self.bus.requests("merge");
        let reply = ask(&self.bus.client, subject, payload, REQUEST_TIMEOUT).await?;
        let reply = proto::MergeReply::decode(reply);
        reply.map_err(|error| Failure::NoAnswer(error.to_string()))
    }

    fn take_entry(&mut self, merger: &mut GroupMerger, position: u64, payload: Bytes) {
        let added = match wire::entry_from_wire(payload) {
            Ok(wire::LogEntry::Part(part)) => merger.add(*part, position),
            Ok(wire::LogEntry::Fence(instance)) => {
                merger.fence(instance, position);
                Ok(())
            }
            Ok(wire::LogEntry::Registration(..)) => {
                merger.advance(position);
                Ok(())
            }
            Err(error) => {
                merger.advance(position);
                Err(error)
            }
        };
        if let Err(error) = added {
            self.num_refused += 1;
            self.problem.set(Some(format!(
                "entry {position} of the log of group {} is left out ({} so far): {error}",
                self.group, self.num_refused
            )));
        }
    }

    /// Writes the sum since the previous one.
    async fn send(&self, merger: &mut GroupMerger) -> Result<(), String> {
        let Some(sum) = merger.take() else {
            return Ok(());
        };
        let origin = sum.origin.clone();
        let id = format!("group-{}-{}", self.group, sum.position);
        let name = sum.name();
        let function = |fid| merger.function(fid);
        let entries: Vec<Vec<u8>> = sum
            .into_parts(MAX_MESSAGE_BYTES / 4)
            .iter()
            .map(|(number, part)| wire::part_to_wire(&name, *number, part, Some(&origin), function))
            .collect();
        self.bus.append(&self.bus.log, &entries, &id).await?;
        Ok(())
    }
}
