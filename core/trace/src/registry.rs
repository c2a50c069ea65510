//! The formats that there is a reader for: one line each to tell a format and to open a stream of it.

use std::path::Path;

use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_model::ProgramId;

use crate::adios2::TauSource;
use crate::{TraceError, TraceSource};

/// A format, told by the look of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// A folder that ADIOS2 wrote with BP4 or BP5.
    Bp,
}

/// The format of the stream at `path`, if it looks like one. A `.bp` that is none looks like one too,
/// so that it is not passed over in silence.
pub(crate) fn sniff(path: &Path) -> Option<Format> {
    let is_bp = path.extension().is_some_and(|extension| extension == "bp");
    (is_bp || path.join("md.idx").is_file()).then_some(Format::Bp)
}

/// Opens one rank's stream with the reader of its format. Its rows get the index `program`, which is 0 in a
/// run of one program.
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
