//! A complete trace: the lanes of all ranks, with names joined and messages matched.

use std::collections::BTreeSet;

use crate::id::{
    CounterId, ExecIdx, ExecLabel, ExecRef, FuncId, LaneIdx, ProgramId, RankId, ThreadId,
};
use crate::lane::Lane;
use crate::message_matching::{Message, match_messages};
use crate::metadata::Metadata;
use crate::names::NameTable;
use crate::rank_builder::RankTrace;
use crate::relation::{
    CallSize, CollectiveEvent, CollectiveMember, DeviceWait, DeviceWaitEvent, Launch, LaunchEvent,
    SizeEvent,
};
use crate::run::RunIdentity;
use crate::time::{TimeNs, WeightUnit};
use crate::tracer_write::TracerWrite;
use crate::warning::Warnings;

/// A trace in memory.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Function names of all ranks.
    pub names: NameTable<FuncId>,
    /// Counter names of all ranks.
    pub counter_names: NameTable<CounterId>,
    /// Lanes, ordered by program, rank, thread.
    pub lanes: Vec<Lane>,
    /// Messages in order of sending time.
    pub messages: Vec<Message>,
    /// Time ranges in which the tracer wrote its own data, as far as known; ordered by lane, then start. Those of one
    /// lane do not overlap.
    pub writes: Vec<TracerWrite>,
    /// Calls that take part in collectives, where the format states it; ordered by lane, then time.
    pub collectives: Vec<CollectiveMember>,
    /// Launches of calls, where the format states them; ordered by lane, then time of the launched call.
    pub launches: Vec<Launch>,
    /// Sizes of calls, where the format states them; ordered by lane, then time.
    pub sizes: Vec<CallSize>,
    /// Calls that wait for a GPU, where the format states them; ordered by lane, then time.
    pub device_waits: Vec<DeviceWait>,
    /// Metadata, ordered by program, rank, thread, key.
    pub metadata: Vec<Metadata>,
    /// Warnings of all ranks.
    pub warnings: Warnings,
    /// Number of I/O steps of all ranks.
    pub num_steps: u64,
    /// The identity of the run.
    pub identity: RunIdentity,
    /// True if the trace holds only some executions of the run, so that trees are numbered differently.
    pub is_selection: bool,
    /// Executions of a selection that were selected because they are unusual, and not as part of a sample: usual
    /// behaviour is not learned from them.
    pub unsampled: BTreeSet<ExecRef>,
    /// True if it consists of trees that belong to no run: they have no messages, and each execution without a caller
    /// is one of the trees to compare.
    pub is_forest: bool,
    /// The unit of the weights of its trees: times, except for trees of a file that counts something else.
    pub unit: WeightUnit,
}

impl Trace {
    /// Joins ranks: names by name, SENDs with RECVs. The result does not depend on the order of `ranks`, each of which
    /// occurs once.
    pub fn assemble(mut ranks: Vec<RankTrace>, mut warnings: Warnings) -> Self {
        ranks.sort_by_key(|rank| (rank.program, rank.rank));
        let mut trace = Self::default();
        for rank in ranks {
            trace.identity.merge(&RunIdentity::of_rank(&rank));
            let funcs = trace.names.join(&rank.names);
            let counters = trace.counter_names.join(&rank.counter_names);
            trace.num_steps += u64::from(rank.num_steps);
            let program = rank.program;
            let metadata = rank.metadata.into_iter();
            let metadata = metadata.map(|entry| Metadata { program, ..entry });
            trace.metadata.extend(metadata);
            warnings.join(rank.warnings);
            let first = trace.lanes.len();
            let mut writes = rank.writes.into_iter().peekable();
            for (thread, mut executions, comms, mut samples) in rank.threads {
                let lane = LaneIdx::from_index(trace.lanes.len());
                while let Some((_, start, end)) = writes.next_if(|write| write.0 == thread) {
                    trace.writes.push(TracerWrite { lane, start, end });
                }
                for func in &mut executions.func {
                    *func = funcs[func.index()];
                }
                for counter in &mut samples.counter {
                    *counter = counters[counter.index()];
                }
                trace.lanes.push(Lane {
                    program: rank.program,
                    rank: rank.rank,
                    thread,
                    executions,
                    comms,
                    counters: samples,
                });
            }
            trace.add_relations(first, &rank.collectives, &rank.launches);
            trace.add_gpu_facts(first, &rank.sizes, &rank.device_waits);
        }
        trace.metadata.sort();
        trace.messages = match_messages(&mut trace.lanes, &mut warnings);
        trace.warnings = warnings;
        trace
    }

    /// Adds the relations of a rank, whose lanes are those from `first` on. Those of threads without events are
    /// dropped.
    fn add_relations(
        &mut self,
        first: usize,
        collectives: &[CollectiveEvent],
        launches: &[LaunchEvent],
    ) {
        let lanes = &self.lanes[first..];
        let lane_of = |thread: ThreadId| lane_of(lanes, first, thread);
        self.collectives.extend(collectives.iter().filter_map(|it| {
            Some(CollectiveMember {
                lane: lane_of(it.thread)?,
                time: it.time,
                communicator: it.communicator,
                sequence: it.sequence,
            })
        }));
        self.launches.extend(launches.iter().filter_map(|it| {
            Some(Launch {
                lane: lane_of(it.thread)?,
                time: it.time,
                by: lane_of(it.by)?,
                launched: it.launched,
            })
        }));
    }

    /// Adds the sizes and waits of a rank, as [`Trace::add_relations`] does. A wait for a stream without events is
    /// dropped too: it is not one for all streams.
    fn add_gpu_facts(&mut self, first: usize, sizes: &[SizeEvent], waits: &[DeviceWaitEvent]) {
        let lanes = &self.lanes[first..];
        let lane_of = |thread: ThreadId| lane_of(lanes, first, thread);
        self.sizes.extend(sizes.iter().filter_map(|it| {
            Some(CallSize {
                lane: lane_of(it.thread)?,
                time: it.time,
                bytes: it.bytes,
            })
        }));
        self.device_waits.extend(waits.iter().filter_map(|it| {
            let stream = match it.stream {
                Some(stream) => Some(lane_of(stream)?),
                None => None,
            };
            Some(DeviceWait {
                lane: lane_of(it.thread)?,
                time: it.time,
                stream,
            })
        }));
    }

    /// Returns the launches of the calls of a lane, in order of time.
    pub fn launches_on(&self, lane: LaneIdx) -> &[Launch] {
        let from = self.launches.partition_point(|it| it.lane < lane);
        let to = self.launches.partition_point(|it| it.lane <= lane);
        &self.launches[from..to]
    }

    /// Returns the sizes of the calls of a lane, in order of time.
    pub fn sizes_on(&self, lane: LaneIdx) -> &[CallSize] {
        let from = self.sizes.partition_point(|it| it.lane < lane);
        let to = self.sizes.partition_point(|it| it.lane <= lane);
        &self.sizes[from..to]
    }

    /// Returns the calls of a lane that wait for a GPU, in order of time.
    pub fn device_waits_on(&self, lane: LaneIdx) -> &[DeviceWait] {
        let from = self.device_waits.partition_point(|it| it.lane < lane);
        let to = self.device_waits.partition_point(|it| it.lane <= lane);
        &self.device_waits[from..to]
    }

    /// Returns the calls of a lane that take part in collectives, in order of time.
    pub fn collectives_on(&self, lane: LaneIdx) -> &[CollectiveMember] {
        let from = self.collectives.partition_point(|it| it.lane < lane);
        let to = self.collectives.partition_point(|it| it.lane <= lane);
        &self.collectives[from..to]
    }

    /// Returns a lane of this trace.
    pub fn lane(&self, lane: LaneIdx) -> &Lane {
        &self.lanes[lane.index()]
    }

    /// Returns the lanes with their indices.
    pub fn lanes(&self) -> impl Iterator<Item = (LaneIdx, &Lane)> {
        self.lanes
            .iter()
            .enumerate()
            .map(|(index, lane)| (LaneIdx::from_index(index), lane))
    }

    /// Returns the ranks of the trace in ascending order.
    pub fn ranks(&self) -> BTreeSet<(ProgramId, RankId)> {
        self.lanes
            .iter()
            .map(|lane| (lane.program, lane.rank))
            .collect()
    }

    /// Returns the time ranges in which the tracer wrote on a lane, in order of time.
    pub fn writes_on(&self, lane: LaneIdx) -> &[TracerWrite] {
        let from = self.writes.partition_point(|write| write.lane < lane);
        let to = self.writes.partition_point(|write| write.lane <= lane);
        &self.writes[from..to]
    }

    /// Returns the number of executions of all lanes.
    pub fn num_executions(&self) -> usize {
        self.lanes.iter().map(|lane| lane.executions.len()).sum()
    }

    /// Returns the first entry and the last exit, or `None` if there are no executions.
    pub fn time_span(&self) -> Option<(TimeNs, TimeNs)> {
        let first = self
            .lanes
            .iter()
            .filter_map(|lane| lane.executions.entry.first())
            .min()?;
        // An execution without a caller ends after all calls inside it, so only these can be the last.
        let last = self.lanes.iter().filter_map(|lane| {
            let bottom =
                (0..lane.executions.len()).rfind(|&row| lane.executions.depth[row] == 0)?;
            Some(lane.executions.exit(ExecIdx::from_index(bottom)))
        });
        Some((*first, last.max()?))
    }

    /// Returns the event label `rank:step:row` of an execution.
    pub fn label(&self, exec: ExecRef) -> ExecLabel {
        let lane = self.lane(exec.lane);
        let row = exec.exec.index();
        ExecLabel {
            rank: lane.rank,
            step: lane.executions.step[row],
            row: lane.executions.row[row],
        }
    }

    /// Returns the execution with an event label, or `None` if the trace does not contain it.
    pub fn find(&self, program: ProgramId, label: ExecLabel) -> Option<ExecRef> {
        let mut lanes = self
            .lanes()
            .filter(|(_, lane)| (lane.program, lane.rank) == (program, label.rank));
        lanes.find_map(|(lane, columns)| {
            let (steps, rows) = (&columns.executions.step, &columns.executions.row);
            let at =
                (0..rows.len()).find(|&at| (steps[at], rows[at]) == (label.step, label.row))?;
            let exec = ExecIdx::from_index(at);
            Some(ExecRef { lane, exec })
        })
    }

    /// Returns the name of the function of an execution.
    pub fn function_name(&self, exec: ExecRef) -> &str {
        self.names
            .name(self.lane(exec.lane).executions.func[exec.exec.index()])
    }
}

/// Returns the lane of a thread among those of a rank, the first of which has index `first`.
fn lane_of(lanes: &[Lane], first: usize, thread: ThreadId) -> Option<LaneIdx> {
    let at = lanes.binary_search_by_key(&thread, |lane| lane.thread);
    at.ok().map(|at| LaneIdx::from_index(first + at))
}
