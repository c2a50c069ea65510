//! Facts about lanes.

use callgrove_model::ThreadId;

use crate::clocks::ClockStamp;

/// A fact about a lane at a time.
#[derive(Clone, Debug)]
pub(crate) struct OwnFact {
    pub(crate) track: usize,
    pub(crate) at: ClockStamp,
    pub(crate) kind: OwnFactKind,
}

/// The kind of a fact.
#[derive(Clone, Debug)]
pub(crate) enum OwnFactKind {
    /// A call takes part in a collective: communicator and sequence.
    Collective(u64, u64),
    /// A call moves a number of bytes.
    Size(u64),
    /// A call waits for the stream on a thread, or for all streams.
    DeviceWait(Option<ThreadId>),
    /// The tracer wrote its data for a number of nanoseconds.
    TracerWrite(i64),
    /// A key and a value that the lane reported.
    Metadata(String, String),
}
