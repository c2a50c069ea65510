//! A run as one file of complete call stacks, which `callgrove export` writes and a page can read.
//!
//! ```text
//! callgrove-trace 1        a line with the version
//! length · frame           the head of the trace: everything but its lanes
//! length · frame …         each lane
//! ```
//!
//! A length has eight bytes, little endian. [`frame`] describes frames.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod format;
pub mod frame;

use std::io::{ErrorKind, Read, Write};

use callgrove_model::{
    Cancelled, LaneIdx, PackedError, PackedLanes, Progress, Trace, TraceHead, fraction,
};
use frame::FrameDamaged;

pub use format::PackedFormat;

/// Extension of these files, without the dot.
pub const EXTENSION: &str = "callgrove";
/// Kind of the frame with the head.
const HEAD: u8 = 2;
/// Kind of a frame with a lane.
const LANE: u8 = 3;
/// Start of the first line.
const FIRST_LINE: &str = "callgrove-trace ";
/// Version that this program writes, and the newest that it reads.
const VERSION: u32 = 1;
/// Maximum length of the first line.
const MAX_LINE_BYTES: usize = 40;

/// An error in a trace file.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// Its first line is different.
    #[error("it is not a file of `callgrove export`")]
    NoTrace,
    /// It was written by a later release.
    #[error("it was written by a newer Callgrove (version {0}, this one reads up to {VERSION})")]
    Newer(u32),
    /// The file is too short.
    #[error("it is cut short; copy it again")]
    Cut,
    /// The file is too long.
    #[error("it has extra data at its end; export it again")]
    Long,
    /// A checksum is wrong.
    #[error("it is damaged (a checksum is wrong); copy it again, or export it again")]
    Damaged(#[from] FrameDamaged),
    /// A frame has another kind than its place requires.
    #[error("it is damaged (its parts are out of order); copy it again, or export it again")]
    Order,
    /// The head is not valid.
    #[error("it is damaged ({0}); copy it again, or export it again")]
    Head(#[from] rmp_serde::decode::Error),
    /// The head cannot be encoded.
    #[error("it cannot be written ({0})")]
    Write(#[from] rmp_serde::encode::Error),
    /// A lane is not valid.
    #[error("it is damaged ({0}); copy it again, or export it again")]
    Lane(#[from] PackedError),
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Writes a trace.
///
/// # Errors
/// The file cannot be written, or the caller cancelled.
pub fn write_trace_file(
    trace: &Trace,
    out: &mut impl Write,
    progress: Progress<'_>,
) -> Result<(), TraceFileError> {
    writeln!(out, "{FIRST_LINE}{VERSION}")?;
    let mut put = |frame: &[u8]| -> std::io::Result<()> {
        out.write_all(&length(frame).to_le_bytes())?;
        out.write_all(frame)
    };
    put(&frame::of(
        HEAD,
        &rmp_serde::to_vec_named(&TraceHead::of(trace))?,
    ))?;
    for lane in 0..trace.lanes.len() {
        put(&frame::of(
            LANE,
            &trace.pack_lane(LaneIdx::from_index(lane)),
        ))?;
        progress.at(fraction(lane + 1, trace.lanes.len()))?;
    }
    Ok(out.flush()?)
}

/// Reads a trace from a file of `num_bytes` bytes.
///
/// # Errors
/// The file is not a valid trace, or the caller cancelled.
pub fn read_trace_file(
    mut file: impl Read,
    num_bytes: u64,
    progress: Progress<'_>,
) -> Result<Trace, TraceFileError> {
    check_first_line(&mut file)?;
    let mut next = |wanted| next_frame(&mut file, num_bytes, wanted);
    let head: TraceHead = rmp_serde::from_slice(&next(HEAD)?)?;
    let mut lanes = PackedLanes::new(head)?;
    while lanes.num_missing() > 0 {
        lanes.push(&next(LANE)?)?;
        let num_read = lanes.num_lanes() - lanes.num_missing();
        progress.at(fraction(num_read, lanes.num_lanes()))?;
    }
    match file.read(&mut [0])? {
        0 => Ok(lanes.finish()?),
        _ => Err(TraceFileError::Long),
    }
}

fn length(frame: &[u8]) -> u64 {
    u64::try_from(frame.len()).unwrap_or(u64::MAX)
}

fn check_first_line(file: &mut impl Read) -> Result<(), TraceFileError> {
    let mut line = Vec::new();
    while line.len() < MAX_LINE_BYTES {
        let mut byte = [0];
        if file.read(&mut byte)? == 0 || byte == *b"\n" {
            break;
        }
        line.extend(byte);
    }
    let line = String::from_utf8(line).unwrap_or_default();
    let version = line.strip_prefix(FIRST_LINE);
    match version.and_then(|version| version.parse().ok()) {
        None | Some(0) => Err(TraceFileError::NoTrace),
        Some(version) if version > VERSION => Err(TraceFileError::Newer(version)),
        Some(_) => Ok(()),
    }
}

/// Returns the content of the next frame, which must be of the wanted kind.
fn next_frame(file: &mut impl Read, num_bytes: u64, wanted: u8) -> Result<Vec<u8>, TraceFileError> {
    let mut length = [0; 8];
    let mut frame = Vec::new();
    file.read_exact(&mut length)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => TraceFileError::Cut,
            _ => TraceFileError::Io(error),
        })?;
    let length = u64::from_le_bytes(length);
    if length > num_bytes {
        return Err(TraceFileError::Cut);
    }
    file.by_ref().take(length).read_to_end(&mut frame)?;
    if self::length(&frame) != length {
        return Err(TraceFileError::Cut);
    }
    let (kind, content) = frame::open(&frame)?;
    if kind != wanted {
        return Err(TraceFileError::Order);
    }
    let head = frame.len() - content.len();
    frame.drain(..head);
    Ok(frame)
}
