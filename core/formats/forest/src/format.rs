//! Forest files as a format.

use std::path::Path;
use std::sync::Arc;

use callgrove_model::{Progress, Trace};
use callgrove_source::{Contents, Extent, Format, Input, LoadTrace, SourceError};

use crate::error::ForestFileError;
use crate::reader::{FORMATS, ForestFileLimits, read_forest};

/// Number of bytes at the start of a file in which its header names the format.
const PROBE_BYTES: usize = 4096;

/// The format of forest files.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForestFormat;

/// One forest file.
struct ForestInput(Input);

impl Format for ForestFormat {
    fn name(&self) -> &'static str {
        "forest (trees as JSON lines)"
    }

    fn extent(&self) -> Extent {
        Extent::Run
    }

    fn probe(&self, input: &Input) -> bool {
        if input.is_folder() {
            return false;
        }
        let named = || {
            let start = input.first_bytes(PROBE_BYTES);
            let start = String::from_utf8_lossy(&start);
            FORMATS.iter().any(|name| start.contains(name))
        };
        input.has_extension("jsonl") || is_compressed(input) || named()
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        Ok(Contents::Trace(Box::new(ForestInput(input.clone()))))
    }
}

/// Returns whether the name is that of a compressed forest file.
fn is_compressed(input: &Input) -> bool {
    let stem = input.path().file_stem().map(Path::new);
    let extension = stem.and_then(Path::extension);
    input.has_extension("gz") && extension.is_some_and(|it| it.eq_ignore_ascii_case("jsonl"))
}

impl LoadTrace for ForestInput {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn load(&self, progress: Progress<'_>) -> Result<Trace, SourceError> {
        let invalid = |error| SourceError::Invalid {
            format: "a forest file",
            path: self.path().to_owned(),
            source: Box::new(error),
        };
        if is_compressed(&self.0) {
            return Err(invalid(ForestFileError::Compressed));
        }
        let num_bytes = self.0.num_bytes()?;
        let limits = ForestFileLimits::default();
        let forest = match read_forest(self.0.open()?, num_bytes, limits, progress) {
            Ok(read) => read.forest,
            Err(ForestFileError::Cancelled(cancelled)) => return Err(cancelled.into()),
            Err(error) => return Err(invalid(error)),
        };
        let trace = Arc::clone(forest.trace());
        drop(forest);
        Ok(Arc::unwrap_or_clone(trace))
    }
}
