//! The iterations of a program: its time step loop, the time range of each pass on each rank, and the load imbalance.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use callgrove_model::{
    Cancelled, DurationNs, ExecIdx, Executions, FuncId, FunctionName, LaneIdx, Progress, TimeNs,
    Trace,
};

use super::calls::next_sibling;
use super::pattern::PatternId;
use super::patterns::Patterns;
use super::symbols::index;
use super::time_loop::{LoopPlace, siblings, without_runs};

/// The passes of the time step loop on one lane, in order of time.
#[derive(Clone, Debug, Default)]
pub struct LanePasses {
    /// The execution that began each pass.
    pub firsts: Vec<ExecIdx>,
    /// Start of each pass.
    pub starts: Vec<TimeNs>,
    /// End of each pass: the start of the next one, or where the loop was left.
    pub ends: Vec<TimeNs>,
    /// Time of each pass outside MPI.
    pub busy: Vec<DurationNs>,
}

/// The load imbalance of one iteration over all ranks.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Imbalance {
    /// Index of the iteration, from 0.
    pub iteration: usize,
    /// Longest duration on a lane.
    pub duration: DurationNs,
    /// Mean time outside MPI.
    pub mean_busy: DurationNs,
    /// Longest time outside MPI.
    pub most_busy: DurationNs,
    /// The lane that was busy longest.
    pub slowest: LaneIdx,
}

impl Imbalance {
    /// Returns how much longer than the mean the slowest lane was busy, as a share of the mean: 0 is balanced. Zero
    /// if no lane was busy.
    pub fn share(&self) -> f64 {
        let mean = self.mean_busy.as_secs_f64();
        if mean > 0.0 {
            self.most_busy.as_secs_f64() / mean - 1.0
        } else {
            0.0
        }
    }
}

/// The program's time step loop.
#[derive(Clone, Debug)]
pub struct Iterations {
    /// The callers around the loop, outermost first; the loop is in the last one. Empty if nothing is open around it.
    pub callers: Vec<FuncId>,
    /// The function whose call begins a pass.
    pub first: FuncId,
    /// The pattern that begins most passes, if there is one.
    pub pattern: Option<PatternId>,
    lanes: Vec<LanePasses>,
    /// For each lane, the lane whose passes apply to it: itself, or another thread of its rank.
    passes_lane: Vec<LaneIdx>,
}

impl Iterations {
    /// Finds the passes of the time step loop on which the patterns of this trace are based; `None` if most ranks
    /// have none.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(
        trace: &Trace,
        patterns: &Patterns,
        progress: Progress<'_>,
    ) -> Result<Option<Self>, Cancelled> {
        progress.at(0.0)?;
        let Some(place) = patterns.time_loop().cloned() else {
            progress.at(1.0)?;
            return Ok(None);
        };
        let names = trace.names.iter();
        let is_mpi: Vec<bool> = names
            .map(|(_, name)| FunctionName::parse(name).is_mpi())
            .collect();
        let lanes: Vec<LanePasses> = trace
            .lanes
            .iter()
            .map(|lane| passes_of(&lane.executions, &place, &is_mpi))
            .collect();
        progress.at(0.9)?;
        let pattern = beginning_pattern(patterns, &lanes);
        progress.at(1.0)?;
        Ok(Some(Self {
            passes_lane: passes_lane(trace, &lanes),
            callers: place.callers,
            first: place.first,
            pattern,
            lanes,
        }))
    }

    /// Returns the number of iterations: the largest number of passes on a lane.
    pub fn len(&self) -> usize {
        let lengths = self.lanes.iter().map(|lane| lane.starts.len());
        lengths.max().unwrap_or(0)
    }

    /// Returns whether there are no iterations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a display name of the loop: the function that it is in, and the one that begins a pass.
    pub fn name(&self, trace: &Trace) -> String {
        let short = |func| FunctionName::parse(trace.names.name(func)).short;
        match self.callers.last() {
            Some(&caller) => format!("{} → {}", short(caller), short(self.first)),
            None => short(self.first).to_owned(),
        }
    }

    /// Returns the passes on a lane; empty if it does not run the loop itself.
    pub fn on_lane(&self, lane: LaneIdx) -> &LanePasses {
        static NONE: LanePasses = LanePasses {
            firsts: Vec::new(),
            starts: Vec::new(),
            ends: Vec::new(),
            busy: Vec::new(),
        };
        self.lanes.get(lane.index()).unwrap_or(&NONE)
    }

    /// Returns the iteration of a lane at a time, from 0; `None` outside the loop. A thread that does not run the
    /// loop itself is in the iteration of its rank.
    pub fn iteration_at(&self, lane: LaneIdx, time: TimeNs) -> Option<usize> {
        let passes = self.on_lane(*self.passes_lane.get(lane.index())?);
        let last = passes.starts.partition_point(|&start| start <= time);
        let iteration = last.checked_sub(1)?;
        (time <= *passes.ends.get(iteration)?).then_some(iteration)
    }

    /// Returns the time range in which an iteration runs on any lane.
    pub fn span(&self, iteration: usize) -> Option<(TimeNs, TimeNs)> {
        let of = |column: fn(&LanePasses) -> &Vec<TimeNs>| {
            let times = self.lanes.iter();
            times.filter_map(move |lane| column(lane).get(iteration).copied())
        };
        Some((of(|lane| &lane.starts).min()?, of(|lane| &lane.ends).max()?))
    }

    /// Returns the load imbalance of an iteration over the lanes that ran it.
    pub fn imbalance(&self, iteration: usize) -> Option<Imbalance> {
        let mut passes = 0_i64;
        let (mut sum, mut most, mut duration) = (0_i64, None, DurationNs::ZERO);
        for (place, lane) in self.lanes.iter().enumerate() {
            let Some(&busy) = lane.busy.get(iteration) else {
                continue;
            };
            passes += 1;
            sum = sum.saturating_add(busy.0);
            duration = duration.max(lane.ends[iteration].since(lane.starts[iteration]));
            if most.is_none_or(|(longest, _)| busy > longest) {
                most = Some((busy, LaneIdx::from_index(place)));
            }
        }
        let (most_busy, slowest) = most?;
        Some(Imbalance {
            iteration,
            duration,
            mean_busy: DurationNs(sum / passes),
            most_busy,
            slowest,
        })
    }

    /// Returns the imbalances of all iterations, in order.
    pub fn imbalances(&self) -> Vec<Imbalance> {
        (0..self.len())
            .filter_map(|iteration| self.imbalance(iteration))
            .collect()
    }
}

/// Returns for each lane itself if it has passes, else the first lane of its rank that has.
fn passes_lane(trace: &Trace, lanes: &[LanePasses]) -> Vec<LaneIdx> {
    let mut of_rank = BTreeMap::new();
    for ((at, lane), passes) in trace.lanes().zip(lanes) {
        if !passes.starts.is_empty() {
            of_rank.entry((lane.program, lane.rank)).or_insert(at);
        }
    }
    let held = trace.lanes().zip(lanes).map(|((at, lane), passes)| {
        let other = of_rank.get(&(lane.program, lane.rank));
        match other {
            Some(&other) if passes.starts.is_empty() => other,
            _ => at,
        }
    });
    held.collect()
}

/// Returns the passes of a loop on a lane.
fn passes_of(executions: &Executions, place: &LoopPlace, is_mpi: &[bool]) -> LanePasses {
    let mut passes = LanePasses::default();
    if place.callers.is_empty() {
        let calls = siblings(executions, 0, executions.len());
        add_passes(executions, place.first, &calls, &mut passes);
    }
    for caller in callers(executions, &place.callers) {
        let end = executions.subtree_end[index(caller)].index();
        let calls = siblings(executions, index(caller) + 1, end.min(executions.len()));
        add_passes(executions, place.first, &calls, &mut passes);
    }
    passes.busy = busy(executions, &passes, is_mpi);
    passes
}

/// Returns the executions at the end of a path of callers, in order of time.
fn callers(executions: &Executions, path: &[FuncId]) -> Vec<u32> {
    let mut rows: Vec<u32> = Vec::new();
    for (depth, &func) in path.iter().enumerate() {
        let inside: Vec<u32> = if depth == 0 {
            siblings(executions, 0, executions.len())
        } else {
            let ends = rows.iter().map(|&row| {
                let end = executions.subtree_end[index(row)].index();
                (index(row) + 1, end.min(executions.len()))
            });
            ends.flat_map(|(from, end)| siblings(executions, from, end))
                .collect()
        };
        let is_next = |row: &u32| executions.func[index(*row)] == func;
        rows = inside.into_iter().filter(is_next).collect();
    }
    rows
}

/// Adds the passes of one execution of the caller.
fn add_passes(executions: &Executions, first: FuncId, calls: &[u32], passes: &mut LanePasses) {
    let func = |row: u32| executions.func[index(row)];
    let begins: Vec<u32> = without_runs(executions, calls)
        .into_iter()
        .filter(|&row| func(row) == first)
        .collect();
    let (Some(&begin), Some(&last)) = (begins.first(), begins.last()) else {
        return;
    };
    // The last pass ends before the first call of a function that no earlier pass called.
    let from = calls.partition_point(|&row| row < begin);
    let to = calls.partition_point(|&row| row < last);
    let usual: BTreeSet<FuncId> = calls[from..to].iter().map(|&row| func(row)).collect();
    let own = calls[to..].iter().copied();
    let own = own.take_while(|&row| usual.is_empty() || usual.contains(&func(row)));
    let end = executions.exit(ExecIdx(own.last().unwrap_or(last)));
    for (place, &row) in begins.iter().enumerate() {
        let next = begins.get(place + 1);
        passes.firsts.push(ExecIdx(row));
        passes.starts.push(executions.entry[index(row)]);
        passes
            .ends
            .push(next.map_or(end, |&next| executions.entry[index(next)]));
    }
}

/// Returns the time of each pass outside MPI.
fn busy(executions: &Executions, passes: &LanePasses, is_mpi: &[bool]) -> Vec<DurationNs> {
    let bounds = passes.starts.iter().zip(&passes.ends);
    let mut busy: Vec<DurationNs> = bounds.map(|(&start, &end)| end.since(start)).collect();
    let mut pass = 0;
    let mut row = passes.firsts.first().map_or(usize::MAX, |row| row.index());
    while row < executions.len() && pass < busy.len() {
        let entry = executions.entry[row];
        if entry >= passes.ends[pass] {
            pass += 1;
            continue;
        }
        let func = executions.func[row].index();
        if !is_mpi.get(func).copied().unwrap_or(false) {
            row += 1;
            continue;
        }
        if entry >= passes.starts[pass] {
            let exit = executions.exit(ExecIdx::from_index(row));
            let waited = exit.min(passes.ends[pass]).since(entry);
            busy[pass] = DurationNs(busy[pass].0 - waited.0);
        }
        row = next_sibling(executions, row);
    }
    busy
}

/// Returns the pattern that takes the most time among those that begin at the start of a pass.
fn beginning_pattern(patterns: &Patterns, lanes: &[LanePasses]) -> Option<PatternId> {
    let mut best = None;
    for pattern in patterns.all() {
        let mut covered_ns = 0_i64;
        for occurrence in &pattern.occurrences {
            let passes = lanes.get(occurrence.lane.index())?;
            if let Ok(place) = passes.firsts.binary_search(&occurrence.first)
                && occurrence.end() <= passes.ends[place]
            {
                covered_ns = covered_ns.saturating_add(occurrence.duration.0);
            }
        }
        if covered_ns > best.map_or(0, |(most, _)| most) {
            best = Some((covered_ns, pattern.id));
        }
    }
    best.map(|(_, id)| id)
}
