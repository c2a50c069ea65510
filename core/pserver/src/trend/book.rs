//! The exclusive times of a run so far, and which of its trends the database has.

use std::collections::BTreeMap;
use std::ops::Range;

use callgrove_incidents::{FunctionNames as _, OwnTimeEntry, StallSummaryKey};
use callgrove_model::{
    DurationNs, FuncId, LaneIdx, ProgramId, RankId, StepId, ThreadId, TimeNs, pairs,
};
use callgrove_trends::{LaneWindows, OwnTimeWindows, TimeWindow, TrendLane, Trends};
use serde::{Deserialize, Serialize};

use super::document::{DueTrends, FoundTrends, TrendDocument};
use crate::functions::FunctionTable;
use crate::record::TrendRecord;

/// Maximum number of windows of a function on a rank; beyond it, neighbours are joined. Twice the number that the
/// engine compares, so that the compared windows have about equal numbers of calls.
const MAX_WINDOWS: usize = 40;
/// Maximum number of windows of a program, about 6 MB in the saved state; beyond it the functions with the least
/// exclusive time are dropped.
const MAX_ALL_WINDOWS: usize = 1 << 16;
/// Minimum number of windows for a rank to be compared: the engine requires that nine of ten windows agree.
const MIN_WINDOWS: usize = 10;
/// Resolution of the timestamps that tracers of running jobs write.
const CLOCK_RESOLUTION: DurationNs = DurationNs(1_000);

/// A function under its caller.
type Context = (FuncId, Option<FuncId>);

/// The exclusive times of all programs of a run.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrendBook {
    #[serde(with = "pairs")]
    programs: BTreeMap<ProgramId, ProgramTimes>,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramTimes {
    /// The last step of each rank that is included.
    #[serde(with = "pairs")]
    last_step: BTreeMap<RankId, StepId>,
    #[serde(with = "pairs")]
    hosts: BTreeMap<RankId, String>,
    #[serde(with = "pairs")]
    times: BTreeMap<(Context, RankId), RankTimes>,
    /// The records that the database has, by the identifiers of the trends.
    stored: BTreeMap<String, TrendRecord>,
    /// True if data came since trends were last computed.
    #[serde(skip)]
    is_new: bool,
}

/// The exclusive times of a function on one rank.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct RankTimes {
    windows: Vec<TimeWindow>,
}

impl RankTimes {
    /// Appends a window. Beyond the limit, the two neighbours with the fewest calls are joined, so that all have about
    /// equal numbers.
    fn push(&mut self, window: TimeWindow) {
        self.windows.push(window);
        if self.windows.len() > MAX_WINDOWS {
            let num_calls =
                |pair: &[TimeWindow]| pair[0].num_calls.saturating_add(pair[1].num_calls);
            let pairs = self.windows.windows(2).map(num_calls).enumerate();
            if let Some((at, _)) = pairs.min_by_key(|pair| pair.1) {
                let next = self.windows.remove(at + 1);
                self.windows[at] = self.windows[at].joined(next);
            }
        }
    }

    fn total(&self) -> DurationNs {
        self.windows.iter().map(|window| window.total).sum()
    }
}

impl TrendBook {
    /// Returns the hosts of the ranks that have reported one, in order of program and rank.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (ProgramId, RankId, &str)> {
        let programs = self.programs.iter();
        let of_program = programs.flat_map(|(&program, times)| {
            let hosts = times.hosts.iter();
            hosts.map(move |(&rank, host)| (program, rank, host.as_str()))
        });
        of_program.filter(|(_, _, host)| !host.is_empty())
    }

    /// Adds the report of a rank on a step. A step that is not after the included ones is ignored: it was reported
    /// before.
    pub(crate) fn take_in(
        &mut self,
        (program, step, rank): StallSummaryKey,
        host: &str,
        own_times: Vec<OwnTimeEntry>,
    ) {
        if own_times.is_empty() {
            return;
        }
        let of_program = self.programs.entry(program).or_default();
        if of_program.last_step.get(&rank) >= Some(&step) {
            return;
        }
        of_program.last_step.insert(rank, step);
        if of_program.hosts.get(&rank).map(String::as_str) != Some(host) {
            of_program.hosts.insert(rank, host.to_owned());
        }
        for own in own_times {
            let times = of_program.times.entry(((own.fid, own.caller), rank));
            times.or_default().push(own.window);
        }
        if of_program.times.len() > MAX_ALL_WINDOWS / MAX_WINDOWS {
            of_program.drop_least();
        }
        of_program.is_new = true;
    }

    /// Returns the documents of trends that are new or differ from those in the database; a trend that is not found any
    /// more is included once. Those of a `recorded` program are returned only once its ranks are judged, and then all.
    pub(crate) fn due(
        &mut self,
        recorded: &BTreeMap<ProgramId, bool>,
        functions: &FunctionTable,
    ) -> DueTrends {
        let mut due = DueTrends::default();
        for (&program, times) in &mut self.programs {
            let is_judged = recorded.get(&program);
            if is_judged == Some(&false) || !std::mem::take(&mut times.is_new) {
                continue;
            }
            if is_judged.is_some() {
                times.stored.clear();
            }
            let documents = times.due(program, functions);
            if is_judged.is_some() {
                let ids = documents.iter().map(|it| it.record.trend_id.clone());
                due.final_ids.insert(program, ids.collect());
            }
            due.documents.extend(documents);
        }
        due
    }

    /// Records that the database has these documents.
    pub(crate) fn confirm(&mut self, documents: &[TrendDocument]) {
        for document in documents {
            if let Some(times) = self.programs.get_mut(&document.program) {
                let id = document.record.trend_id.clone();
                if document.record.holds {
                    times.stored.insert(id, document.record.clone());
                } else {
                    times.stored.remove(&id);
                }
            }
        }
    }

    /// Records that the database did not take the documents: trends are computed again.
    pub(crate) fn invalidate(&mut self) {
        for times in self.programs.values_mut() {
            times.is_new = true;
        }
    }
}

impl ProgramTimes {
    /// Drops the functions with the least exclusive time until half as many windows are left.
    fn drop_least(&mut self) {
        let mut totals: BTreeMap<Context, (DurationNs, usize)> = BTreeMap::new();
        for ((context, _), times) in &self.times {
            let total = totals.entry(*context).or_default();
            total.0 += times.total();
            total.1 += 1;
        }
        let mut by_total: Vec<(DurationNs, Context, usize)> = (totals.into_iter())
            .map(|(context, (total, num))| (total, context, num))
            .collect();
        by_total.sort_unstable();
        let mut num_left = self.times.len();
        let mut dropped = Vec::new();
        for (_, context, num) in by_total {
            if num_left <= MAX_ALL_WINDOWS / MAX_WINDOWS / 2 {
                break;
            }
            num_left = num_left.saturating_sub(num);
            dropped.push(context);
        }
        dropped.sort_unstable();
        let is_retained = |context: &Context| dropped.binary_search(context).is_err();
        self.times.retain(|(context, _), _| is_retained(context));
    }

    fn due(&self, program: ProgramId, functions: &FunctionTable) -> Vec<TrendDocument> {
        let lanes = self.last_step.keys().map(|&rank| TrendLane {
            program,
            rank,
            thread: ThreadId(0),
            host: self.hosts.get(&rank).cloned().unwrap_or_default(),
        });
        let lanes: Vec<TrendLane> = lanes.collect();
        let names = |fid: FuncId| functions.name(fid);
        let trends = Trends::of_windows(
            self.contexts(program),
            &lanes,
            names,
            self.span(),
            CLOCK_RESOLUTION,
        );
        let found = FoundTrends {
            program,
            last_step: self.last_step.values().max().copied().unwrap_or_default(),
            lanes: &lanes,
        };
        found.documents(&trends, &self.stored, names)
    }

    /// Returns the exclusive times in the form that the engine takes.
    fn contexts(&self, program: ProgramId) -> Vec<OwnTimeWindows> {
        let ranks = self.last_step.keys().enumerate();
        let lanes: BTreeMap<RankId, LaneIdx> = ranks
            .map(|(at, &rank)| (rank, LaneIdx::from_index(at)))
            .collect();
        let mut contexts: BTreeMap<Context, Vec<LaneWindows>> = BTreeMap::new();
        for ((context, rank), times) in &self.times {
            if times.windows.len() >= MIN_WINDOWS
                && let Some(&lane) = lanes.get(rank)
            {
                contexts.entry(*context).or_default().push(LaneWindows {
                    lane,
                    windows: times.windows.clone(),
                });
            }
        }
        let all = contexts.into_iter();
        all.map(|((func, caller), lanes)| OwnTimeWindows {
            program,
            func,
            caller,
            lanes,
        })
        .collect()
    }

    /// Returns the range from the start of the first window to that of the last one.
    fn span(&self) -> Range<TimeNs> {
        let windows = || self.times.values().flat_map(|times| &times.windows);
        let first = windows().map(|window| window.start).min();
        let last = windows().map(|window| window.start).max();
        first.unwrap_or_default()..last.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["Solver::step", "Solver::kernel", "MPI_Wait()"];

    fn window(at: i64, usual_us: i64) -> TimeWindow {
        TimeWindow {
            start: TimeNs(at * 1_000_000),
            num_calls: 10,
            usual: DurationNs(usual_us * 1_000),
            total: DurationNs(usual_us * 10_000),
        }
    }

    fn functions() -> FunctionTable {
        let mut table = FunctionTable::default();
        for (fid, name) in (0..).zip(NAMES) {
            assert!(table.insert(FuncId(fid), ProgramId(0), name.to_owned()));
        }
        table
    }

    /// Reports steps of 8 ranks on hosts of two; `usual_us` gives the time of the kernel by rank and step.
    fn report_steps(book: &mut TrendBook, steps: Range<u32>, usual_us: impl Fn(u32, u32) -> i64) {
        for step in steps {
            for rank in 0..8 {
                let noise_us = i64::from((step * 7 + rank * 3) % 11);
                let own = |fid: u32, usual_us: i64| OwnTimeEntry {
                    fid: FuncId(fid),
                    caller: Some(FuncId(0)),
                    window: window(step.into(), usual_us + noise_us),
                };
                let kernel_us = usual_us(rank, step);
                let own_times = vec![own(1, kernel_us), own(2, 3_000 - kernel_us)];
                let key = (ProgramId(0), StepId(step), RankId(rank));
                book.take_in(key, &format!("nid{}", rank / 2), own_times);
            }
        }
    }

    fn due(book: &mut TrendBook) -> Vec<TrendRecord> {
        let documents = book.due(&BTreeMap::new(), &functions()).documents;
        book.confirm(&documents);
        documents.into_iter().map(|it| it.record).collect()
    }

    #[test]
    fn windows_are_joined_in_pairs_and_no_call_is_lost() {
        let mut times = RankTimes::default();
        for at in 0..1_000 {
            times.push(window(at, 100 + at));
            let calls: u64 = times.windows.iter().map(|window| window.num_calls).sum();
            assert_eq!(calls, 10 * u64::try_from(at + 1).unwrap());
            assert!(times.windows.len() <= MAX_WINDOWS);
        }
        assert!(times.windows.is_sorted_by_key(|window| window.usual));
        assert_eq!(times.windows[0].start, TimeNs(0));
        let most = times.windows.iter().map(|window| window.num_calls).max();
        assert!(
            most <= Some(2 * 10_000 / 40),
            "pairs have twice the mean at most: {most:?}"
        );
    }

    #[test]
    fn a_slow_host_is_reported_once_and_its_end_is_too() {
        let mut book = TrendBook::default();
        let slow = |rank: u32, _: u32| if rank / 2 == 2 { 1_300 } else { 1_000 };
        report_steps(&mut book, 0..100, slow);
        let [record] = &due(&mut book)[..] else {
            panic!("one trend");
        };
        assert_eq!(
            record.words,
            "ranks 4 and 5, host nid2, 1.30 times their peers in Solver::kernel throughout; peers: ranks 0 to 3, 6 and 7"
        );
        assert_eq!((record.holds, record.ranks.as_slice()), (true, &[4, 5][..]));
        assert_eq!(due(&mut book), [], "it is stored");
        report_steps(&mut book, 0..100, slow);
        assert_eq!(due(&mut book), [], "it was reported before");
        let saved = serde_json::to_string(&book).unwrap();
        let mut restored: TrendBook = serde_json::from_str(&saved).unwrap();
        assert_eq!(restored, book);
        report_steps(&mut restored, 100..400, |_, _| 1_000);
        let ended = due(&mut restored);
        assert!(
            ended.iter().any(|it| it.kind == "slow" && !it.holds),
            "{ended:?}"
        );
    }

    #[test]
    fn growth_is_found_on_the_rank_that_grows_and_a_clean_run_has_no_trend() {
        let mut book = TrendBook::default();
        report_steps(&mut book, 0..200, |rank, step| match rank {
            6 => 1_000 + 5 * i64::from(step),
            _ => 1_000,
        });
        let found = due(&mut book);
        let kinds: Vec<_> = found
            .iter()
            .map(|it| (it.kind.as_str(), it.ranks.clone()))
            .collect();
        assert_eq!(kinds, [("growth", vec![6])]);
        let mut book = TrendBook::default();
        report_steps(&mut book, 0..200, |_, _| 1_000);
        assert_eq!(due(&mut book), []);
    }
}
