//! Own work of each rank by iteration of the program, for comparing ranks.
//!
//! A rank that makes more calls than its peers is in no comparison of single calls. Its own work in each iteration, on
//! all its threads and without its waits, is larger.

use std::collections::BTreeMap;

use callgrove_model::{ExecIdx, FuncId, Lane, LaneIdx, ProgramId, RankId, TimeNs, Trace};

use super::clock::Clocks;
use super::places::{GapPart, PathIdx};
use super::segments::Segments;

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
    let segments = Segments::of_run(trace, &Clocks::recorded(trace));
    let work = |(func, lanes): (FuncId, Vec<LaneIdx>)| {
        let of_lane = |lane: LaneIdx| rank_work(trace, &segments, lane, func);
        lanes.into_iter().map(of_lane).collect()
    };
    marked.into_iter().map(work).collect()
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

fn rank_work(trace: &Trace, segments: &Segments, first: LaneIdx, marker: FuncId) -> RankWork {
    let lane = trace.lane(first);
    let rows = lane.executions.func.iter().zip(&lane.executions.entry);
    let starts: Vec<TimeNs> = rows.filter(|it| *it.0 == marker).map(|it| *it.1).collect();
    let stride = starts.len().div_ceil(MAX_ITERATIONS).max(1);
    // The last iteration has no known end.
    let num_examined = starts.len().saturating_sub(1) / stride;
    let examined = |time: TimeNs| {
        let iteration = starts.partition_point(|it| *it <= time).checked_sub(1)?;
        let at = iteration / stride;
        (iteration % stride == 0 && at < num_examined).then_some(at)
    };
    let process = segments.lane(first).process;
    let lanes = segments.lanes[first.index()..].iter();
    let lanes = lanes
        .take_while(|it| it.process == process)
        .filter(|it| !it.is_device);
    let mut paths: BTreeMap<PathIdx, Vec<i64>> = BTreeMap::new();
    for gap in lanes.flat_map(|it| &it.gaps) {
        if gap.is_written || segments.places.part_of(gap.place) != GapPart::Whole {
            continue;
        }
        if let Some(at) = examined(gap.start) {
            let path = segments.places.path_of(gap.place);
            let work = paths.entry(path).or_insert_with(|| vec![0; num_examined]);
            work[at] = work[at].saturating_add(gap.duration().0);
        }
    }
    let path = |(path, by_iteration_ns)| {
        Some(PathWork {
            func: segments.places.func(path)?,
            path,
            by_iteration_ns,
        })
    };
    RankWork {
        program: lane.program,
        rank: lane.rank,
        lane: first,
        num_iterations: starts.len(),
        paths: paths.into_iter().filter_map(path).collect(),
    }
}
