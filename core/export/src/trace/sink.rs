//! The interface of a format of traces: the items that it writes.

use std::io;

use callgrove_model::{CommKind, CounterId, FuncId, RankId, ThreadId, TimeNs};

use super::finding::TraceFinding;
use super::layout::{LaneLayout, ProcessLayout};

/// An item on a lane at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LaneItem {
    /// A call begins. A flow of this number, from the call that launched it, ends here.
    Begin { func: FuncId, launch: Option<u64> },
    /// The innermost call ends.
    End,
    /// A message, and the number of the flow to its other side if that is known.
    Message {
        kind: CommKind,
        partner: RankId,
        tag: u64,
        num_bytes: u64,
        flow: Option<u64>,
    },
    /// A sample of a counter.
    Counter { counter: CounterId, value: u64 },
    /// The call takes part in a collective.
    Collective { communicator: u64, sequence: u64 },
    /// The call launches another, to which a flow of this number leads.
    Launch { flow: u64 },
    /// A launched call begins, which is not among the calls of the lane.
    Launched { flow: u64 },
    /// The call moves a number of bytes.
    Size { num_bytes: u64 },
    /// The call waits for the work of a stream of its rank, or of all its streams.
    DeviceWait { stream: Option<ThreadId> },
    /// The tracer writes its own data until a time.
    TracerWrite { end: TimeNs },
}

/// A track of findings.
#[derive(Clone, Copy, Debug)]
pub(super) struct FindingTrack<'a> {
    /// Number of the track among those of findings.
    pub(super) number: u64,
    /// The process that it belongs to, or none for the whole run.
    pub(super) process: Option<&'a ProcessLayout>,
    pub(super) title: &'static str,
}

/// The flows of a finding.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct FindingFlows<'a> {
    /// Numbers of the flows that begin with it.
    pub(super) begin: &'a [u64],
    /// Number of the flow that ends with it.
    pub(super) end: Option<u64>,
}

/// A format of traces. Lanes and tracks are passed one after another: items and findings belong to the last one.
pub(super) trait TraceSink {
    /// Begins the file.
    fn start(&mut self) -> io::Result<()>;

    /// Describes a process.
    fn process(&mut self, process: &ProcessLayout) -> io::Result<()>;

    /// Begins a lane.
    fn lane(&mut self, lane: &LaneLayout) -> io::Result<()>;

    /// Writes an item of the lane.
    fn item(&mut self, time: TimeNs, item: LaneItem) -> io::Result<()>;

    /// Begins a track of findings.
    fn finding_track(&mut self, track: FindingTrack<'_>) -> io::Result<()>;

    /// Writes a finding. Those of a track do not overlap, and are in order of time.
    fn finding(&mut self, finding: &TraceFinding, flows: FindingFlows<'_>) -> io::Result<()>;

    /// Ends the file.
    fn finish(&mut self) -> io::Result<()>;
}
