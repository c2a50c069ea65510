//! The process and thread of each rank and lane in a file, and the time range of the run.

use std::collections::BTreeMap;

use callgrove_model::{LaneIdx, Metadata, ProgramId, Property, RankId, ThreadId, TimeNs, Trace};

/// A rank as a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ProcessLayout {
    /// Number of the process in the file, from 1. The numbers of the system are those of several hosts, and not unique.
    pub(super) pid: u64,
    pub(super) name: String,
}

/// A lane as a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LaneLayout {
    pub(super) lane: LaneIdx,
    pub(super) pid: u64,
    /// Number of the thread, unique in the file. The first thread of a process has that of the process, as the main
    /// thread has in Linux.
    pub(super) tid: u64,
    pub(super) program: ProgramId,
    pub(super) rank: RankId,
    pub(super) thread: ThreadId,
    pub(super) name: String,
    /// Keys and values that the lane reported.
    pub(super) metadata: Vec<(String, String)>,
}

/// The processes and threads of a run.
#[derive(Debug)]
pub(super) struct RunLayout {
    pub(super) processes: Vec<ProcessLayout>,
    /// In order of lane.
    pub(super) lanes: Vec<LaneLayout>,
    /// The first time of the run.
    pub(super) start: TimeNs,
    /// Number of a process that no rank has, for items of the whole run.
    pub(super) free_pid: u64,
}

impl RunLayout {
    /// Returns the layout of a run.
    pub(super) fn of(trace: &Trace) -> Self {
        let ranks: Vec<(ProgramId, RankId)> = trace.ranks().into_iter().collect();
        let has_programs = ranks.first().map(|it| it.0) != ranks.last().map(|it| it.0);
        let processes = ranks.iter().zip(1..).map(|(&(program, rank), pid)| {
            let name = if has_programs {
                format!("Program {program}, rank {rank}")
            } else {
                format!("Rank {rank}")
            };
            ProcessLayout { pid, name }
        });
        let processes: Vec<ProcessLayout> = processes.collect();
        let mut free = processes.last().map_or(0, |it| it.pid) + 1;
        let mut metadata = metadata_by_lane(trace);
        let mut lanes: Vec<LaneLayout> = Vec::with_capacity(trace.lanes.len());
        for (index, lane) in trace.lanes() {
            let owner = ranks.binary_search(&(lane.program, lane.rank));
            let pid = owner.ok().and_then(|at| processes.get(at));
            let pid = pid.map_or(0, |it| it.pid);
            let is_first = lanes.last().is_none_or(|before| before.pid != pid);
            let tid = if is_first { pid } else { free };
            free += u64::from(!is_first);
            let metadata = metadata.remove(&index).unwrap_or_default();
            lanes.push(LaneLayout {
                lane: index,
                pid,
                tid,
                program: lane.program,
                rank: lane.rank,
                thread: lane.thread,
                name: thread_name(lane.thread, &metadata),
                metadata,
            });
        }
        Self {
            processes,
            lanes,
            start: first_time(trace),
            free_pid: free,
        }
    }

    /// Returns the process of a lane.
    pub(super) fn process_of(&self, lane: LaneIdx) -> Option<&ProcessLayout> {
        let pid = self.lanes.get(lane.index())?.pid;
        let at = self.processes.binary_search_by_key(&pid, |it| it.pid);
        self.processes.get(at.ok()?)
    }
}

/// Returns the metadata of each lane. Those of threads without events are at the first lane of their rank.
fn metadata_by_lane(trace: &Trace) -> BTreeMap<LaneIdx, Vec<(String, String)>> {
    let mut by_lane: BTreeMap<LaneIdx, Vec<(String, String)>> = BTreeMap::new();
    let key = |program, rank, thread| (program, rank, thread);
    for Metadata {
        program,
        rank,
        thread,
        key: name,
        value,
    } in &trace.metadata
    {
        let of_lane = |at: usize| {
            let lane = trace.lanes.get(at)?;
            let is_of_rank = (lane.program, lane.rank) == (*program, *rank);
            is_of_rank.then(|| LaneIdx::from_index(at))
        };
        let position = |thread: ThreadId| {
            let wanted = key(*program, *rank, thread);
            let lanes = &trace.lanes;
            lanes.binary_search_by_key(&wanted, |it| key(it.program, it.rank, it.thread))
        };
        let lane = match position(*thread) {
            Ok(at) => of_lane(at),
            Err(_) => of_lane(position(ThreadId(0)).unwrap_or_else(|at| at)),
        };
        if let Some(lane) = lane {
            let entry = (name.clone(), value.clone());
            by_lane.entry(lane).or_default().push(entry);
        }
    }
    by_lane
}

/// Returns the name of a thread: its own, that of its stream, or its number.
fn thread_name(thread: ThreadId, metadata: &[(String, String)]) -> String {
    let value = |property: Property| {
        let of_key = metadata.iter().find(|it| it.0 == property.key());
        of_key.map(|it| it.1.trim()).filter(|it| !it.is_empty())
    };
    if let Some(name) = value(Property::ThreadName) {
        return name.to_owned();
    }
    match (value(Property::GpuDevice), value(Property::GpuStream)) {
        (Some(device), Some(stream)) => format!("GPU {device}, stream {stream}"),
        _ => format!("Thread {thread}"),
    }
}

/// Returns the first time of anything in a run.
fn first_time(trace: &Trace) -> TimeNs {
    let of_lanes = trace.lanes.iter().flat_map(|lane| {
        let first = |times: &[TimeNs]| times.first().copied();
        let calls = first(&lane.executions.entry);
        let messages = first(&lane.comms.time);
        [calls, messages, first(&lane.counters.time)]
    });
    let writes = trace.writes.iter().map(|it| it.start);
    let launches = trace.launches.iter().map(|it| it.launched.min(it.time));
    let collectives = trace.collectives.iter().map(|it| it.time);
    let sizes = trace.sizes.iter().map(|it| it.time);
    let waits = trace.device_waits.iter().map(|it| it.time);
    let others = writes.chain(launches).chain(collectives);
    let others = others.chain(sizes).chain(waits);
    of_lanes.flatten().chain(others).min().unwrap_or_default()
}
