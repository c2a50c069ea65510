//! How a stream that is still being written is opened.

use std::path::{Path, PathBuf};
use std::time::Duration;

use callgrove_adios2_sys::Library;
use callgrove_model::ProgramId;

use crate::adios2::TauSource;
use crate::{TraceError, TraceSource};

/// How the steps of a running program come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiveEngine {
    /// Over the network, by ADIOS2's SST; the reader needs the same release of ADIOS2 as the writer.
    Sst,
    /// Through a BP4 or BP5 folder that the writer adds steps to.
    Bp,
}

/// How a stream that is still being written is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveOptions {
    /// How the steps come.
    pub engine: LiveEngine,
    /// The program of a workflow; TAU's own index, always 0, is replaced by it.
    pub program: ProgramId,
    /// How long to wait for the writer to be there.
    pub connect_timeout: Duration,
    /// After how long without a step the writer is taken for dead; `None` waits for ever. Only silence tells
    /// that the writer of a folder was killed; that of an SST stream is missed at once.
    pub silence_timeout: Option<Duration>,
}

impl LiveOptions {
    /// One minute to connect, and no end to silence.
    pub fn new(engine: LiveEngine) -> Self {
        Self {
            engine,
            program: ProgramId(0),
            connect_timeout: Duration::from_mins(1),
            silence_timeout: None,
        }
    }
}

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
/// Threads may open several streams at the same time. Over SST, the writers are other processes.
///
/// # Errors
/// [`TraceError::NoWriter`] if none is there in time, and any other [`TraceError`] that concerns one stream.
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
