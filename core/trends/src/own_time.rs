//! Own times: the calls of a function under its caller, lane by lane.

use std::collections::BTreeMap;

use callgrove_model::{
    Cancelled, DurationNs, ExecIdx, Executions, FuncId, Lane, LaneIdx, ProgramId, Progress, TimeNs,
    Trace,
};
use callgrove_segments::can_wait;

use super::robust::common_divisor;

/// Divisor of the busiest lane's own time that gives the minimum cost of a finding: 1/50.
pub(super) const MIN_COST_DIVISOR: i64 = 50;
/// Divisor of the minimum cost that gives the smallest total of a context that is examined: 1/2.
const MIN_TOTAL_DIVISOR: i64 = 2;
/// Minimum number of calls of a context that recurs on a lane: its own time is work that can be slow throughout.
pub(super) const RECURRING_CALLS: usize = 20;

/// A function under its caller in one program; calls are compared within it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OwnTimeContext {
    pub(super) program: ProgramId,
    pub(super) func: FuncId,
    pub(super) caller: Option<FuncId>,
}

/// One call: its entry time, and its own time in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnTime {
    pub(super) entry: TimeNs,
    pub(super) own_ns: i64,
}

/// The calls of a context on one lane, in order of entry.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) lane: LaneIdx,
    pub(super) calls: Vec<OwnTime>,
}

impl Series {
    /// Returns the total own time of all calls.
    pub(super) fn total_ns(&self) -> i64 {
        let times = self.calls.iter().map(|call| call.own_ns);
        times.fold(0, i64::saturating_add)
    }
}

/// The contexts of a lane, numbered in order of appearance.
struct LaneContexts<'a> {
    lane: &'a Lane,
    /// For each function, its callers so far with their numbers.
    callers: Vec<Vec<(Option<FuncId>, usize)>>,
    all: Vec<OwnTimeContext>,
}

impl<'a> LaneContexts<'a> {
    fn new(lane: &'a Lane, num_funcs: usize) -> Self {
        Self {
            lane,
            callers: vec![Vec::new(); num_funcs],
            all: Vec::new(),
        }
    }

    /// Returns the number of the context of a row.
    fn number(&mut self, row: usize) -> Option<usize> {
        let executions = &self.lane.executions;
        let func = executions.func[row];
        let caller = executions.parent(ExecIdx::from_index(row));
        let caller = caller.map(|caller| executions.func[caller.index()]);
        let callers = self.callers.get_mut(func.index())?;
        if let Some(known) = callers.iter().find(|it| it.0 == caller) {
            return Some(known.1);
        }
        let number = self.all.len();
        callers.push((caller, number));
        self.all.push(OwnTimeContext {
            program: self.lane.program,
            func,
            caller,
        });
        Some(number)
    }
}

/// The own times of a run that are large enough to examine.
pub(super) struct OwnTimes {
    /// The calls of each context that takes at least `min_cost` on some lane.
    pub(super) contexts: BTreeMap<OwnTimeContext, Vec<Series>>,
    /// The minimum cost of a finding.
    pub(super) min_cost: DurationNs,
}

impl OwnTimes {
    /// Returns the own times of all lanes, without waits and calls that were not left.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub(super) fn of(trace: &Trace, progress: Progress<'_>) -> Result<Self, Cancelled> {
        let works: Vec<bool> = trace
            .names
            .iter()
            .map(|(_, name)| !can_wait(name))
            .collect();
        let (totals, work_ns) = totals(trace, &works, progress.part(0.0, 0.4))?;
        let min_cost = DurationNs((work_ns / MIN_COST_DIVISOR).max(1));
        let matter = totals
            .into_iter()
            .filter(|it| it.1 >= min_cost.0 / MIN_TOTAL_DIVISOR);
        let mut contexts: BTreeMap<OwnTimeContext, Vec<Series>> =
            matter.map(|(context, _)| (context, Vec::new())).collect();
        for (lane, data) in trace.lanes() {
            let done = fraction(lane.index(), trace.lanes.len());
            progress.part(0.4, 1.0).at(done)?;
            let mut of_lane = LaneContexts::new(data, works.len());
            let mut series: Vec<Option<Series>> = Vec::new();
            for row in rows(&data.executions, &works) {
                let Some(number) = of_lane.number(row) else {
                    continue;
                };
                if number == series.len() {
                    let matters = contexts.contains_key(&of_lane.all[number]);
                    let calls = Vec::new();
                    series.push(matters.then_some(Series { lane, calls }));
                }
                if let Some(series) = &mut series[number] {
                    series.calls.push(OwnTime {
                        entry: data.executions.entry[row],
                        own_ns: data.executions.exclusive[row].0.max(0),
                    });
                }
            }
            for (context, series) in of_lane.all.iter().zip(series) {
                if let (Some(all), Some(series)) = (contexts.get_mut(context), series) {
                    all.push(series);
                }
            }
        }
        Ok(Self { contexts, min_cost })
    }
}

/// Returns the longest own time of each context on a lane, and that of the busiest lane in all contexts that recur
/// there.
fn totals(
    trace: &Trace,
    works: &[bool],
    progress: Progress<'_>,
) -> Result<(BTreeMap<OwnTimeContext, i64>, i64), Cancelled> {
    let mut longest: BTreeMap<OwnTimeContext, i64> = BTreeMap::new();
    let mut busiest_ns = 0;
    for (lane, data) in trace.lanes() {
        progress.at(fraction(lane.index(), trace.lanes.len()))?;
        let mut of_lane = LaneContexts::new(data, works.len());
        let mut totals: Vec<(i64, usize)> = Vec::new();
        for row in rows(&data.executions, works) {
            let Some(number) = of_lane.number(row) else {
                continue;
            };
            if number == totals.len() {
                totals.push((0, 0));
            }
            let (total_ns, num_calls) = &mut totals[number];
            *total_ns = total_ns.saturating_add(data.executions.exclusive[row].0.max(0));
            *num_calls += 1;
        }
        let recurring = totals.iter().filter(|it| it.1 >= RECURRING_CALLS);
        let work_ns = recurring.map(|it| it.0).fold(0, i64::saturating_add);
        busiest_ns = work_ns.max(busiest_ns);
        for (context, (total_ns, _)) in of_lane.all.into_iter().zip(totals) {
            let longest_ns = longest.entry(context).or_default();
            *longest_ns = total_ns.max(*longest_ns);
        }
    }
    Ok((longest, busiest_ns))
}

/// Returns the clock's tick in the calls of a context, in nanoseconds: the common divisor of all times; at least 1.
pub(super) fn tick_ns(all: &[Series]) -> i64 {
    let mut tick_ns = 0;
    for series in all {
        let start = series.calls.first().map(|call| call.entry);
        for call in &series.calls {
            let since = start.map_or(0, |start| call.entry.since(start).0.max(0));
            tick_ns = common_divisor(common_divisor(since, call.own_ns), tick_ns);
            if tick_ns == 1 {
                return 1;
            }
        }
    }
    tick_ns.max(1)
}

/// Returns the rows of calls that do work and were left.
fn rows<'a>(executions: &'a Executions, works: &'a [bool]) -> impl Iterator<Item = usize> + 'a {
    let is_work = |row: usize| works.get(executions.func[row].index()).copied();
    (0..executions.len()).filter(move |&row| {
        let caller = executions.parent(ExecIdx::from_index(row));
        let is_inside_wait = caller.is_some_and(|it| is_work(it.index()) == Some(false));
        executions.closed[row] && !is_inside_wait && is_work(row) == Some(true)
    })
}

/// Returns a part of the lanes in whole percent, as a fraction.
fn fraction(at: usize, of: usize) -> f32 {
    let percent = at.saturating_mul(100) / of.max(1);
    f32::from(u8::try_from(percent).unwrap_or(100)) / 100.0
}
