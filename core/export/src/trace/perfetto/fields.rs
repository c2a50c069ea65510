//! Numbers that Perfetto defines, and numbers that a writer chooses.
//!
//! Source: `protos/perfetto/trace` of Perfetto.

/// The sequence of the run.
pub(super) const RUN: u64 = 1;
/// The sequence of the findings.
pub(super) const FINDINGS: u64 = 2;
/// The clock of the sequence of the run. Numbers from 64 on are free.
pub(super) const RUN_CLOCK: u64 = 64;
/// The clock that viewers show.
pub(super) const BOOTTIME: u64 = 6;
/// The clock of times since the epoch.
pub(super) const REALTIME: u64 = 1;
/// Flag of a packet: the earlier state of its sequence is void.
pub(super) const STATE_CLEARED: u64 = 1;
/// Flag of a packet: it needs the earlier state of its sequence.
pub(super) const NEEDS_STATE: u64 = 2;
/// Type of an event: a slice begins.
pub(super) const BEGIN: u64 = 1;
/// Type of an event: the innermost slice ends.
pub(super) const END: u64 = 2;
/// Type of an event: an instant, which has no duration.
pub(super) const INSTANT: u64 = 3;
/// Type of an event: a sample of a counter.
pub(super) const COUNTER: u64 = 4;
/// Field of an event for a flow that begins or continues.
pub(super) const FLOW: u64 = 47;
/// Field of an event for a flow that ends.
pub(super) const FLOW_END: u64 = 48;
/// First number of the tracks of lanes. Those of processes have the numbers of these.
pub(super) const LANES: u64 = 1 << 32;
/// First number of the tracks of counters.
pub(super) const COUNTERS: u64 = 2 << 32;
/// First number of the tracks of findings.
pub(super) const FINDING_TRACKS: u64 = 3 << 32;
/// The track above those of the findings of the whole run.
pub(super) const FINDINGS_ROOT: u64 = 4 << 32;
/// Number of bytes after which packets are passed on.
pub(super) const BYTES_AT_ONCE: usize = 256 << 10;
/// Categories of instants, by number from 1.
pub(super) const CATEGORIES: [&str; 2] = ["tau_mpi", "callgrove"];
/// Number of the category of messages.
pub(super) const MESSAGE_CATEGORY: u64 = 1;
/// Number of the category of instants that only Callgrove reads.
pub(super) const OWN_CATEGORY: u64 = 2;
/// Names of instants, whose numbers follow those of functions.
pub(super) const INSTANTS: [&str; 8] = [
    "MPI_Send",
    "MPI_Recv",
    "collective",
    "launch",
    "tracer write",
    "metadata",
    "size",
    "device wait",
];
/// Number of the name of a message sent, after those of functions.
pub(super) const SEND: u64 = 1;
/// Number of the name of a message received, after those of functions.
pub(super) const RECV: u64 = 2;
/// Number of the name of a collective, after those of functions.
pub(super) const COLLECTIVE: u64 = 3;
/// Number of the name of a launch, or a launched call, after those of functions.
pub(super) const LAUNCH: u64 = 4;
/// Number of the name of a write of the tracer, after those of functions.
pub(super) const WRITE: u64 = 5;
/// Number of the name of metadata, after those of functions.
pub(super) const METADATA: u64 = 6;
/// Number of the name of the size of a call, after those of functions.
pub(super) const SIZE: u64 = 7;
/// Number of the name of a wait for a GPU, after those of functions.
pub(super) const DEVICE_WAIT: u64 = 8;
/// Names of arguments, by number from 1.
pub(super) const ARGUMENTS: [&str; 9] = [
    "dst",
    "src",
    "tag",
    "bytes",
    "communicator",
    "sequence",
    "duration_ns",
    "thread",
    "all_streams",
];
/// Number of the argument for the rank to which a message goes.
pub(super) const DESTINATION: u64 = 1;
/// Number of the argument for the rank from which a message comes.
pub(super) const SOURCE: u64 = 2;
/// Number of the argument for a tag.
pub(super) const TAG: u64 = 3;
/// Number of the argument for a size in bytes.
pub(super) const NUM_BYTES: u64 = 4;
/// Number of the argument for a communicator.
pub(super) const COMMUNICATOR: u64 = 5;
/// Number of the argument for the number of a collective in its communicator.
pub(super) const SEQUENCE: u64 = 6;
/// Number of the argument for a duration in nanoseconds.
pub(super) const DURATION_NS: u64 = 7;
/// Number of the argument for a thread of the rank.
pub(super) const THREAD: u64 = 8;
/// Number of the argument for all streams of the rank.
pub(super) const ALL_STREAMS: u64 = 9;
