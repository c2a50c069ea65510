//! Decodes a file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callgrove_model::{RankId, WarningKind, fraction};
use callgrove_source::{DecodedRun, FileDecoder, Input, SourceError};

use crate::assembly::assemble;
use crate::document::ChromeDocument;
use crate::error::ChromeError;
use crate::events::FileFacts;
use crate::json::TextWindow;
use crate::recorder::EventRecorder;
use crate::text_reader::TextReader;

/// Number of bytes of text that are read at once: a few hundredths of a second.
const PIECE_BYTES: u64 = 4 << 20;

/// A file that is being decoded.
pub(crate) struct ChromeDecoder {
    document: ChromeDocument,
    facts: FileFacts,
    recorder: EventRecorder,
    input: Input,
    assumed_rank: RankId,
    num_bytes: u64,
    num_read: Arc<AtomicU64>,
}

impl ChromeDecoder {
    /// Opens a file, which has a rank if it does not state one.
    ///
    /// # Errors
    /// [`SourceError::Io`].
    pub(crate) fn open(input: &Input, assumed_rank: RankId) -> Result<Self, SourceError> {
        let TextReader { text, num_read } = TextReader::open(input)?;
        Ok(Self {
            document: ChromeDocument::new(TextWindow::new(text)),
            facts: FileFacts::default(),
            recorder: EventRecorder::new(input.path().display().to_string()),
            input: input.clone(),
            assumed_rank,
            num_bytes: input.num_bytes()?,
            num_read,
        })
    }

    /// Counts what was lost, or returns an error if that is everything.
    fn end(&mut self) -> Result<(), SourceError> {
        let document = &self.document;
        let at = document.num_passed();
        let file = self.input.path().display().to_string();
        let cut = match document.fault() {
            Some(error) => Some(format!("after {at} bytes of text: {error}")),
            None if document.is_cut => Some(format!("the text ends at its byte {at}")),
            None => None,
        };
        let rows = &self.recorder.rows.list;
        let has_calls =
            !self.recorder.async_points.is_empty() || rows.iter().any(|row| !row.calls.is_empty());
        if !has_calls {
            let error = match (document.first_damage, cut) {
                (Some(at), _) => ChromeError::Damaged(at),
                (None, Some(cut)) => ChromeError::Cut(cut),
                (None, None) => ChromeError::NoCalls(self.recorder.num_events),
            };
            return Err(SourceError::Invalid {
                format: "a Chrome trace",
                path: self.input.path().to_owned(),
                source: Box::new(error),
            });
        }
        let warnings = &mut self.recorder.warnings;
        if let Some(cut) = cut {
            warnings.count(WarningKind::StreamTruncated, None, || {
                format!("{cut}: {file}")
            });
        }
        let num = document.num_damaged;
        let first = document.first_damage.unwrap_or_default();
        warnings.count_many(WarningKind::BadRow, None, num, || {
            format!("byte {first} of the text: {file}")
        });
        Ok(())
    }
}

impl FileDecoder for ChromeDecoder {
    fn read_on(&mut self) -> Result<bool, SourceError> {
        let goes_on = self
            .document
            .read_on(PIECE_BYTES, &mut self.facts, &mut self.recorder);
        if !goes_on {
            self.end()?;
        }
        Ok(goes_on)
    }

    fn only_rank(&self) -> Option<RankId> {
        self.facts.rank.map(RankId)
    }

    fn position(&self) -> f32 {
        let num_read = self.num_read.load(Ordering::Relaxed);
        fraction(num_read, self.num_bytes.max(1)).min(1.0)
    }

    fn finish(self: Box<Self>) -> DecodedRun {
        let file = self.input.path().display().to_string();
        assemble(self.recorder, self.facts, self.assumed_rank, &file)
    }
}
