//! A run and its findings, as a trace that other programs open: Perfetto's packets and Chrome's JSON.
//!
//! ```text
//! Trace ────────┬─ RunLayout (processes, threads, times) ─┐
//!               └─ items of each lane, by time ───────────┼─ TraceSink ─┬─ PerfettoSink ─ packets
//! TraceFindings ── tracks of slices that do not overlap ──┘             └─ ChromeSink ─── JSON
//! ```
//!
//! A rank is a process, a lane is a thread of it, a call is a slice. Messages and launches are flows, counters are
//! counters. Findings are on separate tracks. Lanes are written one by one, so memory does not grow with the run.
//!
//! Facts that a viewer does not need are written too, so that reading a file gives the same run: numbers of threads,
//! full names of functions, tags, collectives, time ranges in which the tracer wrote, metadata. The readers recognize
//! such a file by marks, and skip the tracks of findings. Not written are the steps of the tracer, which number events
//! in labels. Programs of a workflow are written as processes, but the formats have no word for them.

mod chrome;
mod error;
mod finding;
mod items;
mod layout;
mod perfetto;
mod sink;
mod walk;

pub use chrome::write_chrome;
pub use error::TraceExportError;
pub use finding::{FindingValue, FoundIncident, TraceFinding, TraceFindings};
pub use perfetto::write_perfetto;
