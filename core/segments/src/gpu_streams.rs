//! The lanes that are streams of a GPU: as the format states them, or inferred from the calls that wait for a device.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{
    ExecIdx, FuncId, Lane, LaneIdx, Metadata, ProgramId, Property, RankId, ThreadId, Trace,
};

use super::call_kind::CallKind;

/// The call in which TAU counts the time of a thread outside every function of the program.
pub(crate) const IDLE_TIMER: &str = ".TAU application";

/// The lanes that a format states to be streams or queues of a GPU.
pub struct StatedStreams(BTreeSet<(ProgramId, RankId, ThreadId)>);

impl StatedStreams {
    /// Returns the streams that the metadata of a trace state.
    pub fn of(trace: &Trace) -> Self {
        let states =
            |it: &&Metadata| Property::GpuDevice.is_in(it) || Property::GpuStream.is_in(it);
        let stated = trace.metadata.iter().filter(states);
        Self(stated.map(|it| (it.program, it.rank, it.thread)).collect())
    }

    /// Returns the lanes that only mirror waits of the host: nothing happens there.
    pub fn mirrors(trace: &Trace) -> Self {
        let states = |it: &&Metadata| Property::MirrorsWaits.is_in(it);
        let stated = trace.metadata.iter().filter(states);
        Self(stated.map(|it| (it.program, it.rank, it.thread)).collect())
    }

    /// Returns whether a lane is among them.
    pub fn contains(&self, lane: &Lane) -> bool {
        self.0.contains(&(lane.program, lane.rank, lane.thread))
    }

    /// Returns whether a rank has streams.
    pub fn has_rank(&self, program: ProgramId, rank: RankId) -> bool {
        let first = (program, rank, ThreadId(0));
        let next = self.0.range(first..).next();
        next.is_some_and(|it| (it.0, it.1) == (program, rank))
    }
}

/// Returns the lanes that are streams of a GPU, as the metadata of their rank states them. If the metadata of a rank
/// states none, but its first thread waits for a device anywhere, its other lanes that look like streams are assumed to
/// be some: kernels call nothing, and the first thread does not call them.
pub(crate) fn gpu_stream_lanes(trace: &Trace, kinds: &[CallKind]) -> BTreeSet<LaneIdx> {
    let stated = StatedStreams::of(trace);
    let first = trace.lanes.iter().filter(|it| it.thread == ThreadId(0));
    let hosts: BTreeMap<_, BTreeSet<FuncId>> = first
        .filter(|lane| !stated.has_rank(lane.program, lane.rank))
        .map(|lane| ((lane.program, lane.rank), &lane.executions.func))
        .filter(|(_, func)| {
            let mut kinds = func.iter().map(|it| kinds[it.index()]);
            kinds.any(|it| it == CallKind::DeviceSync)
        })
        .map(|(rank, func)| (rank, func.iter().copied().collect()))
        .collect();
    let is_device = |lane: &Lane| {
        let host = hosts.get(&(lane.program, lane.rank));
        let looks_like =
            |of_host| lane.thread != ThreadId(0) && looks_like_stream(trace, lane, of_host);
        stated.contains(lane) || host.is_some_and(looks_like)
    };
    let lanes = trace.lanes().filter(|(_, lane)| is_device(lane));
    lanes.map(|(index, _)| index).collect()
}

/// Returns whether the calls of a lane could be kernels: none calls another, and none is of a function that the first
/// thread calls. The timer of idle threads does not count.
fn looks_like_stream(trace: &Trace, lane: &Lane, of_host: &BTreeSet<FuncId>) -> bool {
    let executions = &lane.executions;
    let is_idle = |it: &ExecIdx| trace.names.name(executions.func[it.index()]) == IDLE_TIMER;
    let mut calls = (0..executions.len()).map(ExecIdx::from_index);
    calls.all(|call| {
        is_idle(&call)
            || !of_host.contains(&executions.func[call.index()])
                && executions.parent(call).is_none_or(|it| is_idle(&it))
    })
}
