//! The search for the time step loop.
//!
//! A loop is identified by the function whose calls begin its passes, and by the calls around it. For each caller
//! that takes at least 5 % of a lane's time, and each function that it calls repeatedly, the search asks:
//!
//! - Are the passes alike? Passes are alike if they call the same functions in the same order. Most passes must be,
//!   and they must have most of the calls and 40 % of the time. (A function that is called twice in a pass cuts it
//!   into halves that differ. A function of a short inner loop leaves most of a pass between its last call and the
//!   next one.)
//! - How much of the run do they cover, if no pass counts as longer than ten times the median? (The lines of an input
//!   script are a loop too, but one of them takes all the time. A pass that waits for others can last several times
//!   as long as one that does not.)
//!
//! Of the callers whose loops cover at least half as much as the best one, the outermost has the time step loop.
//! Where several of its functions begin passes, the finest loop is chosen, and the number of passes is the one that
//! most functions share; the first of these functions begins a pass. All of it is linear in the executions, except
//! sorting the passes.

use std::collections::BTreeMap;

use callgrove_model::{DurationNs, ExecIdx, Executions, FuncId, Lane, Trace};
use callgrove_segments::StatedStreams;

use super::calls::next_sibling;
use super::content::mix;
use super::symbols::{index, number};

/// Minimum share of a lane's time that an examined caller takes.
const MIN_CALLER_SHARE: f64 = 0.05;

/// Minimum time that a loop of the outermost caller covers, as a share of the time of the best loop.
const MIN_OUTERMOST_SHARE: f64 = 0.5;

/// Minimum time that a finer loop covers, as a share of the time of the best loop of the same caller.
const MIN_FINER_SHARE: f64 = 0.2;

/// Minimum share of the passes, and of the calls in them, that are alike.
const MIN_ALIKE_SHARE: f64 = 0.6;

/// Minimum share of the time of passes that are alike. It is less than [`MIN_ALIKE_SHARE`], since a pass that does
/// more than the others also makes them wait.
const MIN_ALIKE_TIME_SHARE: f64 = 0.4;

/// Minimum number of passes on each lane with which passes that differ are a loop, and with which adjacent calls of one
/// function are passes.
const MANY_PASSES: u32 = 8;

/// Minimum number of functions that agree on the number of passes if the passes differ.
const MIN_AGREEING_FUNCTIONS: usize = 3;

/// Maximum duration that a pass counts as, in medians of the passes.
const MAX_MEDIANS: i64 = 10;

/// Minimum number of passes on a lane.
const MIN_PASSES: u32 = 3;

/// Minimum ratio of two numbers of passes that belong to one loop. They differ if a function of the loop is also
/// called before the loop, or not in every pass.
const MIN_SAME_LOOP_RATIO: f64 = 0.9;

/// A loop, identified by the callers around it (outermost first; empty if nothing is open around it) and the function
/// that begins a pass.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct LoopPlace {
    pub(super) callers: Vec<FuncId>,
    pub(super) first: FuncId,
}

/// A number of passes, and the calls and time in them.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    passes: u32,
    calls: u32,
    time_s: f64,
}

/// The evidence of all lanes for a loop.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    num_lanes: u32,
    num_passes: u32,
    /// Passes that are followed by another one.
    compared: Amount,
    /// Those of `compared` that have the most frequent shape.
    alike: Amount,
    covered_s: f64,
    /// Number of calls before the first pass, summed over the lanes.
    position: u64,
}

/// Finds the time step loop of a trace with `num_ranks` ranks: that of the first threads, which begin the program and
/// drive the others; if they have none, that of any threads.
pub(super) fn find_loop(trace: &Trace, num_ranks: usize) -> Option<LoopPlace> {
    let streams = StatedStreams::of(trace);
    // The loop is in the thread that launches the work of a GPU stream, not in the stream.
    let threads: Vec<&Lane> = (trace.lanes.iter())
        .filter(|lane| !streams.contains(lane))
        .collect();
    let rank = |lane: &Lane| (lane.program, lane.rank);
    let by_rank = threads.chunk_by(|left, right| rank(left) == rank(right));
    let firsts = by_rank.map(|of_rank| of_rank[0]);
    loop_of(firsts, num_ranks).or_else(|| loop_of(threads.iter().copied(), num_ranks))
}

fn loop_of<'a>(lanes: impl Iterator<Item = &'a Lane>, num_ranks: usize) -> Option<LoopPlace> {
    let mut evidence: BTreeMap<LoopPlace, Evidence> = BTreeMap::new();
    for lane in lanes {
        examine_callers(&lane.executions, &mut evidence);
    }
    evidence.retain(|_, it| 2 * index(it.num_lanes) > num_ranks);
    let mut alike = evidence.clone();
    alike.retain(|_, it| it.is_alike());
    if alike.is_empty() {
        alike = agreeing(&evidence);
    }
    let chosen = choose(&alike)?;
    // The first function of a pass need not cut it into the most similar parts.
    let num_passes = evidence.get(&chosen)?.num_passes;
    let (place, _) = evidence
        .into_iter()
        .filter(|(place, it)| place.callers == chosen.callers && it.num_passes == num_passes)
        .min_by_key(|(_, it)| it.position)?;
    Some(place)
}

/// Returns the loops whose passes differ, but on whose number of passes several functions agree.
fn agreeing(evidence: &BTreeMap<LoopPlace, Evidence>) -> BTreeMap<LoopPlace, Evidence> {
    let mut votes: BTreeMap<(&[FuncId], u32), usize> = BTreeMap::new();
    for (place, it) in evidence {
        *votes.entry((&place.callers, it.num_passes)).or_default() += 1;
    }
    let agree = |(place, it): &(&LoopPlace, &Evidence)| {
        let key = (place.callers.as_slice(), it.num_passes);
        votes
            .get(&key)
            .is_some_and(|&votes| votes >= MIN_AGREEING_FUNCTIONS)
            && it.num_passes / it.num_lanes.max(1) >= MANY_PASSES
    };
    let agreeing = evidence.iter().filter(agree);
    agreeing.map(|(place, it)| (place.clone(), *it)).collect()
}

/// Returns the outermost loop, and a function that is called once in each of its passes.
fn choose(evidence: &BTreeMap<LoopPlace, Evidence>) -> Option<LoopPlace> {
    let max_covered_s =
        |all: &mut dyn Iterator<Item = &Evidence>| all.map(|it| it.covered_s).fold(0.0, f64::max);
    let best_s = max_covered_s(&mut evidence.values());
    let enough = evidence
        .iter()
        .filter(|(_, it)| it.covered_s >= MIN_OUTERMOST_SHARE * best_s);
    let (outermost, _) = enough.min_by(|left, right| {
        let by_depth = left.0.callers.len().cmp(&right.0.callers.len());
        by_depth.then_with(|| right.1.covered_s.total_cmp(&left.1.covered_s))
    })?;
    let of_caller = || {
        let all = evidence.iter();
        all.filter(|(place, _)| place.callers == outermost.callers)
    };
    let best_s = max_covered_s(&mut of_caller().map(|(_, it)| it));
    let within: Vec<(&LoopPlace, &Evidence)> = of_caller()
        .filter(|(_, it)| it.covered_s >= MIN_FINER_SHARE * best_s)
        .collect();
    let most = within.iter().map(|it| it.1.num_passes).max()?;
    let mut votes: BTreeMap<u32, u32> = BTreeMap::new();
    for (_, it) in &within {
        if f64::from(it.num_passes) >= MIN_SAME_LOOP_RATIO * f64::from(most) {
            *votes.entry(it.num_passes).or_default() += 1;
        }
    }
    // With equal votes, the smaller number of passes wins: a function that is called once more was called before the
    // loop.
    let (&num_passes, _) = votes
        .iter()
        .max_by(|left, right| left.1.cmp(right.1).then_with(|| right.0.cmp(left.0)))?;
    let (place, _) = within
        .into_iter()
        .filter(|(_, it)| it.num_passes == num_passes)
        .min_by_key(|(_, it)| it.position)?;
    Some(place.clone())
}

impl Evidence {
    fn is_alike(&self) -> bool {
        let enough = |alike: u32, of: u32| f64::from(alike) >= MIN_ALIKE_SHARE * f64::from(of);
        enough(self.alike.passes, self.compared.passes)
            && enough(self.alike.calls, self.compared.calls)
            && self.alike.time_s >= MIN_ALIKE_TIME_SHARE * self.compared.time_s
    }
}

/// Examines all callers of a lane, from the outermost on.
fn examine_callers(executions: &Executions, evidence: &mut BTreeMap<LoopPlace, Evidence>) {
    let outermost = siblings(executions, 0, executions.len());
    let total_s = seconds(executions, &outermost);
    let mut loops = Loops::default();
    loops.add_execution(executions, &outermost);
    loops.report(&[], evidence);
    let mut callers = vec![(Vec::new(), outermost)];
    while let Some((path, rows)) = callers.pop() {
        let mut by_func: BTreeMap<FuncId, Vec<u32>> = BTreeMap::new();
        for row in rows {
            let func = executions.func[index(row)];
            by_func.entry(func).or_default().push(row);
        }
        for (func, rows) in by_func {
            if seconds(executions, &rows) < MIN_CALLER_SHARE * total_s {
                continue;
            }
            let mut path: Vec<FuncId> = path.clone();
            path.push(func);
            let mut inside = Vec::new();
            let mut loops = Loops::default();
            for row in rows {
                let end = executions.subtree_end[index(row)].index();
                let calls = siblings(executions, index(row) + 1, end.min(executions.len()));
                loops.add_execution(executions, &calls);
                inside.extend(calls);
            }
            loops.report(&path, evidence);
            callers.push((path, inside));
        }
    }
}

/// Returns the outermost calls within a range of rows.
pub(super) fn siblings(executions: &Executions, mut row: usize, end: usize) -> Vec<u32> {
    let mut rows = Vec::new();
    while row < end {
        rows.push(number(row));
        row = next_sibling(executions, row);
    }
    rows
}

fn seconds(executions: &Executions, rows: &[u32]) -> f64 {
    let inclusive = rows.iter().map(|&row| executions.inclusive[index(row)].0);
    let total_ns = inclusive.fold(0, i64::saturating_add);
    DurationNs(total_ns).as_secs_f64()
}

/// Returns the rows of calls whose previous call was of another function, so that consecutive calls of one function
/// count once. Each call counts where they are many in a few runs, as in `100 × step, output, 100 × step`.
pub(super) fn without_runs(executions: &Executions, calls: &[u32]) -> Vec<u32> {
    let func = |row: u32| executions.func[index(row)];
    let mut counts: BTreeMap<FuncId, (u64, u64)> = BTreeMap::new();
    for run in calls.chunk_by(|&left, &right| func(left) == func(right)) {
        if let Some(&first) = run.first() {
            let (num_runs, num_calls) = counts.entry(func(first)).or_default();
            *num_runs += 1;
            *num_calls += u64::from(number(run.len()));
        }
    }
    let counts_each = |func: FuncId| {
        let count = counts.get(&func);
        count.is_some_and(|&(runs, calls)| {
            calls > runs.saturating_mul(runs.max(u64::from(MANY_PASSES) - 1))
        })
    };
    let mut rows = calls.to_vec();
    rows.dedup_by(|later, earlier| {
        let func_of_later = func(*later);
        func_of_later == func(*earlier) && !counts_each(func_of_later)
    });
    rows
}

/// The loops of one caller on one lane.
#[derive(Default)]
struct Loops {
    by_func: BTreeMap<FuncId, Passes>,
}

#[derive(Default)]
struct Passes {
    durations: Vec<DurationNs>,
    /// The shape of each pass except the last one of an execution.
    shapes: Vec<Shape>,
    position: Option<u64>,
}

/// The calls of a pass, as a hash.
#[derive(Clone, Copy)]
struct Shape {
    /// Hash of the functions that were called.
    hash: u64,
    num_calls: u32,
    duration: DurationNs,
}

impl Loops {
    /// Adds the calls of one execution of the caller.
    fn add_execution(&mut self, executions: &Executions, calls: &[u32]) {
        let Some(&last) = calls.last() else { return };
        let end = executions.exit(ExecIdx(last));
        let rows = without_runs(executions, calls);
        let mut begins: BTreeMap<FuncId, Vec<usize>> = BTreeMap::new();
        let mut prefix = Vec::with_capacity(rows.len() + 1);
        prefix.push((0_u64, 1_u64));
        for (place, &row) in rows.iter().enumerate() {
            let func = executions.func[index(row)];
            begins.entry(func).or_default().push(place);
            let (hash, power) = prefix[place];
            let hash = hash
                .wrapping_mul(BASE)
                .wrapping_add(mix(u64::from(func.0) + 1));
            prefix.push((hash, power.wrapping_mul(BASE)));
        }
        let entry = |place: usize| executions.entry[index(rows[place])];
        // A function of a loop is called again; a single call is not a loop.
        for (func, places) in begins.into_iter().filter(|(_, places)| places.len() >= 2) {
            let passes = self.by_func.entry(func).or_default();
            let first = places.first().and_then(|&place| u64::try_from(place).ok());
            passes.position = passes.position.or(first);
            for pair in places.windows(2) {
                let (from, to) = (pair[0], pair[1]);
                let duration = entry(to).since(entry(from));
                passes.durations.push(duration);
                // Powers of an odd base, so that a difference of prefix hashes is the hash of the calls between.
                let length_power = prefix[to - from].1;
                let before = prefix[from].0.wrapping_mul(length_power);
                passes.shapes.push(Shape {
                    hash: prefix[to].0.wrapping_sub(before),
                    num_calls: rows[to] - rows[from],
                    duration,
                });
            }
            if let Some(&last) = places.last() {
                passes.durations.push(end.since(entry(last)));
            }
        }
    }

    fn report(self, path: &[FuncId], evidence: &mut BTreeMap<LoopPlace, Evidence>) {
        for (first, mut passes) in self.by_func {
            let num_passes = number(passes.durations.len());
            if num_passes < MIN_PASSES {
                continue;
            }
            let place = LoopPlace {
                callers: path.to_vec(),
                first,
            };
            let it = evidence.entry(place).or_default();
            it.num_lanes += 1;
            it.num_passes = it.num_passes.saturating_add(num_passes);
            let max_duration = max_counted_duration(&mut passes.durations);
            it.compared.add(amount(&passes.shapes, max_duration));
            it.alike
                .add(most_frequent(&mut passes.shapes, max_duration));
            it.covered_s += seconds_of(passes.durations.into_iter(), max_duration);
            it.position += passes.position.unwrap_or(0);
        }
    }
}

/// The base of the hashes of function sequences.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Amount {
    fn add(&mut self, more: Self) {
        self.passes = self.passes.saturating_add(more.passes);
        self.calls = self.calls.saturating_add(more.calls);
        self.time_s += more.time_s;
    }
}

fn amount(shapes: &[Shape], max_duration: DurationNs) -> Amount {
    let calls = shapes.iter().map(|it| it.num_calls);
    Amount {
        passes: number(shapes.len()),
        calls: calls.fold(0, u32::saturating_add),
        time_s: seconds_of(shapes.iter().map(|it| it.duration), max_duration),
    }
}

/// Returns the passes of the most frequent shape.
fn most_frequent(shapes: &mut [Shape], max_duration: DurationNs) -> Amount {
    shapes.sort_unstable_by_key(|it| it.hash);
    let groups = shapes.chunk_by(|left, right| left.hash == right.hash);
    let largest = groups.max_by_key(|group| group.len());
    largest.map_or_else(Amount::default, |group| amount(group, max_duration))
}

/// Returns the maximum duration that a pass counts as: [`MAX_MEDIANS`] times the lower median.
fn max_counted_duration(durations: &mut [DurationNs]) -> DurationNs {
    durations.sort_unstable();
    let median = durations.get(durations.len().saturating_sub(1) / 2);
    DurationNs(median.map_or(0, |it| it.0.saturating_mul(MAX_MEDIANS)))
}

/// Returns the time of some passes, each counted as `max_duration` at most.
fn seconds_of(durations: impl Iterator<Item = DurationNs>, max_duration: DurationNs) -> f64 {
    let counted = durations.map(|it| it.0.min(max_duration.0));
    DurationNs(counted.fold(0, i64::saturating_add)).as_secs_f64()
}
