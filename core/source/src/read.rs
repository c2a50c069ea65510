//! Reads a complete run into memory: its parts are read in parallel and joined.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use callgrove_model::{
    Cancelled, ProgramId, Progress, RankBuilder, RankId, RankTrace, StepBatch, Trace, WarningKind,
    Warnings,
};

use crate::error::SourceError;
use crate::format::Part;
use crate::joined_parts::JoinedTimes;
use crate::stream::{EventStream, Next, Projection, Ranks};
use crate::workers::Workers;

/// Largest number of parts of which the beginning is checked before a run is read.
const MAX_CHECKED: usize = 256;
/// Share of the progress that reading the parts takes. Joining the ranks takes the rest.
const READING_SHARE: f32 = 0.9;

/// Reads the parts of one run and joins them. The result does not depend on `workers`.
///
/// A part that cannot be read is left out with a warning, unless no part can be read.
///
/// # Errors
/// The error of the first part if none can be read; [`SourceError::DuplicateRank`]; [`SourceError::ClocksApart`];
/// [`SourceError::Cancelled`].
pub fn read_parts(
    parts: &[Box<dyn Part>],
    workers: &dyn Workers,
    progress: Progress<'_>,
) -> Result<Trace, SourceError> {
    progress.at(0.0)?;
    let meter = Meter::new(parts.len(), progress.part(0.0, READING_SHARE));
    let results: Vec<_> = parts.iter().map(|_| Mutex::new(None)).collect();
    workers.run(parts.len(), &|index| {
        // After a cancellation the meter refuses the other parts before they are opened.
        let result = meter
            .at(index, 0.0)
            .map_err(SourceError::from)
            .and_then(|()| read_part(parts[index].as_ref(), |position| meter.at(index, position)));
        *results[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    let results = results
        .into_iter()
        .filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner));
    let trace = join(parts, results)?;
    progress.at(1.0)?;
    Ok(trace)
}

/// The result of reading one part.
#[derive(Default)]
struct PartOutcome {
    traces: Vec<RankTrace>,
    warnings: Warnings,
    num_ranks: Option<u32>,
}

fn read_part(
    part: &dyn Part,
    report: impl Fn(f32) -> Result<(), Cancelled> + Copy,
) -> Result<PartOutcome, SourceError> {
    let mut outcome = PartOutcome {
        warnings: part.notes(),
        ..PartOutcome::default()
    };
    let others = read_ranks(part, Projection::default(), &mut outcome, report)?;
    for (program, rank) in others {
        let projection = Projection {
            ranks: Ranks::One(program, rank),
            ..Projection::default()
        };
        read_ranks(part, projection, &mut outcome, |_| report(1.0))?;
    }
    Ok(outcome)
}

/// Reads one pass of a part, and returns the ranks that it left for others. The part is read again with the clock of
/// its later steps if the times of its first steps turn out not to belong to the run.
fn read_ranks(
    part: &dyn Part,
    projection: Projection,
    outcome: &mut PartOutcome,
    report: impl Fn(f32) -> Result<(), Cancelled>,
) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
    let mut stream = part.open(&projection)?;
    let (mut ranks, mut warnings) = (RankBuilders::default(), Warnings::default());
    loop {
        let cut = match stream.next_step(Duration::ZERO) {
            Ok(Next::Step(batch)) => {
                ranks.push(*batch);
                report(stream.position())?;
                continue;
            }
            Ok(Next::Reading) => {
                report(stream.position())?;
                continue;
            }
            Ok(Next::End) => None,
            Ok(Next::NotReady) => Some(format!(
                "the writer has not closed the file and may have been killed: {}",
                part.path().display()
            )),
            // Without any step, the error is the only result.
            Err(error) if ranks.is_empty() => return Err(error),
            Err(error) => Some(error.with_causes()),
        };
        if let Some(reason) = cut {
            warnings.count(WarningKind::StreamTruncated, stream.rank(), || reason);
        }
        break;
    }
    if let (Some(time), None) = (stream.late_clock(), projection.clock) {
        let projection = Projection {
            clock: Some(time),
            ..projection
        };
        return read_ranks(part, projection, outcome, report);
    }
    if ranks.is_empty() {
        return Err(SourceError::NoSteps {
            path: part.path().to_owned(),
        });
    }
    warnings.join(stream.take_warnings());
    outcome.warnings.join(warnings);
    outcome.traces.extend(ranks.finish(stream.as_ref()));
    outcome.num_ranks = outcome.num_ranks.max(stream.num_ranks());
    Ok(stream.other_ranks())
}

/// The ranks of one stream.
#[derive(Default)]
struct RankBuilders {
    by_rank: BTreeMap<(ProgramId, RankId), RankBuilder>,
    /// The rank of the last step.
    last: Option<(ProgramId, RankId)>,
    /// Steps without events that precede the first with events, which states the rank of its stream.
    early: Vec<StepBatch>,
}

impl RankBuilders {
    fn is_empty(&self) -> bool {
        self.by_rank.is_empty() && self.early.is_empty()
    }

    fn push(&mut self, batch: StepBatch) {
        let has_events =
            !(batch.funcs.is_empty() && batch.comms.is_empty() && batch.counters.is_empty());
        if self.by_rank.is_empty() && !has_events {
            self.early.push(batch);
            return;
        }
        let early = std::mem::take(&mut self.early);
        let builder = self.builder(&batch);
        for batch in early {
            builder.push(batch);
        }
        builder.push(batch);
    }

    fn builder(&mut self, batch: &StepBatch) -> &mut RankBuilder {
        let key = (batch.program, batch.rank);
        let last = self.last.replace(key);
        // Most files have the ranks one after another.
        if !self.by_rank.contains_key(&key)
            && let Some(last) = last.and_then(|it| self.by_rank.get_mut(&it))
        {
            last.shrink_to_fit();
        }
        let builder = self.by_rank.entry(key);
        builder.or_insert_with(|| RankBuilder::new(key.0, key.1))
    }

    fn finish(mut self, stream: &dyn EventStream) -> impl Iterator<Item = RankTrace> {
        for batch in std::mem::take(&mut self.early) {
            self.builder(&batch).push(batch);
        }
        let builders = self.by_rank.into_values();
        builders.map(|rank| rank.finish(stream.names().clone(), stream.counter_names().clone()))
    }
}

fn join(
    parts: &[Box<dyn Part>],
    results: impl Iterator<Item = Result<PartOutcome, SourceError>>,
) -> Result<Trace, SourceError> {
    let mut warnings = Warnings::default();
    let (mut traces, mut paths, mut present) = (Vec::new(), Vec::new(), BTreeSet::new());
    let (mut num_ranks, mut failure) = (0, None);
    let mut times = JoinedTimes::default();
    for (part, result) in parts.iter().zip(results) {
        match result {
            Ok(outcome) => {
                warnings.join(outcome.warnings);
                num_ranks = num_ranks.max(outcome.num_ranks.unwrap_or(0));
                paths.resize(paths.len() + outcome.traces.len(), part.path());
                let first = traces.len();
                traces.extend(outcome.traces);
                times.add(part.as_ref(), &traces[first..]);
            }
            Err(SourceError::Cancelled(cancelled)) => return Err(cancelled.into()),
            Err(error) => {
                let rank = part.named_rank();
                present.extend(rank);
                warnings.count(WarningKind::RankUnreadable, rank, || error.with_causes());
                failure = failure.or(Some(error));
            }
        }
    }
    if let (true, Some(error)) = (traces.is_empty(), failure) {
        return Err(error);
    }
    times.check()?;
    times.count_apart(&mut warnings);
    let ranks = traces.iter().map(|trace| (trace.program, trace.rank));
    check_ranks(ranks.zip(paths))?;
    present.extend(traces.iter().map(|trace| trace.rank));
    count_missing(num_ranks, &present, &mut warnings);
    Ok(Trace::assemble(traces, warnings))
}

/// Checks that no two streams of a run are of the same rank of the same program.
///
/// # Errors
/// [`SourceError::DuplicateRank`] with the first two.
pub fn check_ranks<'a>(
    streams: impl IntoIterator<Item = ((ProgramId, RankId), &'a Path)>,
) -> Result<(), SourceError> {
    let mut by_rank = BTreeMap::new();
    for ((program, rank), second) in streams {
        if let Some(first) = by_rank.insert((program, rank), second) {
            return Err(SourceError::DuplicateRank {
                rank,
                first: first.to_owned(),
                second: second.to_owned(),
            });
        }
    }
    Ok(())
}

/// Checks the beginnings of the first parts of a run: at least one must be readable, and none may be of the same rank.
pub(crate) fn check_parts(parts: &[Box<dyn Part>]) -> Result<(), SourceError> {
    let (mut ranks, mut failure, mut num_failed) = (Vec::new(), None, 0);
    for part in parts.iter().take(MAX_CHECKED) {
        match part.stated_ranks() {
            Ok(stated) => ranks.extend(stated.into_iter().map(|rank| (rank, part.path()))),
            Err(error) => {
                failure = failure.or(Some(error));
                num_failed += 1;
            }
        }
    }
    check_ranks(ranks)?;
    match failure {
        Some(error) if num_failed == parts.len() => Err(error),
        _ => Ok(()),
    }
}

fn count_missing(num_ranks: u32, present: &BTreeSet<RankId>, warnings: &mut Warnings) {
    let mut missing = (0..num_ranks)
        .map(RankId)
        .filter(|rank| !present.contains(rank));
    if let Some(first) = missing.next() {
        let count = u64::try_from(1 + missing.count()).unwrap_or(u64::MAX);
        warnings.count_many(WarningKind::MissingRank, None, count, || {
            format!("rank {first} of {num_ranks}")
        });
    }
}

/// Joins the positions of the streams into one progress, which never decreases.
struct Meter<'a> {
    positions: Mutex<Vec<f32>>,
    progress: Progress<'a>,
}

impl<'a> Meter<'a> {
    fn new(num_streams: usize, progress: Progress<'a>) -> Self {
        Self {
            positions: Mutex::new(vec![0.0; num_streams]),
            progress,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "progress is only shown")]
    fn at(&self, stream: usize, position: f32) -> Result<(), Cancelled> {
        let mut positions = self
            .positions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        positions[stream] = position;
        self.progress
            .at(positions.iter().sum::<f32>() / positions.len() as f32)
    }
}
