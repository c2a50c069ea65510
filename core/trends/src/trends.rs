//! The findings of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use callgrove_model::{
    Cancelled, DurationNs, FuncId, LaneIdx, ProgramId, Progress, RankId, Real, TimeNs, Trace,
};
use callgrove_segments::{can_wait, hosts, iteration_work};
use serde::{Deserialize, Serialize};

use super::group::{Group, groups};
use super::judge::{self, ContextSummary, LaneFinding, Onset, Shift};
use super::lane_windows::{OwnTimeWindows, TrendLane};
use super::own_time::{MIN_COST_DIVISOR, OwnTimeContext, OwnTimes, RECURRING_CALLS};
use super::slow_ranks::{SlowRank, slow_rank};
use super::trend::{Trend, TrendDoubt, TrendKind};

/// Divisor of a finding's minimum cost that gives the minimum cost of one function in it: 1/8.
const MIN_PART_DIVISOR: i64 = 8;
/// Number of lanes up to which the median of the lanes is weak evidence.
const FEW_LANES: usize = 4;
/// Divisor of the length of the run that gives the minimum cost of a rank with more work in every iteration. Less is not
/// worth a finding; jobs that mostly wait have slow ranks that cost 1 %.
const MIN_RUN_DIVISOR: i64 = 200;
/// Share of its other own time in which a slow lane must be slow for the finding not to be doubted.
const SLOW_SHARE: f64 = 0.5;
/// Minimum excess of a lane that counts as slow elsewhere, as a share of the factor's excess.
const SLOW_ELSEWHERE: f64 = 0.5;

/// Persistent and slow changes of a run.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Trends {
    all: Vec<Trend>,
}

/// The contexts of a run with the summaries of their lanes.
struct Contexts {
    summaries: BTreeMap<OwnTimeContext, ContextSummary>,
    found: BTreeMap<OwnTimeContext, Vec<LaneFinding>>,
}

impl Trends {
    /// Finds lanes that are slower than their peers, growth and changes. Nothing is found in a part of a run that a
    /// user selected.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Trace, progress: Progress<'_>) -> Result<Self, Cancelled> {
        let Some((start, end)) = trace.time_span().filter(|_| !trace.is_selection) else {
            return Ok(Self::default());
        };
        let own_times = OwnTimes::of(trace, progress.part(0.0, 0.4))?;
        let contexts = Contexts::judge(&own_times, progress.part(0.4, 1.0))?;
        let (names, of_lane) = hosts(trace);
        let host = |lane: LaneIdx| names.get(*of_lane.get(lane.index())?).cloned();
        let lanes = trace.lanes().map(|(lane, data)| TrendLane {
            program: data.program,
            rank: data.rank,
            thread: data.thread,
            host: host(lane).unwrap_or_default(),
        });
        let lanes: Vec<TrendLane> = lanes.collect();
        let mut found = contexts.trends(&lanes, start..end, own_times.min_cost);
        found.add_slow_ranks(trace, &lanes, end.since(start));
        Ok(found)
    }

    /// Adds the ranks with more work in every iteration that no comparison of calls has found.
    fn add_slow_ranks(&mut self, trace: &Trace, lanes: &[TrendLane], run: DurationNs) {
        let min_cost = DurationNs(run.0 / MIN_RUN_DIVISOR);
        for slow in iteration_work(trace).iter().filter_map(|it| slow_rank(it)) {
            let trend = slow_trend(lanes, slow);
            let is_known =
                |known: &Trend| known.kind.name() == "slow" && known.ranks == trend.ranks;
            if trend.cost >= min_cost && !self.all.iter().any(is_known) {
                self.all.push(trend);
            }
        }
        self.all.sort_by_key(|it| std::cmp::Reverse(it.cost));
    }

    /// Finds the same in windows of own times. `lanes` are all lanes of the run, `names` the names of its functions,
    /// and `span` its time so far. Functions in which a lane can wait are left out. Times are multiples of `tick`.
    pub fn of_windows<'a>(
        all: Vec<OwnTimeWindows>,
        lanes: &[TrendLane],
        names: impl Fn(FuncId) -> &'a str,
        span: Range<TimeNs>,
        tick: DurationNs,
    ) -> Self {
        let works = |context: &OwnTimeWindows| {
            let caller_waits = context.caller.is_some_and(|caller| can_wait(names(caller)));
            !caller_waits && !can_wait(names(context.func))
        };
        let all: Vec<OwnTimeWindows> = all.into_iter().filter(works).collect();
        let mut work_ns = vec![0_i64; lanes.len()];
        for of_lane in all.iter().flat_map(|context| &context.lanes) {
            if let Some(work_ns) = work_ns.get_mut(of_lane.lane.index())
                && of_lane.num_calls() >= RECURRING_CALLS
            {
                *work_ns = work_ns.saturating_add(of_lane.total_ns());
            }
        }
        let busiest_ns = work_ns.into_iter().max().unwrap_or(0);
        let min_cost = DurationNs((busiest_ns / MIN_COST_DIVISOR).max(1));
        let contexts = Contexts::judge_windows(&all, tick, min_cost);
        contexts.trends(lanes, span, min_cost)
    }

    /// Returns the findings, the costliest first.
    pub fn all(&self) -> &[Trend] {
        &self.all
    }
}

impl Contexts {
    fn judge(own_times: &OwnTimes, progress: Progress<'_>) -> Result<Self, Cancelled> {
        let (mut summaries, mut found) = (BTreeMap::new(), BTreeMap::new());
        for (&context, series) in &own_times.contexts {
            progress.at(0.5)?;
            let summary = ContextSummary::new(series);
            let min_cost = DurationNs(own_times.min_cost.0 / MIN_PART_DIVISOR);
            let findings = summary.findings(min_cost, |at, split, levels| {
                judge::onset(series.get(at)?, split, levels)
            });
            if !findings.is_empty() {
                found.insert(context, findings);
            }
            summaries.insert(context, summary);
        }
        Ok(Self { summaries, found })
    }

    /// Does the same for windows.
    fn judge_windows(all: &[OwnTimeWindows], tick: DurationNs, min_cost: DurationNs) -> Self {
        let (mut summaries, mut found) = (BTreeMap::new(), BTreeMap::new());
        for windows in all {
            let context = OwnTimeContext {
                program: windows.program,
                func: windows.func,
                caller: windows.caller,
            };
            let summary = ContextSummary::of_windows(&windows.lanes, tick.0.max(1));
            let min_cost = DurationNs(min_cost.0 / MIN_PART_DIVISOR);
            let findings = summary.findings(min_cost, |at, split, _| {
                let (at, num_after) = windows.lanes.get(at)?.beginning(split)?;
                Some(Onset { at, num_after })
            });
            if !findings.is_empty() {
                found.insert(context, findings);
            }
            summaries.insert(context, summary);
        }
        Self { summaries, found }
    }

    /// Returns the findings as trends of a run with these lanes and this time range.
    fn trends(&self, lanes: &[TrendLane], span: Range<TimeNs>, min_cost: DurationNs) -> Trends {
        let run = span.end.since(span.start);
        let rank_of = |lane: LaneIdx| lanes[lane.index()].rank;
        let found = groups(self.found.clone(), run, min_cost, rank_of);
        let trend = |group: &Group| self.trend(lanes, span.start, group);
        Trends {
            all: found.iter().filter_map(trend).collect(),
        }
    }

    fn trend(&self, run: &[TrendLane], start: TimeNs, group: &Group) -> Option<Trend> {
        let summary = self.summaries.get(&group.context)?;
        let shift = group.shift()?;
        let lanes = group.lanes();
        let peers = self.peers(group, summary);
        let ranks = ranks(run, lanes.iter().copied());
        let peer_ranks = self::ranks(run, peers.iter().copied());
        let mut other_funcs = Vec::new();
        for context in &group.others {
            if context.func != group.context.func && !other_funcs.contains(&context.func) {
                other_funcs.push(context.func);
            }
        }
        Some(Trend {
            kind: kind(shift, start),
            host: common_host(run, &lanes),
            peer_ranks: peer_ranks.difference(&ranks).copied().collect(),
            ranks: ranks.into_iter().collect(),
            doubt: self.doubt(group, shift, summary),
            lanes: lanes.into_iter().collect(),
            peers,
            func: group.context.func,
            other_funcs,
            cost: group.cost,
            evidence: group.evidence(),
        })
    }

    /// Returns the lanes that those of a group are compared with.
    fn peers(&self, group: &Group, summary: &ContextSummary) -> Vec<LaneIdx> {
        let findings = self.found.get(&group.context).into_iter().flatten();
        let slow: BTreeSet<LaneIdx> = findings
            .filter(|it| it.is_slow())
            .map(|it| it.lane)
            .collect();
        let own = group.lanes();
        let first = group.of_lanes.first();
        let all = summary
            .lanes
            .iter()
            .map(|it| it.lane)
            .filter(|lane| !own.contains(lane));
        match first {
            Some(it) if it.is_among_slow => all.filter(|lane| slow.contains(lane)).collect(),
            Some(it) if it.is_slow() => all.filter(|lane| !slow.contains(lane)).collect(),
            _ => all.collect(),
        }
    }

    fn doubt(&self, group: &Group, shift: Shift, summary: &ContextSummary) -> Option<TrendDoubt> {
        let Shift::Slow { usual_ns, peers_ns } = shift else {
            let is_all = summary.lanes.len() > 1 && group.of_lanes.len() == summary.lanes.len();
            return is_all.then_some(TrendDoubt::AllLanes);
        };
        let factor = usual_ns.real() / peers_ns.max(1).real();
        let min_ratio = 1.0 + SLOW_ELSEWHERE * (factor - 1.0);
        let (mut slow_ns, mut other_ns) = (0.0, 0.0);
        for (context, other) in &self.summaries {
            let peers = other.peers().filter(|_| *context != group.context);
            let Some(peers) = peers.filter(|_| context.program == group.context.program) else {
                continue;
            };
            let of_group = other.lanes.iter();
            for lane in of_group.filter(|it| group.of_lanes.iter().any(|at| at.lane == it.lane)) {
                other_ns += lane.total_ns.real();
                if lane.usual_ns.real() >= min_ratio * peers.usual_ns.real() {
                    slow_ns += lane.total_ns.real();
                }
            }
        }
        if slow_ns < SLOW_SHARE * other_ns {
            return Some(TrendDoubt::OtherWorkUsual);
        }
        (summary.lanes.len() <= FEW_LANES).then_some(TrendDoubt::FewLanes)
    }
}

fn slow_trend(run: &[TrendLane], slow: SlowRank) -> Trend {
    let of_iteration = DurationNs(slow.usual_ns - slow.peers_ns);
    let num_iterations = i64::try_from(slow.num_iterations).unwrap_or(i64::MAX);
    let own: BTreeSet<LaneIdx> = [slow.lane].into();
    Trend {
        kind: TrendKind::SlowIterations {
            usual: DurationNs(slow.usual_ns),
            peers: DurationNs(slow.peers_ns),
            makes_extra_calls: slow.makes_extra_calls,
        },
        host: common_host(run, &own),
        ranks: ranks(run, own.iter().copied()).into_iter().collect(),
        peer_ranks: ranks(run, slow.peers.iter().copied()).into_iter().collect(),
        doubt: Some(TrendDoubt::MoreToDo),
        lanes: own.into_iter().collect(),
        peers: slow.peers,
        func: slow.func,
        other_funcs: Vec::new(),
        cost: DurationNs(of_iteration.0.saturating_mul(num_iterations)),
        evidence: slow.evidence,
    }
}

fn kind(shift: Shift, start: TimeNs) -> TrendKind {
    match shift {
        Shift::Slow { usual_ns, peers_ns } => TrendKind::Slow {
            usual: DurationNs(usual_ns),
            peers: DurationNs(peers_ns),
        },
        Shift::Growth { from_ns, to_ns } => TrendKind::Growth {
            from: DurationNs(from_ns),
            to: DurationNs(to_ns),
        },
        Shift::Change { from_ns, to_ns, at } => TrendKind::Change {
            from: DurationNs(from_ns),
            to: DurationNs(to_ns),
            at,
            after: at.since(start),
        },
    }
}

fn ranks(run: &[TrendLane], lanes: impl Iterator<Item = LaneIdx>) -> BTreeSet<RankId> {
    lanes.map(|lane| run[lane.index()].rank).collect()
}

/// Returns the host of all of the lanes, if the run has several hosts.
fn common_host(run: &[TrendLane], lanes: &BTreeSet<LaneIdx>) -> String {
    let of_finding = || lanes.iter().map(|lane| &run[lane.index()]);
    let programs: BTreeSet<ProgramId> = of_finding().map(|it| it.program).collect();
    let of_lanes: BTreeSet<&str> = of_finding().map(|it| it.host.as_str()).collect();
    let of_run: BTreeSet<&str> = run.iter().map(|it| it.host.as_str()).collect();
    match (
        of_lanes.first(),
        of_lanes.len(),
        of_run.len(),
        programs.len(),
    ) {
        (Some(host), 1, 2.., 1) => (*host).to_owned(),
        _ => String::new(),
    }
}
