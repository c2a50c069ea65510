//! A file with a [`FileDecoder`] as a part of a run.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use callgrove_model::{ProgramId, RankId};

use super::stream::{DecodedRun, FileDecoder, OrderingStream};
use crate::error::SourceError;
use crate::format::{Contents, Part};
use crate::input::Input;
use crate::stream::{EventStream, Projection, Ranks};

/// Opens the decoder of a file, which has the given rank if it states none.
pub type OpenDecoder = fn(&Input, RankId) -> Result<Box<dyn FileDecoder>, SourceError>;

/// A file whose events are not in order of time.
struct DecodedPart {
    input: Input,
    assumed: RankId,
    open: OpenDecoder,
    /// The contents that were read to find the ranks, until streams take them.
    read_ahead: Mutex<Option<ReadAhead>>,
}

/// A part of a file that was read before a stream was opened.
enum ReadAhead {
    /// The file up to the position at which its only rank is stated.
    Beginning(Box<dyn FileDecoder>),
    /// The complete file, without the ranks that streams have taken.
    Complete(DecodedRun),
}

/// Returns the contents of a file whose events are not in order of time: one part.
pub fn decoded_file(input: &Input, open: OpenDecoder) -> Contents {
    Contents::Events(vec![Box::new(DecodedPart {
        input: input.clone(),
        assumed: RankId(0),
        open,
        read_ahead: Mutex::default(),
    })])
}

impl DecodedPart {
    fn decoder(&self) -> Result<Box<dyn FileDecoder>, SourceError> {
        (self.open)(&self.input, self.assumed)
    }

    fn put(&self, read: ReadAhead) {
        let read_ahead = self.read_ahead.lock();
        *read_ahead.unwrap_or_else(PoisonError::into_inner) = Some(read);
    }

    /// Returns the contents that were read for the ranks of a stream. Another stream of the same ranks reads the file
    /// again.
    fn take(&self, projection: &Projection) -> Option<OrderingStream> {
        let read_ahead = self.read_ahead.lock();
        let mut read_ahead = read_ahead.unwrap_or_else(PoisonError::into_inner);
        let mut complete = match read_ahead.take()? {
            ReadAhead::Beginning(decoder) => return Some(OrderingStream::new(decoder, projection)),
            ReadAhead::Complete(run) => run,
        };
        let Ranks::One(_, rank) = projection.ranks else {
            return Some(OrderingStream::of_run(complete, projection));
        };
        let taken = complete.take_rank(rank);
        if !complete.ranks.is_empty() {
            *read_ahead = Some(ReadAhead::Complete(complete));
        }
        Some(OrderingStream::of_run(taken?, projection))
    }
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
        self.read_ahead = Mutex::default();
    }

    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        let mut decoder = self.decoder()?;
        while decoder.read_on()? {
            if let Some(rank) = decoder.only_rank() {
                self.put(ReadAhead::Beginning(decoder));
                return Ok(vec![(ProgramId(0), rank)]);
            }
        }
        let run = decoder.finish();
        let ranks = run.ranks.keys().map(|rank| (ProgramId(0), *rank)).collect();
        self.put(ReadAhead::Complete(run));
        Ok(ranks)
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        if let Some(stream) = self.take(projection) {
            return Ok(Box::new(stream));
        }
        Ok(Box::new(OrderingStream::new(self.decoder()?, projection)))
    }
}
