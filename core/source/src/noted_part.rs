//! A part with a note about how it was chosen among others.

use std::path::Path;

use callgrove_model::{ProgramId, RankId, Warnings};

use crate::error::SourceError;
use crate::format::Part;
use crate::stream::{EventStream, Projection};

/// A part, and what is to be reported of its choice.
struct NotedPart {
    part: Box<dyn Part>,
    notes: Warnings,
}

/// Returns a part whose choice is to be reported.
pub(crate) fn with_notes(part: Box<dyn Part>, notes: Warnings) -> Box<dyn Part> {
    Box::new(NotedPart { part, notes })
}

impl Part for NotedPart {
    fn path(&self) -> &Path {
        self.part.path()
    }

    fn joined_program(&self) -> Option<ProgramId> {
        self.part.joined_program()
    }

    fn named_rank(&self) -> Option<RankId> {
        self.part.named_rank()
    }

    fn assume_rank(&mut self, rank: RankId) {
        self.part.assume_rank(rank);
    }

    fn notes(&self) -> Warnings {
        let mut notes = self.part.notes();
        notes.join(self.notes.clone());
        notes
    }

    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        self.part.ranks()
    }

    fn stated_ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        self.part.stated_ranks()
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        self.part.open(projection)
    }
}
