//! Reads a complete run into memory: its ranks are read in parallel and joined.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_model::{
    Cancelled, ProgramId, Progress, RankBuilder, RankId, RankTrace, StepBatch, TimeNs, Trace,
    WarningKind, Warnings,
};

use crate::rank_in_name::rank_in_name;
use crate::{Next, StreamGuard, TraceError, open_stream};

/// Share of the progress that reading the streams takes. Joining the ranks takes the rest.
const READING_SHARE: f32 = 0.9;

/// The options of reading a trace. The result does not depend on them.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// ADIOS2, loaded when it is needed.
    pub adios2: LibraryOnDemand,
    /// Number of ranks read at the same time.
    pub num_threads: NonZeroUsize,
    /// Reads each stream in another process first. Without a guard, damage can end this process.
    pub guard: Option<StreamGuard>,
}

impl ReadOptions {
    /// Returns the options for this machine: its ADIOS2 and all its cores.
    pub fn of_this_machine() -> Self {
        let num_threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            adios2: LibraryOnDemand::of_this_machine(),
            num_threads,
            guard: None,
        }
    }
}

/// Reads the streams of one run, one per rank, in the form that [`crate::find_streams`] returns.
///
/// A rank that cannot be read is left out with a warning, unless no rank can be read.
///
/// # Errors
/// The error of the first stream if none can be read; [`TraceError::Adios2`] without the library;
/// [`TraceError::DuplicateRank`]; [`TraceError::Cancelled`]; [`TraceError::Io`] if no thread starts.
pub fn read_trace(
    streams: &[PathBuf],
    options: &ReadOptions,
    progress: Progress<'_>,
) -> Result<Trace, TraceError> {
    progress.at(0.0)?;
    let meter = Meter::new(streams.len(), progress.part(0.0, READING_SHARE));
    let read = |index: usize, stream: &PathBuf| {
        if let Some(guard) = &options.guard {
            guard.check(stream, &options.adios2)?;
        }
        let report = |position| meter.at(index, position);
        let mut all = read_rank(stream, None, None, &options.adios2, report)?;
        // A stream that several ranks wrote is read once for each of them.
        for rank in mem::take(&mut all.other_ranks) {
            let report = |_| meter.at(index, 1.0);
            let of_rank = read_rank(stream, Some(rank), None, &options.adios2, report)?;
            all.traces.extend(of_rank.traces);
            all.warnings.join(of_rank.warnings);
        }
        Ok(all)
    };
    let outcomes = read_in_parallel(streams, options.num_threads, read)?;
    let trace = join(streams, outcomes)?;
    progress.at(1.0)?;
    Ok(trace)
}

/// The result of reading one stream.
struct StreamOutcome {
    traces: Vec<RankTrace>,
    /// Further ranks that the stream has rows of.
    other_ranks: Vec<(ProgramId, RankId)>,
    warnings: Warnings,
    num_ranks: Option<u32>,
}

/// Reads one rank of a stream; `None` is the stream's own rank. The stream is read again with the clock of its later
/// steps if the times of its first steps turn out not to belong to the run.
fn read_rank(
    path: &Path,
    rank: Option<(ProgramId, RankId)>,
    clock: Option<TimeNs>,
    adios2: &LibraryOnDemand,
    report: impl Fn(f32) -> Result<(), Cancelled> + Copy,
) -> Result<StreamOutcome, TraceError> {
    let mut source = open_stream(path, ProgramId(0), adios2)?;
    let mut warnings = Warnings::default();
    source.select(rank);
    if let Some(time) = clock {
        source.set_clock(time);
    }
    let mut builder = None;
    // Steps without events that precede the first statement of the rank.
    let mut early = Vec::new();
    loop {
        let cut = match source.next_step(Duration::ZERO) {
            Ok(Next::Step(batch)) => {
                if builder.is_none() && batch.funcs.is_empty() && batch.metadata.is_empty() {
                    early.push(*batch);
                    continue;
                }
                let new = || RankBuilder::new(batch.program, batch.rank);
                let builder = builder.get_or_insert_with(new);
                early.drain(..).for_each(|batch| builder.push(batch));
                builder.push(*batch);
                report(source.position())?;
                continue;
            }
            Ok(Next::End) => None,
            Ok(Next::NotReady) => Some(format!(
                "the writer has not closed the file and may have been killed: {}",
                path.display()
            )),
            // Without any step, the error is the only result.
            Err(error) if builder.is_none() && early.is_empty() => return Err(error),
            Err(error) => Some(error.with_causes()),
        };
        if let Some(reason) = cut {
            warnings.count(WarningKind::StreamTruncated, source.rank(), || reason);
        }
        break;
    }
    if let Some(time) = source.late_clock() {
        return read_rank(path, rank, Some(time), adios2, report);
    }
    let new = |batch: &StepBatch| RankBuilder::new(batch.program, batch.rank);
    let Some(mut builder) = builder.or_else(|| early.first().map(new)) else {
        return Err(TraceError::NoSteps {
            path: path.to_owned(),
        });
    };
    for batch in early {
        builder.push(batch);
    }
    warnings.join(source.take_warnings());
    let trace = builder.finish(source.names().clone(), source.counter_names().clone());
    Ok(StreamOutcome {
        traces: vec![trace],
        other_ranks: source.other_ranks(),
        warnings,
        num_ranks: source.num_ranks(),
    })
}

/// Applies `work` to every item, `num_threads` at a time, and returns the results in the order of the items. Stops
/// early if one is cancelled.
fn read_in_parallel<T: Sync, R: Send>(
    items: &[T],
    num_threads: NonZeroUsize,
    work: impl Fn(usize, &T) -> Result<R, TraceError> + Sync,
) -> Result<Vec<Result<R, TraceError>>, TraceError> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return done;
            };
            let result = work(index, item);
            if matches!(result, Err(TraceError::Cancelled(_))) {
                next.store(items.len(), Ordering::Relaxed);
            }
            done.push((index, result));
        }
    };
    let mut done = thread::scope(|scope| {
        let helpers = (1..num_threads.get().min(items.len()))
            .map(|number| {
                thread::Builder::new()
                    .name(format!("trace-{number}"))
                    .spawn_scoped(scope, worker)
            })
            .collect::<Result<Vec<_>, _>>();
        let mut done = worker();
        // With fewer threads the result is the same, only later.
        for helper in helpers.into_iter().flatten() {
            match helper.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(index, _)| *index);
    if let Some(at) = done
        .iter()
        .position(|(_, result)| matches!(result, Err(TraceError::Cancelled(_))))
    {
        done.swap_remove(at).1?;
    }
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

fn join(
    streams: &[PathBuf],
    outcomes: Vec<Result<StreamOutcome, TraceError>>,
) -> Result<Trace, TraceError> {
    let mut warnings = Warnings::default();
    let (mut traces, mut paths, mut present) = (Vec::new(), Vec::new(), BTreeSet::new());
    let (mut num_ranks, mut failure) = (0, None);
    for (path, outcome) in streams.iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => {
                warnings.join(outcome.warnings);
                num_ranks = num_ranks.max(outcome.num_ranks.unwrap_or(0));
                paths.resize(paths.len() + outcome.traces.len(), path);
                traces.extend(outcome.traces);
            }
            Err(error) => {
                let rank = rank_in_name(path).map(RankId);
                present.extend(rank);
                warnings.count(WarningKind::RankUnreadable, rank, || error.with_causes());
                failure = failure.or(Some(error));
            }
        }
    }
    if let (true, Some(error)) = (traces.is_empty(), failure) {
        return Err(error);
    }
    let ranks = traces.iter().map(|trace| (trace.program, trace.rank));
    check_ranks(ranks.zip(paths.into_iter().map(PathBuf::as_path)))?;
    present.extend(traces.iter().map(|trace| trace.rank));
    count_missing(num_ranks, &present, &mut warnings);
    Ok(Trace::assemble(traces, warnings))
}

/// Checks that no two streams of a run are of the same rank of the same program.
///
/// # Errors
/// [`TraceError::DuplicateRank`] with the first two.
pub fn check_ranks<'a>(
    streams: impl IntoIterator<Item = ((ProgramId, RankId), &'a Path)>,
) -> Result<(), TraceError> {
    let mut by_rank = BTreeMap::new();
    for ((program, rank), second) in streams {
        if let Some(first) = by_rank.insert((program, rank), second) {
            return Err(TraceError::DuplicateRank {
                rank,
                first: first.to_owned(),
                second: second.to_owned(),
            });
        }
    }
    Ok(())
}

fn count_missing(num_ranks: u32, present: &BTreeSet<RankId>, warnings: &mut Warnings) {
    let mut missing = (0..num_ranks)
        .map(RankId)
        .filter(|rank| !present.contains(rank));
    if let Some(first) = missing.next() {
        let count = 1 + missing.count() as u64;
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
