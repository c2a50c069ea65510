//! Groups of findings: equal findings on several lanes or functions are one.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, LaneIdx, RankId, TimeNs};

use super::judge::{LaneFinding, Shift};
use super::own_time::OwnTimeContext;
use super::robust::{median, signed};

/// Divisor of the run's length: changes of several lanes within 1/20 of the run, the length of a window, are one.
const SAME_TIME: i64 = 20;

/// Findings of one kind on several lanes, in one context and in others that follow it.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The costliest context.
    pub(super) context: OwnTimeContext,
    /// The findings in that context, by lane.
    pub(super) of_lanes: Vec<LaneFinding>,
    /// Further contexts, the costliest first.
    pub(super) others: Vec<OwnTimeContext>,
    pub(super) cost: DurationNs,
    /// The ranks of the lanes.
    ranks: BTreeSet<RankId>,
}

impl Group {
    pub(super) fn lanes(&self) -> BTreeSet<LaneIdx> {
        self.of_lanes.iter().map(|it| it.lane).collect()
    }

    /// Returns the shift: medians over the lanes, at the time of the first lane.
    pub(super) fn shift(&self) -> Option<Shift> {
        let of = |pick: &dyn Fn(Shift) -> i64| {
            median(self.of_lanes.iter().map(|it| pick(it.what)).collect())
        };
        let [first, second] = [of(&|it| pair(it).0), of(&|it| pair(it).1)];
        Some(match self.of_lanes.first()?.what {
            Shift::Slow { .. } => Shift::Slow {
                usual_ns: first,
                peers_ns: second,
            },
            Shift::Growth { .. } => Shift::Growth {
                from_ns: first,
                to_ns: second,
            },
            Shift::Change { at, .. } => Shift::Change {
                from_ns: first,
                to_ns: second,
                at,
            },
        })
    }

    /// Returns the smallest evidence of a lane.
    pub(super) fn evidence(&self) -> f64 {
        let all = self.of_lanes.iter().map(|it| it.evidence);
        all.fold(f64::INFINITY, f64::min)
    }

    fn time(&self) -> TimeNs {
        match self.of_lanes.first().map(|it| it.what) {
            Some(Shift::Change { at, .. }) => at,
            _ => TimeNs(0),
        }
    }

    /// Returns whether another, less costly group is part of this finding.
    fn covers(&self, other: &Self, run: DurationNs) -> bool {
        let is_same = |one: &LaneFinding, two: &LaneFinding| kind(one) == kind(two);
        let (Some(own), Some(others)) = (self.of_lanes.first(), other.of_lanes.first()) else {
            return false;
        };
        is_same(own, others)
            && self.context.program == other.context.program
            && other.ranks.is_subset(&self.ranks)
            && other.time().since(self.time()).0.saturating_abs() <= run.0 / SAME_TIME
    }
}

/// Joins the findings of all contexts, the costliest first, and drops those that cost each of their lanes less than
/// `min_cost`. `run` is the length of the run.
pub(super) fn groups(
    found: BTreeMap<OwnTimeContext, Vec<LaneFinding>>,
    run: DurationNs,
    min_cost: DurationNs,
    rank_of: impl Fn(LaneIdx) -> RankId,
) -> Vec<Group> {
    let mut apart = Vec::new();
    for (context, findings) in found {
        let mut of_kind: BTreeMap<u8, Vec<LaneFinding>> = BTreeMap::new();
        for finding in findings {
            let kind = kind(&finding);
            of_kind.entry(kind).or_default().push(finding);
        }
        for findings in of_kind.into_values() {
            for of_lanes in at_one_time(findings, run) {
                apart.push(Group {
                    context,
                    cost: of_lanes.iter().map(|it| it.cost).sum(),
                    ranks: of_lanes.iter().map(|it| rank_of(it.lane)).collect(),
                    of_lanes,
                    others: Vec::new(),
                });
            }
        }
    }
    apart.sort_by_key(|it| (std::cmp::Reverse(it.cost), it.context, it.lanes()));
    let mut groups: Vec<Group> = Vec::new();
    for group in apart {
        if let Some(whole) = groups.iter_mut().find(|it| it.covers(&group, run)) {
            whole.others.push(group.context);
            whole.cost += group.cost;
        } else {
            groups.push(group);
        }
    }
    let matters = |it: &Group| it.cost.0 >= min_cost.0.saturating_mul(signed(it.of_lanes.len()));
    groups.retain(matters);
    groups.sort_by_key(|it| std::cmp::Reverse(it.cost));
    groups
}

/// Splits changes into groups of one time and one direction each, ordered by lane; all other findings are one group.
fn at_one_time(mut findings: Vec<LaneFinding>, run: DurationNs) -> Vec<Vec<LaneFinding>> {
    let moment = |it: &LaneFinding| match it.what {
        Shift::Change { at, from_ns, to_ns } => (from_ns < to_ns, at),
        _ => (true, TimeNs(0)),
    };
    findings.sort_by_key(|it| (moment(it), it.lane));
    let is_one = |one: &LaneFinding, other: &LaneFinding| {
        let ((up, at), (next_up, next)) = (moment(one), moment(other));
        up == next_up && next.since(at).0 <= run.0 / SAME_TIME
    };
    let mut parts: Vec<Vec<LaneFinding>> = Vec::new();
    for part in findings.chunk_by(is_one) {
        let mut part = part.to_vec();
        part.sort_by_key(|it| it.lane);
        parts.push(part);
    }
    parts
}

/// Returns a number that findings must share to be one.
fn kind(finding: &LaneFinding) -> u8 {
    match finding.what {
        Shift::Slow { .. } if finding.is_among_slow => 3,
        Shift::Slow { .. } => 0,
        Shift::Growth { .. } => 1,
        Shift::Change { .. } => 2,
    }
}

fn pair(shift: Shift) -> (i64, i64) {
    match shift {
        Shift::Slow { usual_ns, peers_ns } => (usual_ns, peers_ns),
        Shift::Growth { from_ns, to_ns } | Shift::Change { from_ns, to_ns, .. } => (from_ns, to_ns),
    }
}
