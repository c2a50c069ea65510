//! The findings of a run.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{
    Cancelled, DurationNs, LaneIdx, ProgramId, Progress, RankId, Real, TimeNs, Trace,
};
use serde::{Deserialize, Serialize};

use super::group::{Group, groups};
use super::judge::{ContextSummary, LaneFinding, Shift};
use super::own_time::{OwnTimeContext, OwnTimes};
use super::trend::{Trend, TrendDoubt, TrendKind};
use crate::cause::hosts;

/// A function matters in a finding from this part of the least cost of the whole finding on: an eighth.
const LEAST_PART: i64 = 8;
/// Number of lanes up to which the median of the lanes is weak evidence.
const FEW_LANES: usize = 4;
/// Of its other own time a slow lane has to be slow in this share, or it is doubted.
const SLOW_SHARE: f64 = 0.5;
/// A lane counts as slow elsewhere from this share of the factor's excess on.
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
    /// Looks for lanes that are slower than their peers, for growth and for changes. Of a part of a run that somebody selected
    /// nothing is found.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Trace, progress: Progress<'_>) -> Result<Self, Cancelled> {
        let Some((start, end)) = trace.time_span().filter(|_| !trace.is_selection) else {
            return Ok(Self::default());
        };
        let run = end.since(start);
        let own_times = OwnTimes::of(trace, progress.part(0.0, 0.4))?;
        let contexts = Contexts::judge(&own_times, progress.part(0.4, 1.0))?;
        let (names, of_lane) = hosts(trace);
        let host = |&at: &usize| names.get(at).cloned().unwrap_or_default();
        let hosts: Vec<String> = of_lane.iter().map(host).collect();
        let trend = |group: &Group| contexts.trend((trace, start), &hosts, group);
        let found = groups(contexts.found.clone(), run, own_times.least, |lane| {
            trace.lane(lane).rank
        });
        Ok(Self {
            all: found.iter().filter_map(trend).collect(),
        })
    }

    /// The findings, the costliest first.
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
            let findings = summary.findings(series, DurationNs(own_times.least.0 / LEAST_PART));
            if !findings.is_empty() {
                found.insert(context, findings);
            }
            summaries.insert(context, summary);
        }
        Ok(Self { summaries, found })
    }

    fn trend(
        &self,
        (trace, start): (&Trace, TimeNs),
        hosts: &[String],
        group: &Group,
    ) -> Option<Trend> {
        let summary = self.summaries.get(&group.context)?;
        let shift = group.shift()?;
        let lanes = group.lanes();
        let all = || summary.lanes.iter().map(|it| it.lane);
        let peers: Vec<LaneIdx> = all().filter(|lane| !lanes.contains(lane)).collect();
        let ranks = ranks(trace, lanes.iter().copied());
        let peer_ranks = self::ranks(trace, peers.iter().copied());
        let mut other_funcs = Vec::new();
        for context in &group.others {
            if context.func != group.context.func && !other_funcs.contains(&context.func) {
                other_funcs.push(context.func);
            }
        }
        Some(Trend {
            kind: kind(shift, start),
            host: common_host(trace, hosts, &lanes),
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

    fn doubt(&self, group: &Group, shift: Shift, summary: &ContextSummary) -> Option<TrendDoubt> {
        let Shift::Slow { usual_ns, peers_ns } = shift else {
            let is_all = summary.lanes.len() > 1 && group.of_lanes.len() == summary.lanes.len();
            return is_all.then_some(TrendDoubt::AllLanes);
        };
        let factor = usual_ns.real() / peers_ns.max(1).real();
        let least = 1.0 + SLOW_ELSEWHERE * (factor - 1.0);
        let (mut slow_ns, mut other_ns) = (0.0, 0.0);
        for (context, other) in &self.summaries {
            let peers = other.peers().filter(|_| *context != group.context);
            let Some(peers) = peers.filter(|_| context.program == group.context.program) else {
                continue;
            };
            let of_group = other.lanes.iter();
            for lane in of_group.filter(|it| group.of_lanes.iter().any(|at| at.lane == it.lane)) {
                other_ns += lane.total_ns.real();
                if lane.usual_ns.real() >= least * peers.usual_ns.real() {
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

fn ranks(trace: &Trace, lanes: impl Iterator<Item = LaneIdx>) -> BTreeSet<RankId> {
    lanes.map(|lane| trace.lane(lane).rank).collect()
}

/// The host of all of the lanes, if the run has several.
fn common_host(trace: &Trace, hosts: &[String], lanes: &BTreeSet<LaneIdx>) -> String {
    let of = |lane: LaneIdx| hosts.get(lane.index()).map_or("", String::as_str);
    let programs: BTreeSet<ProgramId> = lanes.iter().map(|it| trace.lane(*it).program).collect();
    let of_lanes: BTreeSet<&str> = lanes.iter().map(|&lane| of(lane)).collect();
    let of_run: BTreeSet<&String> = hosts.iter().collect();
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
