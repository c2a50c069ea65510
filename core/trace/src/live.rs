//! Opens a stream that is still being written.

use std::path::{Path, PathBuf};

use callgrove_adios2_sys::Library;

use crate::adios2::TauSource;
use crate::{LiveOptions, TraceError, TraceSource};

/// Opens one rank's stream while it is being written; waits for the writer no longer than the options say.
///
/// The name is that of the stream, as TAU gives it (`tau-metrics-lmp-0.bp`); that of the file by which SST's
/// readers find the writer (`tau-metrics-lmp-0.bp.sst`) will do too. What the source does then:
///
/// * a step that is not there yet is [`crate::Next::NotReady`];
/// * steps that the writer dropped, or that it wrote before this reader was there, are
///   [`callgrove_model::WarningKind::StepMissing`], and batches have the writer's numbers; after such a step
///   asking for the next one waits for it however long that takes, because ADIOS2 does;
/// * a writer that is gone without having closed the stream is
///   [`callgrove_model::WarningKind::StreamTruncated`] and [`crate::Next::End`].
///
/// Threads may open several streams at the same time. Over SST, the writers are other processes, which let in a reader
/// that comes late with their next step, and do not end before it has read what they wrote since. So each stream is read
/// as soon as it is open, whatever the others do.
///
/// # Errors
/// [`TraceError::NoWriter`] if none is there in time, [`TraceError::WriterEnded`], and any other [`TraceError`] that
/// concerns one stream.
pub fn open_live(
    name: &Path,
    options: &LiveOptions,
    adios2: &Library,
) -> Result<Box<dyn TraceSource>, TraceError> {
    let path = stream_of_contact(name);
    Ok(Box::new(TauSource::open_live(&path, options, adios2)?))
}

/// The stream's name, if a contact file of SST was named instead.
fn stream_of_contact(name: &Path) -> PathBuf {
    if name.extension().is_some_and(|extension| extension == "sst") {
        return name.with_extension("");
    }
    name.to_owned()
}
