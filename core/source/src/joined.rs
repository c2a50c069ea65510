//! Parts of different formats as programs of one workflow.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use callgrove_model::{ExecIdx, ProgramId, RankId, RankTrace, TimeNs};

use crate::error::SourceError;
use crate::format::Part;
use crate::stream::{EventStream, Projection};

/// A part that is a program of its own.
struct JoinedPart {
    part: Box<dyn Part>,
    program: ProgramId,
}

/// Returns a part as the program with this number; the first program needs none.
pub(crate) fn in_program(part: Box<dyn Part>, number: usize) -> Box<dyn Part> {
    match u32::try_from(number) {
        Ok(number) if number > 0 => Box::new(JoinedPart {
            part,
            program: ProgramId(number),
        }),
        _ => part,
    }
}

impl Part for JoinedPart {
    fn path(&self) -> &Path {
        self.part.path()
    }

    fn joined_program(&self) -> Option<ProgramId> {
        Some(self.program)
    }

    fn named_rank(&self) -> Option<RankId> {
        self.part.named_rank()
    }

    fn assume_rank(&mut self, rank: RankId) {
        self.part.assume_rank(rank);
    }

    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        let ranks = self.part.ranks()?.into_iter();
        Ok(ranks.map(|(_, rank)| (self.program, rank)).collect())
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        self.part.open(&Projection {
            program: self.program,
            ..*projection
        })
    }
}

/// The times of the parts of each format, which must overlap if they are of one run.
#[derive(Default)]
pub(crate) struct JoinedTimes(BTreeMap<Option<ProgramId>, (PathBuf, Range<TimeNs>)>);

impl JoinedTimes {
    /// Adds what was read of a part.
    pub(crate) fn add(&mut self, part: &dyn Part, traces: &[RankTrace]) {
        for time in traces.iter().filter_map(span) {
            let known = self.0.entry(part.joined_program());
            let (_, known) = known.or_insert_with(|| (part.path().to_owned(), time.clone()));
            *known = known.start.min(time.start)..known.end.max(time.end);
        }
    }

    /// Checks that all formats have a time in common with the first.
    ///
    /// # Errors
    /// [`SourceError::ClocksApart`].
    pub(crate) fn check(&self) -> Result<(), SourceError> {
        let mut formats = self.0.values();
        let Some((first, time)) = formats.next() else {
            return Ok(());
        };
        match formats.find(|(_, other)| other.end < time.start || time.end < other.start) {
            None => Ok(()),
            Some((second, _)) => Err(SourceError::ClocksApart {
                first: first.clone(),
                second: second.clone(),
            }),
        }
    }
}

/// Returns the time from the first entry to the last exit of a rank.
fn span(rank: &RankTrace) -> Option<Range<TimeNs>> {
    let lanes = rank.threads.iter().map(|(_, executions, ..)| executions);
    let first = lanes.clone().filter_map(|it| it.entry.first()).min()?;
    let ends = lanes.flat_map(|it| {
        let outermost = (0..it.len()).filter(|&row| it.depth[row] == 0);
        outermost.map(|row| it.exit(ExecIdx::from_index(row)))
    });
    Some(*first..ends.max()?)
}
