//! Files of `callgrove export` as a format.

use std::path::Path;

use callgrove_model::{Progress, Trace};
use callgrove_source::{Contents, Extent, Format, Input, LoadTrace, SourceError};

use crate::{EXTENSION, FIRST_LINE, TraceFileError, read_trace_file};

/// The format of files of `callgrove export`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PackedFormat;

/// One file.
struct PackedInput(Input);

impl Format for PackedFormat {
    fn name(&self) -> &'static str {
        "a file of callgrove export"
    }

    fn extent(&self) -> Extent {
        Extent::Run
    }

    fn probe(&self, input: &Input) -> bool {
        !input.is_folder()
            && (input.has_extension(EXTENSION)
                || input.first_bytes(FIRST_LINE.len()) == FIRST_LINE.as_bytes())
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        Ok(Contents::Trace(Box::new(PackedInput(input.clone()))))
    }
}

impl LoadTrace for PackedInput {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn load(&self, progress: Progress<'_>) -> Result<Trace, SourceError> {
        let num_bytes = self.0.num_bytes()?;
        let read = read_trace_file(self.0.open()?, num_bytes, progress);
        read.map_err(|error| match error {
            TraceFileError::Cancelled(cancelled) => cancelled.into(),
            error => SourceError::Invalid {
                format: "a trace",
                path: self.path().to_owned(),
                source: Box::new(error),
            },
        })
    }
}
