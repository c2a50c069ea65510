//! XPlane files (`HOST.xplane.pb`), as the profiler of JAX and TensorFlow writes them for TensorBoard and XProf.
//!
//! ```text
//! file (gzip) ─ MessageStream ─┬─ first pass ── PlaneTable: names, kinds, start of the profile (lines are skipped)
//!                              └─ second pass ─ LineRecorder ─ RankEvents ─ launches joined ─ DecodedRun
//! ```
//!
//! A file is one process, so one rank. It consists of planes: the threads of the host, one plane for each device, and
//! facts. A plane has lines (threads, streams), and a line has events, which refer to the names in the tables of their
//! plane. The tables follow the lines in the file, so the file is read twice; the first pass seeks over the lines. Both
//! passes read it in pieces, and no message but a single event is in memory as a whole.
//!
//! Times are picoseconds from the start of a line, and lines begin nanoseconds after the start of the profile, which the
//! plane `Task Environment` states since the epoch. Begin and end of an event are rounded down to nanoseconds, each by
//! itself, so that events that nest or touch still do.
//!
//! An event with the number of a step (`step_num`) is an iteration, and its thread is the main one. Work on a device is
//! joined with the call that launched it by `correlation_id`, or by `run_id`.
//!
//! Damage is local: an event that is damaged is left out, and a damaged line or plane is left at its end, which is known
//! from its length.
//!
//! Layout: `xplane.proto`, names: `xplane_schema.cc`, both of OpenXLA's `xla/tsl/profiler`.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod decoder;
mod error;
mod event_names;
mod format;
mod launches;
mod line_kind;
mod line_recorder;
mod plane_table;
mod process_recorder;
mod proto;

pub use error::XplaneError;
pub use format::XplaneFormat;
