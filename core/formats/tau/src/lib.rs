//! TAU's traces over ADIOS2: a BP4 or BP5 folder, or a live stream, for each rank.
//!
//! ```text
//! BP folder ─ TauFormat ─ TauPart ─┐
//! live stream ──────── open_live ──┴─ EventStream ─ StepBatch …
//! BP folders ─ replay ─ live streams ─ relay ─ BP folders
//! ```
//!
//! Damage is normal. A truncated stream yields the steps before its end, and an invalid row is skipped. Each is a
//! counted [`callgrove_model::Warning`]. An error is a [`TauError`] only if nothing remains to be shown.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod adios2;
mod error;
mod expected_streams;
mod format;
mod guard;
#[cfg(unix)]
mod limits;
#[cfg(not(unix))]
#[path = "limits_unsupported.rs"]
mod limits;
mod live;
mod live_options;
mod replay;

pub use adios2::{EVENT_TYPES, QueueFull, SstWriter, TauStep, TauWriter, WriterEngine};
pub use error::TauError;
pub use expected_streams::{expected_streams, is_named_by};
pub use format::{TauFormat, TauPart};
pub use guard::{StreamGuard, read_through};
pub use live::open_live;
pub use live_options::{LiveEngine, LiveOptions};
pub use replay::{
    PublisherProgram, RelayOptions, RelayState, RelaySummary, ReplayOptions, ReplaySummary,
    publish, relay, replay,
};
