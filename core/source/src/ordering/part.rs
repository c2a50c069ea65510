//! A file with a [`FileDecoder`] as a part of a run.

use std::path::Path;

use callgrove_model::{ProgramId, RankId};

use super::stream::{FileDecoder, OrderingStream};
use crate::error::SourceError;
use crate::format::{Contents, Part};
use crate::input::Input;
use crate::stream::{EventStream, Projection};

/// Opens the decoder of a file, which has the given rank if it states none.
pub type OpenDecoder = fn(&Input, RankId) -> Result<Box<dyn FileDecoder>, SourceError>;

/// A file whose events are not in order of time.
struct DecodedPart {
    input: Input,
    assumed: RankId,
    open: OpenDecoder,
}

/// Returns the contents of a file whose events are not in order of time: one part.
pub fn decoded_file(input: &Input, open: OpenDecoder) -> Contents {
    Contents::Events(vec![Box::new(DecodedPart {
        input: input.clone(),
        assumed: RankId(0),
        open,
    })])
}

impl Part for DecodedPart {
    fn path(&self) -> &Path {
        self.input.path()
    }

    /// Returns the rank that was assumed: numbers in the names of such files are often those of processes.
    fn named_rank(&self) -> Option<RankId> {
        Some(self.assumed)
    }

    fn assume_rank(&mut self, rank: RankId) {
        self.assumed = rank;
    }

    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        let mut decoder = (self.open)(&self.input, self.assumed)?;
        while decoder.read_on()? {
            if let Some(rank) = decoder.only_rank() {
                return Ok(vec![(ProgramId(0), rank)]);
            }
        }
        let ranks = decoder.finish().ranks.into_keys();
        Ok(ranks.map(|rank| (ProgramId(0), rank)).collect())
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        let decoder = (self.open)(&self.input, self.assumed)?;
        Ok(Box::new(OrderingStream::new(decoder, projection)))
    }
}
