//! A trace as one file, for programs without TAU's readers, such as a browser.
//!
//! A line with the version, then frames as on the wire, each after its length in eight bytes (little endian):
//! the head of the trace, then each lane.

use std::io::{ErrorKind, Read, Write};

use callgrove_model::{Cancelled, LaneIdx, PackedLanes, Progress, Trace, TraceHead};

use super::WireError;
use super::frame::{FrameKind, read};
use crate::host::HostError;

/// Extension of these files, without the dot.
pub const TRACE_FILE_EXTENSION: &str = "callgrove";
/// Start of the first line.
const FIRST_LINE: &str = "callgrove-trace ";
/// Version that this program writes, and the newest that it reads.
const VERSION: u32 = 1;
/// Largest length of the first line.
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
    /// It is damaged.
    #[error("it is damaged ({0}); copy it again, or export it again")]
    Damaged(#[from] WireError),
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl TraceFileError {
    /// Returns the error as a host reports it for a source that a user named.
    pub fn of_source(self, source: &str) -> HostError {
        match self {
            Self::Cancelled => HostError::Cancelled,
            error => HostError::Failed(format!("cannot use {source} as a trace: {error}")),
        }
    }
}

impl From<Cancelled> for TraceFileError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
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
        out.write_all(&(frame.len() as u64).to_le_bytes())?;
        out.write_all(frame)
    };
    put(&FrameKind::Trace.named(&TraceHead::of(trace))?)?;
    for lane in 0..trace.lanes.len() {
        put(&FrameKind::Lane.raw(&trace.pack_lane(LaneIdx::from_index(lane))))?;
        progress.at((lane + 1) as f32 / trace.lanes.len() as f32)?;
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
    let head: TraceHead = read(&next(FrameKind::Trace)?)?;
    let mut lanes = PackedLanes::new(head).map_err(WireError::from)?;
    while lanes.num_missing() > 0 {
        let lane = next(FrameKind::Lane)?;
        lanes.push(&lane).map_err(WireError::from)?;
        progress.at(1.0 - lanes.num_missing() as f32 / lanes.num_lanes() as f32)?;
    }
    match file.read(&mut [0])? {
        0 => Ok(lanes.finish().map_err(WireError::from)?),
        _ => Err(TraceFileError::Long),
    }
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
fn next_frame(
    file: &mut impl Read,
    num_bytes: u64,
    wanted: FrameKind,
) -> Result<Vec<u8>, TraceFileError> {
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
    if frame.len() as u64 != length {
        return Err(TraceFileError::Cut);
    }
    let (kind, content) = FrameKind::open(&frame)?;
    if kind != wanted {
        return Err(WireError::Order.into());
    }
    let head = frame.len() - content.len();
    frame.drain(..head);
    Ok(frame)
}
