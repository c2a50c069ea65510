//! The registry of formats: how a format is recognized, and how a stream of it is opened.

use std::path::Path;
use std::time::Duration;

use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_model::{ProgramId, RankId};

use crate::adios2::TauSource;
use crate::{Next, TraceError, TraceSource, rank_in_name};

/// A format, recognized from a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// A BP4 or BP5 folder of ADIOS2.
    Bp,
}

/// Returns the format of the stream at `path`, if it looks like one. An invalid `.bp` looks like one too, so that it is
/// reported and not skipped silently.
pub(crate) fn sniff(path: &Path) -> Option<Format> {
    let is_bp = path.extension().is_some_and(|extension| extension == "bp");
    (is_bp || path.join("md.idx").is_file()).then_some(Format::Bp)
}

/// Returns the rank of a recorded stream, from its contents or else from its name; `None` if neither states it.
///
/// # Errors
/// Any [`TraceError`] that concerns one stream.
pub fn rank_of_stream(path: &Path, adios2: &LibraryOnDemand) -> Result<Option<RankId>, TraceError> {
    let mut source = open_stream(path, ProgramId(0), adios2)?;
    source.functions_only();
    while let Next::Step(batch) = source.next_step(Duration::ZERO)? {
        if !batch.funcs.is_empty() || !batch.metadata.is_empty() {
            return Ok(Some(batch.rank));
        }
    }
    Ok(rank_in_name(path).map(RankId))
}

/// Opens one rank's stream with the reader of its format. Its rows get the program index `program`, which is 0 in a run
/// of one program.
///
/// # Errors
/// Any [`TraceError`] that concerns one stream.
pub fn open_stream(
    path: &Path,
    program: ProgramId,
    adios2: &LibraryOnDemand,
) -> Result<Box<dyn TraceSource>, TraceError> {
    match sniff(path) {
        Some(Format::Bp) => Ok(Box::new(TauSource::open(path, program, adios2)?)),
        None if !path.exists() => Err(TraceError::NotFound {
            path: path.to_owned(),
        }),
        None => Err(TraceError::UnknownFormat {
            reason: "no format that is known",
            path: path.to_owned(),
        }),
    }
}
