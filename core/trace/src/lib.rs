//! Trace sources: one folder per input format, all behind [`TraceSource`].
//!
//! ```text
//! path, folder or pattern ─ find_streams ─ one path per rank ─ open_stream ─ TraceSource ─ StepBatch …
//!                                          └───────────── read_trace (all ranks) ───────────── Trace
//! ```
//!
//! Damage is normal. A rank whose file cannot be read is left out, a truncated stream yields the steps before its end,
//! and an invalid row is skipped. Each is a counted [`callgrove_model::Warning`]. An error is a [`TraceError`] only if
//! nothing remains to be shown.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod adios2;
mod error;
mod find;
mod guard;
#[cfg(unix)]
mod limits;
#[cfg(not(unix))]
#[path = "limits_unsupported.rs"]
mod limits;
mod live;
mod live_options;
mod rank_in_name;
mod read;
mod registry;
mod replay;
mod source;

pub use adios2::{EVENT_TYPES, QueueFull, SstWriter, TauStep, TauWriter, WriterEngine};
pub use error::TraceError;
pub use find::{expected_streams, find_streams};
pub use guard::{StreamGuard, read_through};
pub use live::open_live;
pub use live_options::{LiveEngine, LiveOptions};
pub use rank_in_name::rank_in_name;
pub use read::{ReadOptions, check_ranks, read_trace};
pub use registry::{open_stream, rank_of_stream};
pub use replay::{RelayOptions, RelaySummary, ReplayOptions, ReplaySummary, relay, replay};
pub use source::{Announcement, Next, TraceSource};
