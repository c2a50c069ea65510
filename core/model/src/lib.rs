//! The vocabulary of Callgrove: the parts of a trace, and the structures built from them.
//!
//! Everything here is pure: no files, sockets, threads, clocks or environment variables. So the same code runs in the
//! desktop program, in a browser and next to a job on a supercomputer.
//!
//! The data flow through this crate:
//!
//! ```text
//! StepBatch ─ RankBuilder (call stacks, kept across steps) ─ RankTrace ─┐
//! StepBatch ─ RankBuilder ─ RankTrace ──────────────────────────────────┴─ Trace ─ Forest ─ CsTree
//! ```
//!
//! A reader fills one [`StepBatch`] per I/O step and rank; a [`RankBuilder`] turns steps into executions;
//! [`Trace::assemble`] joins the ranks by name and matches their messages; a [`Forest`] holds every execution of one
//! function as a [`CsTree`], a view of the trace's own columns. A [`RunIdentity`] identifies the run, and a
//! [`TracerWrite`] is a time range in which a lane stalled because the tracer wrote its own data.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod bytes;
mod call_stack;
mod columns;
mod event;
mod executions;
mod forest;
mod id;
mod label;
mod lane;
mod lane_events;
mod message_matching;
mod metadata;
mod names;
mod open_calls;
mod packed;
pub mod pairs;
mod progress;
mod rank_builder;
mod real;
mod reason;
mod relation;
mod run;
mod time;
mod trace;
mod tracer_write;
mod warning;

pub use bytes::{fnv1a, hex, percent_decoded, percent_encoded};
pub use call_stack::{CallStackBuilder, move_exits};
pub use event::{
    CommEvents, CommKind, CounterEvents, FuncEvent, FuncEventKind, FuncEvents, StepBatch, tag_text,
};
pub use executions::Executions;
pub use forest::{CsTree, Forest, TreeRef};
pub use id::{
    CounterId, ExecIdx, ExecLabel, ExecRef, FuncId, LaneIdx, NonMaxIdx, ProgramId, RankId, StepId,
    ThreadId, TreeCode, TreeIdx,
};
pub use label::Label;
pub use lane::Lane;
pub use lane_events::{CommRef, Comms, Counters};
pub use message_matching::Message;
pub use metadata::{Metadata, Property, hosts_by_rank};
pub use names::{
    FunctionName, FunctionPattern, HostWait, MAX_COUNTER_NAME_BYTES, MAX_NAME_BYTES, Name,
    NameTable, communication_kernel, storable_text,
};
pub use open_calls::{EndedCall, OpenCalls};
pub use packed::{PackedError, PackedLanes, PackedRoots, PackedTree, TraceHead, TreeCalls};
pub use progress::{Cancelled, Progress};
pub use rank_builder::{RankBuilder, RankTrace};
pub use real::{Real, fraction};
pub use reason::{DifferenceKind, Reason};
pub use relation::{
    CallSize, CollectiveEvent, CollectiveMember, DeviceWait, DeviceWaitEvent, Launch, LaunchEvent,
    SizeEvent,
};
pub use run::{RunIdentity, RunMatch, RunMismatch};
pub use time::{Amount, DurationNs, GapLengths, TimeNs, WeightUnit, count_of, thousands};
pub use trace::Trace;
pub use tracer_write::{TracerWrite, UsualDuration, is_tracer_write};
pub use warning::{FirstSeen, Warning, WarningKind, Warnings};
