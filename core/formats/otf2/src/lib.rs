//! OTF2 archives (Score-P, TAU, EZTrace, APEX, lo2s), read without the OTF2 library, so also in a browser.
//!
//! ```text
//! NAME.otf2 (anchor) ─ sizes of chunks
//! NAME.def ─ definitions ─ processes (ranks, threads), partners ─┐
//! NAME/LOCATION.def ─ local ids, clock offsets ──────────────────┼─ one part for each process ─ steps of 65,536 events
//! NAME/LOCATION.evt ─ chunks ─ records ──────────────────────────┘
//! ```
//!
//! The reader supports calls, messages, collectives, metrics, flushes of the tracer's buffers, hosts and command lines.
//! Calls by calling context are those of the context's region. It ignores requests, one-sided communication, tasks,
//! samples and parameters.
//!
//! A rank is the position of a location among those of MPI, or without MPI the order of the processes. Partners in
//! communicators become ranks of the run, and the number of the communicator is in the upper half of the tag. Times
//! are corrected by the clock offsets that the tracer measured.
//!
//! Layouts as in OTF2 3.0.2 and 3.2 (files in `src` and `include/otf2` of its source); version and kinds that are not
//! known are skipped by their length.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod anchor;
mod archive;
mod bytes;
mod chunk;
mod definitions;
mod error;
mod events;
mod format;
mod local_definitions;
mod location;
mod metadata;
mod process_state;
mod processes;
mod stream;

pub use error::Otf2Error;
pub use format::Otf2Format;
