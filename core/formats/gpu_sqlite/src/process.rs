//! The events of one process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_model::{FuncId, Property, TimeNs};
use callgrove_source::{LaneIdentity, LaneNumber, RankEvents};

use crate::correlation::{ApiCall, ApiCalls};
use crate::environment::StatedRank;

/// Identifies a process of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct ProcessKey {
    /// The machine, as the file numbers it.
    pub(crate) node: u64,
    pub(crate) pid: u64,
}

/// Start and end of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CallSpan {
    pub(crate) start: TimeNs,
    /// `None` if the call did not end.
    pub(crate) end: Option<TimeNs>,
}

/// A range that does not belong to the call stack of a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LooseRange {
    span: CallSpan,
    func: FuncId,
}

/// The work that an API call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitTarget {
    /// All work of the process, or that of a stream that is not stated.
    All,
    /// The work of a stream.
    Stream { device: u64, stream: u64 },
}

/// The facts that a file states about a process.
#[derive(Default)]
pub(crate) struct ProcessDetails {
    pub(crate) rank: Option<StatedRank>,
    pub(crate) host: Option<String>,
    pub(crate) executable: Option<String>,
    pub(crate) command_line: Option<String>,
    /// By thread.
    pub(crate) thread_names: BTreeMap<u64, String>,
    /// By the number of the GPU in the process.
    pub(crate) gpu_names: Arc<BTreeMap<u64, String>>,
}

/// The events of one process.
#[derive(Default)]
pub(crate) struct ProfiledProcess {
    pub(crate) events: RankEvents,
    pub(crate) facts: ProcessDetails,
    pub(crate) api_calls: ApiCalls,
    /// It has work on a GPU, or calls that could launch it.
    pub(crate) uses_gpu: bool,
    pub(crate) num_calls: u64,
    /// Kernels of collective operations: the GPU, the start, and the stream.
    collective_kernels: Vec<(u64, TimeNs, LaneNumber)>,
    /// Collective operations of MPI: the communicator, the start, and the thread.
    mpi_collectives: Vec<(u64, TimeNs, LaneNumber)>,
    /// API calls that wait by their names: thread and start, and the stream if that is known.
    named_waits: BTreeMap<(LaneNumber, TimeNs), Option<LaneNumber>>,
    /// API calls that wait as the file states it, by correlation.
    stated_waits: Vec<(u64, WaitTarget)>,
    /// Correlations of API calls that wait for the copy that they start.
    blocking_copies: BTreeSet<u64>,
    ranges: Vec<LooseRange>,
    /// Synchronisations of the GPU, which no API call shows as such.
    synchronizations: Vec<LooseRange>,
}

/// Maximum number of lanes for ranges that overlap. Ranges beyond it share the last one.
const MAX_TRACKS: usize = 64;
/// Keys of the lanes for ranges: those of a process are below this number.
const TRACKS_PER_PROCESS: u64 = 1 << 16;
/// Keys of the lanes of a process for synchronisations begin here.
const SYNCHRONIZATION_TRACKS: u64 = 1 << 12;
/// The communicator of kernels, which do not state theirs.
const KERNEL_COMMUNICATOR: u64 = 0;
/// Key of the metadata with the name of a GPU.
const GPU_NAME: &str = "GPU Name";
/// The value of the metadata of lanes whose calls mirror waits.
const MIRRORED_WAITS: &str = "for a GPU";

impl ProfiledProcess {
    pub(crate) fn call(&mut self, lane: LaneNumber, func: FuncId, span: CallSpan) {
        self.num_calls += 1;
        match span.end {
            Some(end) => self.events.call(lane, func, span.start, end),
            None => self.events.begin(lane, func, span.start),
        }
    }

    pub(crate) fn collective_kernel(&mut self, device: u64, start: TimeNs, lane: LaneNumber) {
        self.collective_kernels.push((device, start, lane));
    }

    pub(crate) fn mpi_collective(&mut self, communicator: u64, start: TimeNs, lane: LaneNumber) {
        self.mpi_collectives.push((communicator, start, lane));
    }

    /// States that an API call waits for the work of its process.
    pub(crate) fn named_wait(&mut self, lane: LaneNumber, start: TimeNs) {
        self.named_waits.insert((lane, start), None);
    }

    /// States that the API call of a correlation waits for the copy that it starts.
    pub(crate) fn blocking_copy(&mut self, correlation: u64) {
        self.blocking_copies.insert(correlation);
    }

    /// Processes a copy from or to the memory of the host, which the API call `launch` started.
    pub(crate) fn host_copy(&mut self, correlation: u64, launch: ApiCall, stream: LaneNumber) {
        if self.blocking_copies.contains(&correlation) {
            let call = (launch.lane, launch.start);
            self.named_waits.insert(call, Some(stream));
        }
    }

    /// States that the API call of a correlation waits.
    pub(crate) fn stated_wait(&mut self, correlation: u64, target: WaitTarget) {
        self.stated_waits.push((correlation, target));
    }

    pub(crate) fn range(&mut self, func: FuncId, span: CallSpan) {
        self.num_calls += 1;
        self.ranges.push(LooseRange { span, func });
    }

    pub(crate) fn synchronization(&mut self, func: FuncId, span: CallSpan) {
        self.num_calls += 1;
        self.synchronizations.push(LooseRange { span, func });
    }

    /// Returns whether the process has neither calls nor messages.
    pub(crate) fn is_empty(&self) -> bool {
        self.num_calls == 0 && self.events.is_empty()
    }

    /// Returns the events, with what follows from all of them. Lanes for ranges have keys of the `index`-th process.
    pub(crate) fn into_events(mut self, key: ProcessKey, index: u64) -> RankEvents {
        let kernels = std::mem::take(&mut self.collective_kernels);
        for ((_, start, lane), sequence) in numbered(kernels) {
            self.events
                .collective(lane, start, KERNEL_COMMUNICATOR, sequence);
        }
        for ((communicator, start, lane), sequence) in
            numbered(std::mem::take(&mut self.mpi_collectives))
        {
            self.events.collective(lane, start, communicator, sequence);
        }
        self.add_waits();
        let first_track = index.saturating_mul(TRACKS_PER_PROCESS);
        let ranges = std::mem::take(&mut self.ranges);
        self.add_tracks(ranges, first_track);
        let synchronizations = std::mem::take(&mut self.synchronizations);
        let first_track = first_track.saturating_add(SYNCHRONIZATION_TRACKS);
        for lane in self.add_tracks(synchronizations, first_track) {
            self.events
                .property(lane, Property::MirrorsWaits, MIRRORED_WAITS);
        }
        self.describe(key);
        self.events
    }

    /// Adds the API calls that wait. What the file states about a call is preferred to what its name says: a call that
    /// waits for a stream without work waits for no other.
    fn add_waits(&mut self) {
        let named = std::mem::take(&mut self.named_waits).into_iter();
        let mut waits: BTreeMap<_, _> = named.map(|(call, stream)| (call, Some(stream))).collect();
        for (correlation, target) in std::mem::take(&mut self.stated_waits) {
            let stream = match target {
                WaitTarget::All => Some(None),
                WaitTarget::Stream { device, stream } => {
                    let lane = LaneIdentity::Stream { device, stream };
                    self.events.existing_lane(lane).map(Some)
                }
            };
            if let Some(call) = self.api_calls.find(correlation) {
                waits.insert((call.lane, call.start), stream);
            }
        }
        for ((lane, start), stream) in waits {
            if let Some(stream) = stream {
                self.events.device_wait(lane, start, stream);
            }
        }
    }

    /// Adds ranges, each to the first lane that is free. Returns the lanes.
    fn add_tracks(
        &mut self,
        mut ranges: Vec<LooseRange>,
        first_track: u64,
    ) -> BTreeSet<LaneNumber> {
        let mut lanes = BTreeSet::new();
        ranges.sort_unstable();
        let mut ends: Vec<TimeNs> = Vec::new();
        for LooseRange { span, func } in ranges {
            let free = ends.iter().position(|end| *end <= span.start);
            let track = free.unwrap_or(ends.len()).min(MAX_TRACKS - 1);
            let end = span.end.unwrap_or(TimeNs(i64::MAX));
            match ends.get_mut(track) {
                Some(last) => *last = end.max(*last),
                None => ends.push(end),
            }
            let key = first_track.saturating_add(u64::try_from(track).unwrap_or(0));
            let lane = self.events.lane(LaneIdentity::Track(key));
            lanes.insert(lane);
            match span.end {
                Some(end) => self.events.call(lane, func, span.start, end),
                None => self.events.begin(lane, func, span.start),
            }
        }
        lanes
    }

    /// Adds the known facts about the process, its lanes and its main thread.
    fn describe(&mut self, key: ProcessKey) {
        let lanes: Vec<_> = self.events.lanes().collect();
        let threads = lanes.iter().filter_map(|&(lane, key)| match key {
            LaneIdentity::Thread(tid) => Some((lane, tid)),
            _ => None,
        });
        let rank_of = |&(lane, tid): &(LaneNumber, u64)| {
            let num_calls = self.events.num_calls(lane);
            // Of threads with as many calls, the first one.
            (tid == key.pid, num_calls, std::cmp::Reverse(tid))
        };
        let main = threads.max_by_key(rank_of).map(|(lane, _)| lane);
        if let Some(main) = main {
            self.events.set_main(main);
        }
        for &(lane, key) in &lanes {
            let (key, name) = match key {
                LaneIdentity::Thread(tid) => (
                    Property::ThreadName.key(),
                    self.facts.thread_names.get(&tid),
                ),
                LaneIdentity::Stream { device, .. } => {
                    (GPU_NAME, self.facts.gpu_names.get(&device))
                }
                LaneIdentity::Track(_) => continue,
            };
            if let Some(name) = name {
                self.events.metadata(lane, key, name.as_str());
            }
        }
        let Some(lane) = main.or_else(|| lanes.first().map(|(lane, _)| *lane)) else {
            return;
        };
        let facts = std::mem::take(&mut self.facts);
        let pid = (key.pid != 0).then(|| key.pid.to_string());
        for (property, value) in [
            (Property::Host, facts.host),
            (Property::ProcessId, pid),
            (Property::Executable, facts.executable),
            (Property::CommandLine, facts.command_line),
        ] {
            if let Some(value) = value {
                self.events.property(lane, property, value);
            }
        }
    }
}

/// Returns events in order of group and time, each with its number in the group.
fn numbered(
    mut events: Vec<(u64, TimeNs, LaneNumber)>,
) -> impl Iterator<Item = ((u64, TimeNs, LaneNumber), u64)> {
    events.sort_unstable();
    let (mut group, mut next) = (None, 0);
    events.into_iter().map(move |event| {
        if group != Some(event.0) {
            (group, next) = (Some(event.0), 0);
        }
        next += 1;
        (event, next - 1)
    })
}
