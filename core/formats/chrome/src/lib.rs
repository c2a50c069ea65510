//! Chrome Trace Event JSON as PyTorch (Kineto), JAX, VizTracer, Perfetto's exports and others write it.
//!
//! ```text
//! .json, .json.gz, .json.zst ─ TextWindow ─ ChromeDocument ─┬─ keys ─ FileFacts ────────────────┐
//!                                                     └─ events ─ EventRecorder ─ ChromeRows, flows ─┴─ Assembly ─ DecodedRun
//! ```
//!
//! The text is read in pieces and never becomes a document in memory. Times are decimal text in microseconds and become
//! nanoseconds without passing through floating point; `baseTimeNanoseconds` is added wherever it is in the file.
//!
//! The reader supports complete calls (X), beginnings and ends (B, E), asynchronous calls (b, e; S, F) on lanes of
//! their category, counters (C), flows of both versions (s, t, f; `bind_id`), and names of processes and threads (M).
//! Instants, snapshots of objects, samples and memory dumps are ignored. Events may lack commas between them, as
//! DFTracer's do, and the array that holds them may lack its end.
//!
//! Damage is local: after a damaged event the reader continues with the next one. Of a cut or corrupt file, the
//! contents before the damage are read, and the file is counted as truncated.
//!
//! # Kineto
//!
//! A file is one rank: that of `distributedInfo`, else the one that its name or place among the files gives it.
//! Processes with calls on threads are that rank's, and work on GPUs is on lanes by device and stream. Ranges on GPUs,
//! which overlap the work, are on tracks of their own. `ProfilerStep#12` is a call of `ProfilerStep`, and its thread is
//! the main one. Work is joined with the call that launched it by `correlation`, or by the flow `ac2g` where no work
//! states one. The module `collectives` describes how collectives get the same numbers on all ranks.
//!
//! # Other programs
//!
//! Each process with calls is a rank: by the word `rank` in its name, else by its number if all are small, else by the
//! order of their numbers. A flow from one rank to another is a message. A file of JAX is one rank, whose devices are
//! processes in the file.
//!
//! Sources: Kineto's `output_json.cpp` and `ActivityType.cpp`, Perfetto's importer of JSON, and files that these
//! programs wrote.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod assembly;
mod decoder;
mod document;
mod error;
mod events;
mod format;
mod json;
mod recorder;
mod text_reader;

pub use error::ChromeError;
pub use format::ChromeFormat;
