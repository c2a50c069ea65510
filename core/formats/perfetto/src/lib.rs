//! Perfetto's traces (`.pftrace`, `.perfetto-trace`, `.proto`) as TAU, rocprofv3, rocprofiler-systems and the Perfetto
//! SDK write them, read without generated code, so also in a browser.
//!
//! ```text
//! file (gzip) ─ PacketReader ─ TracePacket ─ Sequence (names, defaults, clocks) ─ TrackEvent ─ TraceRecorder (tracks)
//!                    └ packed packets                                                          │ at the end
//!                                              OrderingStream ─ ranks and lanes ─ clocks joined ┘
//! ```
//!
//! A trace is a sequence of packets. The reader uses track events: slices as calls, counters, flows between ranks as
//! messages, flows to tracks of a GPU as launches, and the messages, user events and metadata that TAU states. It
//! ignores other packets (scheduling, memory, logs), annotations, categories, states, thread times and call stacks.
//!
//! Each sequence of packets has its own names, defaults and clocks, to which its packets refer. If the tracer drops
//! packets, these are lost, and further packets are counted and left out until the sequence begins again.
//!
//! Layouts: `protos/perfetto/trace` of Perfetto; conventions: the sources that `tracks/lanes.rs` and
//! `sequence/conventions.rs` name.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod assembly;
mod clocks;
mod decoder;
mod error;
mod format;
mod own;
mod proto;
mod recorder;
mod sequence;
mod text;
mod tracks;

pub use error::PerfettoError;
pub use format::PerfettoFormat;
