//! The interface of trace formats, and reading a run of any format.
//!
//! ```text
//! path, folder or pattern ─ Registry ─ inputs, each with its Format ─ Contents ─┬─ Parts ─ EventStream ─ StepBatch …
//!                           (probes contents)                                   │  (ranks, or groups of them)  │ call stacks
//!                                                                               └─ complete call stacks ───── Trace
//! ```
//!
//! This crate reads no files and starts no threads: [`FileSystem`] and [`Workers`] are passed in. So the same formats
//! serve the command line, the window, the servers and a page.
//!
//! Damage is normal. A part that cannot be read is left out, a truncated stream yields what precedes its end, and an
//! invalid event is skipped. Each is a counted [`callgrove_model::Warning`]. An error is a [`SourceError`] only if
//! nothing remains to be shown.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod call_lines;
mod error;
mod format;
mod input;
mod joined_parts;
mod member;
mod memory_files;
mod names;
mod noted_part;
mod ordering;
pub mod protobuf;
mod rank_in_name;
mod read;
mod registry;
mod run_folders;
mod run_search;
mod stream;
mod unpacked_file;
mod workers;

pub use call_lines::call_lines;
pub use error::{SourceError, with_causes};
pub use format::{Contents, Extent, Format, LoadTrace, Part};
pub use input::{FileReader, FileSystem, Input};
pub use memory_files::MemoryFiles;
pub use names::RecordedName;
pub use ordering::{
    DecodedRun, EventPieces, FileDecoder, LaneIdentity, LaneNumber, ListedCalls, OpenAsyncs,
    OpenDecoder, OrderingStream, RankEvents, RowCounts, decoded_file,
};
pub use rank_in_name::{rank_in_name, rank_in_text};
pub use read::{check_ranks, read_parts};
pub use registry::{PATH_SEPARATOR, RecordedRun, Registry};
pub use stream::{Announcement, EventStream, Next, Projection, Ranks};
pub use unpacked_file::{UnpackedFile, first_unpacked_bytes};
pub use workers::{OneByOne, Workers};
