//! The lanes that are streams of a GPU: as the format states them, or inferred from the calls that wait for a device.

use std::collections::BTreeSet;

use callgrove_model::{Lane, LaneIdx, Metadata, ProgramId, Property, RankId, ThreadId, Trace};

use super::call_kind::CallKind;

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
/// states none, but its first thread waits for a device anywhere, all its other threads are assumed to be streams.
pub(crate) fn gpu_stream_lanes(trace: &Trace, kinds: &[CallKind]) -> BTreeSet<LaneIdx> {
    let stated = StatedStreams::of(trace);
    let waits = |lane: &&Lane| {
        let mut funcs = lane.executions.func.iter();
        funcs.any(|func| kinds[func.index()] == CallKind::DeviceSync)
    };
    let first = trace.lanes.iter().filter(|it| it.thread == ThreadId(0));
    let waiting: BTreeSet<_> = first
        .filter(waits)
        .map(|it| (it.program, it.rank))
        .collect();
    let is_device = |lane: &Lane| {
        if stated.has_rank(lane.program, lane.rank) {
            stated.contains(lane)
        } else {
            lane.thread != ThreadId(0) && waiting.contains(&(lane.program, lane.rank))
        }
    };
    let lanes = trace.lanes().filter(|(_, lane)| is_device(lane));
    lanes.map(|(index, _)| index).collect()
}
