//! A stream of a running job, and the library that reads it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use callgrove_ad::{Stream, WriterGone};
use callgrove_adios2_sys::{Library, LibraryOnDemand};
use callgrove_model::RankId;
use callgrove_source::{EventStream, SourceError};
use callgrove_tau::{LiveEngine, LiveOptions, TauError, open_live};

use crate::error::PipelineError;

/// Longest wait for the first step of a file before it is checked whether the writer is gone.
const OPEN_INTERVAL: Duration = Duration::from_secs(1);

/// Returns a live stream, which its reader opens.
pub(super) fn live_stream(
    path: PathBuf,
    rank: RankId,
    options: LiveOptions,
    library: Library,
    writer_gone: WriterGone,
) -> Stream {
    Stream {
        rank,
        path: path.display().to_string(),
        open: {
            let gone = writer_gone.clone();
            Box::new(move || match options.engine {
                LiveEngine::Sst => open_live(&path, &options, &library),
                LiveEngine::Bp => open_file(&path, &options, &library, &gone),
            })
        },
        reopen: None,
        writer_gone,
    }
}

/// Opens a file once it has a step, unless its writer is gone before.
fn open_file(
    path: &Path,
    options: &LiveOptions,
    library: &Library,
    writer_gone: &WriterGone,
) -> Result<Box<dyn EventStream>, SourceError> {
    let start = Instant::now();
    let attempt = LiveOptions {
        connect_timeout: options.connect_timeout.min(OPEN_INTERVAL),
        ..options.clone()
    };
    loop {
        match open_live(path, &attempt, library) {
            Err(SourceError::NoWriter { .. })
                if start.elapsed() < options.connect_timeout && !writer_gone.is_set() => {}
            opened => return opened,
        }
    }
}

/// Returns ADIOS2 of this machine.
pub(super) fn library() -> Result<Library, PipelineError> {
    let library = LibraryOnDemand::of_this_machine().get();
    let library = library.map_err(TauError::from);
    Ok(library.map_err(SourceError::from)?)
}

/// Returns the error of a stream whose rank neither its contents nor its name states.
pub(super) fn no_rank(path: &Path) -> PipelineError {
    PipelineError::NoRank {
        path: path.to_owned(),
    }
}
