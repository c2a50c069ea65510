//! Own work of each rank by iteration of the program, for comparing ranks.
//!
//! A rank that makes more calls than its peers is in no comparison of single calls. Its own work in each iteration, on
//! all its threads and without its waits, is larger.

use std::collections::BTreeMap;

use callgrove_model::{ExecIdx, FuncId, Lane, LaneIdx, ProgramId, RankId, TimeNs, Trace};

use super::clock::Clocks;
use super::numbers::index;
use super::places::{GapPart, PathIdx, Places};
use super::segments::{Gap, MIN_WORK, Segments};
use super::thread_waits::add_thread_waits;

/// Minimum number of iterations of each rank.
const MIN_ITERATIONS: usize = 20;
/// Number of calls under one caller from which on a function repeats.
const MIN_REPEATED: usize = 8;
/// Maximum number of iterations that are examined, at equal distances.
const MAX_ITERATIONS: usize = 256;

/// Maximum number of calls of a run, so that the search takes seconds.
const MAX_CALLS: usize = 20_000_000;

/// The own work of one rank at one call path.
#[derive(Clone, Debug)]
pub struct PathWork {
    /// The innermost function.
    pub func: FuncId,
    /// Identifies the call path in all ranks of the run.
    pub path: u32,
    /// Own work in each examined iteration, in nanoseconds. `[num_iterations]`
    pub by_iteration_ns: Vec<i64>,
}

/// The own work of one rank.
#[derive(Clone, Debug)]
pub struct RankWork {
    /// The program.
    pub program: ProgramId,
    /// The rank.
    pub rank: RankId,
    /// Its first lane.
    pub lane: LaneIdx,
    /// The number of its iterations, of which some are examined.
    pub num_iterations: usize,
    /// Its work by call path, in order of paths.
    pub paths: Vec<PathWork>,
}

/// Returns the own work of the ranks of each program that has several and in which all of them repeat a function: the
/// calls of the outermost repeated function with the longest total time begin its iterations. None of a run with more
/// than `MAX_CALLS`. Cost: that of splitting the run into segments.
pub fn iteration_work(trace: &Trace) -> Vec<Vec<RankWork>> {
    if trace.num_executions() > MAX_CALLS {
        return Vec::new();
    }
    let first = first_lanes(trace);
    let mut by_program: BTreeMap<ProgramId, Vec<LaneIdx>> = BTreeMap::new();
    for &lane in &first {
        by_program
            .entry(trace.lane(lane).program)
            .or_default()
            .push(lane);
    }
    let programs = by_program.into_values().filter(|it| it.len() > 1);
    let marked: Vec<_> = programs
        .filter_map(|lanes| Some((marker(trace, &lanes)?, lanes)))
        .collect();
    if marked.is_empty() {
        return Vec::new();
    }
    let iterations = |(func, lanes): &(FuncId, Vec<LaneIdx>)| {
        let of_rank = |&lane: &LaneIdx| RankIterations::new(trace, lane, *func);
        lanes.iter().map(of_rank).collect::<Vec<_>>()
    };
    let mut ranks: Vec<RankIterations> = marked.iter().flat_map(iterations).collect();
    let rank_of_lane = ranks_of_lanes(trace, &ranks);
    let mut add = |lane: LaneIdx, path: PathIdx, gap: &Gap| {
        if let Some(rank) = rank_of_lane[lane.index()] {
            ranks[rank].add(path, gap);
        }
    };
    let mut segments = Segments::split(trace, &Clocks::recorded(trace), MIN_WORK, &mut add);
    add_thread_waits(&mut segments);
    let places = &segments.places;
    let lanes = (0..).map(LaneIdx).zip(&segments.lanes);
    for (lane, of_lane) in lanes.filter(|it| !it.1.is_device) {
        let is_work = |it: &&Gap| !it.is_written && places.part_of(it.place) == GapPart::Whole;
        for gap in of_lane.gaps.iter().filter(is_work) {
            add(lane, places.path_of(gap.place), gap);
        }
    }
    let mut finished = ranks.into_iter().map(|it| it.finish(trace, places));
    let programs = marked.iter();
    programs
        .map(|(_, lanes)| finished.by_ref().take(lanes.len()).collect())
        .collect()
}

/// Returns the rank of each lane, an index into `ranks`.
fn ranks_of_lanes(trace: &Trace, ranks: &[RankIterations]) -> Vec<Option<usize>> {
    let rank_of = |lane: LaneIdx| (trace.lane(lane).program, trace.lane(lane).rank);
    let known: BTreeMap<_, usize> = ranks.iter().map(|it| rank_of(it.first)).zip(0..).collect();
    let lanes = trace.lanes();
    lanes
        .map(|(lane, _)| known.get(&rank_of(lane)).copied())
        .collect()
}

/// Returns the first lane of each rank.
fn first_lanes(trace: &Trace) -> Vec<LaneIdx> {
    let key = |lane: &Lane| (lane.program, lane.rank);
    let mut last = None;
    let lanes = trace
        .lanes()
        .filter(|(_, lane)| last.replace(key(lane)) != Some(key(lane)));
    lanes.map(|(index, _)| index).collect()
}

/// Returns the function whose calls begin the iterations of a program.
fn marker(trace: &Trace, lanes: &[LaneIdx]) -> Option<FuncId> {
    let mut found: BTreeMap<FuncId, (usize, i64)> = BTreeMap::new();
    for &lane in lanes {
        for (func, (num_calls, total_ns)) in outermost_repeated(trace.lane(lane)) {
            if num_calls >= MIN_ITERATIONS {
                let of_func = found.entry(func).or_default();
                of_func.0 += 1;
                of_func.1 = of_func.1.saturating_add(total_ns);
            }
        }
    }
    let of_all = found.into_iter().filter(|it| it.1.0 == lanes.len());
    let longest = of_all.max_by_key(|it| (it.1.1, std::cmp::Reverse(it.0)));
    longest.map(|it| it.0)
}

/// Returns the functions that repeat under callers that do not, with the number and total time of these calls.
fn outermost_repeated(lane: &Lane) -> BTreeMap<FuncId, (usize, i64)> {
    let executions = &lane.executions;
    let context = |row: usize| {
        let caller = executions.parent(ExecIdx::from_index(row));
        (
            executions.func[row],
            caller.map(|it| executions.func[it.index()]),
        )
    };
    let mut counts: BTreeMap<(FuncId, Option<FuncId>), usize> = BTreeMap::new();
    for row in 0..executions.len() {
        *counts.entry(context(row)).or_default() += 1;
    }
    let repeats = |row: usize| {
        counts
            .get(&context(row))
            .is_some_and(|it| *it >= MIN_REPEATED)
    };
    let mut is_outer = vec![false; executions.len()];
    let mut found: BTreeMap<FuncId, (usize, i64)> = BTreeMap::new();
    for row in 0..executions.len() {
        let exec = ExecIdx::from_index(row);
        let caller = executions.parent(exec);
        let under_outer = caller.is_none_or(|it| is_outer[it.index()]);
        is_outer[row] = under_outer && !repeats(row);
        if under_outer && repeats(row) {
            let of_func = found.entry(executions.func[row]).or_default();
            of_func.0 += 1;
            of_func.1 = of_func
                .1
                .saturating_add(executions.exit(exec).since(executions.entry[row]).0);
        }
    }
    found
}

/// The iterations of one rank, and its work in them so far.
struct RankIterations {
    first: LaneIdx,
    /// The starts of all iterations.
    starts: Vec<TimeNs>,
    /// One in this number of iterations is examined.
    stride: usize,
    num_examined: usize,
    /// The last iteration to which a gap was added.
    last: usize,
    /// The work by call path and examined iteration, in nanoseconds; empty at paths without work.
    work_ns: Vec<Vec<i64>>,
}

impl RankIterations {
    fn new(trace: &Trace, first: LaneIdx, marker: FuncId) -> Self {
        let executions = &trace.lane(first).executions;
        let rows = executions.func.iter().zip(&executions.entry);
        let starts: Vec<TimeNs> = rows.filter(|it| *it.0 == marker).map(|it| *it.1).collect();
        let stride = starts.len().div_ceil(MAX_ITERATIONS).max(1);
        Self {
            first,
            // The last iteration has no known end.
            num_examined: starts.len().saturating_sub(1) / stride,
            starts,
            stride,
            last: 0,
            work_ns: Vec::new(),
        }
    }

    /// Adds own work at a call path. Gaps of one lane come in order, so that the iteration is mostly the last one.
    fn add(&mut self, path: PathIdx, gap: &Gap) {
        let begins_after = |at: usize| self.starts.get(at).is_none_or(|it| *it > gap.start);
        if begins_after(self.last) || !begins_after(self.last + 1) {
            let begun = self.starts.partition_point(|it| *it <= gap.start);
            let Some(iteration) = begun.checked_sub(1) else {
                return;
            };
            self.last = iteration;
        }
        let at = self.last / self.stride;
        if !self.last.is_multiple_of(self.stride) || at >= self.num_examined {
            return;
        }
        let path = index(path);
        if path >= self.work_ns.len() {
            self.work_ns.resize(path + 1, Vec::new());
        }
        let work = &mut self.work_ns[path];
        work.resize(self.num_examined, 0);
        work[at] = work[at].saturating_add(gap.duration().0);
    }

    fn finish(self, trace: &Trace, places: &Places) -> RankWork {
        let lane = trace.lane(self.first);
        let paths = (0..).zip(self.work_ns).filter(|it| !it.1.is_empty());
        let path = |(path, by_iteration_ns)| {
            Some(PathWork {
                func: places.func(path)?,
                path,
                by_iteration_ns,
            })
        };
        RankWork {
            program: lane.program,
            rank: lane.rank,
            lane: self.first,
            num_iterations: self.starts.len(),
            paths: paths.filter_map(path).collect(),
        }
    }
}
