//! Parts as one run: those of different formats are programs of one workflow, and the times of all must overlap.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use callgrove_model::{ExecIdx, ProgramId, RankId, RankTrace, TimeNs, WarningKind, Warnings};

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

    fn notes(&self) -> Warnings {
        self.part.notes()
    }

    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        let ranks = self.part.ranks()?.into_iter();
        Ok(ranks.map(|(_, rank)| (self.program, rank)).collect())
    }

    fn stated_ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        let ranks = self.part.stated_ranks()?.into_iter();
        Ok(ranks.map(|(_, rank)| (self.program, rank)).collect())
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        self.part.open(&Projection {
            program: self.program,
            ..*projection
        })
    }
}

/// The times of a run: of the parts of each format, which must overlap, and of each rank.
#[derive(Default)]
pub(crate) struct JoinedTimes {
    of_format: BTreeMap<Option<ProgramId>, (PathBuf, Range<TimeNs>)>,
    /// By program: those of a workflow may run one after another.
    of_rank: BTreeMap<ProgramId, Vec<(Range<TimeNs>, RankId)>>,
}

impl JoinedTimes {
    /// Adds the times of a part.
    pub(crate) fn add(&mut self, part: &dyn Part, traces: &[RankTrace]) {
        for (rank, time) in traces.iter().filter_map(|it| Some((it, span(it)?))) {
            let of_program = self.of_rank.entry(rank.program).or_default();
            of_program.push((time.clone(), rank.rank));
            let known = self.of_format.entry(part.joined_program());
            let (_, known) = known.or_insert_with(|| (part.path().to_owned(), time.clone()));
            *known = known.start.min(time.start)..known.end.max(time.end);
        }
    }

    /// Counts the ranks that do not overlap in time with most others.
    pub(crate) fn count_apart(&self, warnings: &mut Warnings) {
        let apart = self
            .of_rank
            .values()
            .flat_map(|it| groups(it).into_iter().skip(1));
        for rank in apart.flatten() {
            warnings.count(WarningKind::TimesApart, Some(rank), String::new);
        }
    }

    /// Checks that all formats have a time in common with the first.
    ///
    /// # Errors
    /// [`SourceError::ClocksApart`].
    pub(crate) fn check(&self) -> Result<(), SourceError> {
        let mut formats = self.of_format.values();
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

/// Returns the ranks that overlap in time with each other, the largest group of them first.
fn groups(times: &[(Range<TimeNs>, RankId)]) -> Vec<Vec<RankId>> {
    let mut order: Vec<_> = times.iter().collect();
    order.sort_by_key(|(time, rank)| (time.start, *rank));
    let mut groups: Vec<Vec<RankId>> = Vec::new();
    let mut end = TimeNs(i64::MIN);
    for (time, rank) in order {
        match groups.last_mut() {
            Some(group) if time.start <= end => group.push(*rank),
            _ => groups.push(vec![*rank]),
        }
        end = end.max(time.end);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_other_times_are_apart_from_most() {
        let times = [(0, 10), (1_000, 1_010), (5, 20), (15, 30)];
        let times = times.map(|(start, end)| TimeNs(start)..TimeNs(end));
        let times: Vec<_> = times.into_iter().zip((0..).map(RankId)).collect();
        let expected = [vec![RankId(0), RankId(2), RankId(3)], vec![RankId(1)]];
        assert_eq!(groups(&times), expected);
    }
}
