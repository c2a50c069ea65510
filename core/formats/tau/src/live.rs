//! Opens a stream that is still being written.

use std::path::{Path, PathBuf};

use callgrove_adios2_sys::Library;
use callgrove_source::{EventStream, SourceError};

use crate::adios2::TauSource;
use crate::live_options::LiveOptions;

/// Opens one rank's stream while it is being written. Waits for the writer no longer than the options allow.
///
/// The name is that of the stream, as TAU gives it (`tau-metrics-lmp-0.bp`), or that of the contact file by which
/// readers of SST find the writer (`tau-metrics-lmp-0.bp.sst`). The source handles these cases:
///
/// * A step that has not arrived yet is [`callgrove_source::Next::NotReady`].
/// * A step that the writer dropped, or wrote before this reader connected, is
///   [`callgrove_model::WarningKind::StepMissing`]. Batches have the writer's step numbers. After such a step the
///   request for the next one waits for it without limit, because ADIOS2 does.
/// * A writer that ended without closing the stream is [`callgrove_model::WarningKind::StreamTruncated`] and
///   [`callgrove_source::Next::End`].
///
/// Threads may open several streams at the same time. Over SST, the writers are other processes. A writer admits a late
/// reader with its next step, and does not end before that reader has read the steps since. So each stream is read as
/// soon as it is open, independent of the others.
///
/// # Errors
/// [`SourceError::NoWriter`] if no writer appears in time, [`SourceError::WriterEnded`], and any other [`SourceError`]
/// that concerns one stream.
pub fn open_live(
    name: &Path,
    options: &LiveOptions,
    adios2: &Library,
) -> Result<Box<dyn EventStream>, SourceError> {
    let path = stream_of_contact(name);
    Ok(Box::new(TauSource::open_live(&path, options, adios2)?))
}

/// Returns the stream's name, also if the contact file of SST was given.
fn stream_of_contact(name: &Path) -> PathBuf {
    if name.extension().is_some_and(|extension| extension == "sst") {
        return name.with_extension("");
    }
    name.to_owned()
}
