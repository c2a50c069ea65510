//! The lanes that are streams of a GPU.

use std::collections::BTreeSet;

use callgrove_model::{Lane, Metadata, ProgramId, Property, RankId, ThreadId, Trace};

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

    /// Returns whether a lane is a stream.
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
