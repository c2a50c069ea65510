//! Makes a collective that not all members of its group entered the root of all delays that follow from it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use callgrove_model::{DurationNs, ExecRef, TimeNs, Trace};
use callgrove_segments::{Clocks, OperationRef, Segments};

use super::super::delay_root::{DelayRoot, RootIdx};
use super::super::grouping::Cluster;
use super::super::outcome::{CauseKind, Unentered, WaitKind};
use super::super::release::{Release, Released};
use super::super::replay::{ChargedWait, Replayed};
use super::groups::groups;
use super::missing::{MemberWait, Unfinished, records, unfinished};
use super::whereabouts::{Whereabouts, whereabouts};

/// Collectives that wait for one another, with the first cause: one disturbance.
struct Hang {
    /// The collective whose missing members are in no other one.
    first: Unfinished,
    /// The waits in all of them, by process.
    waits: BTreeMap<usize, MemberWait>,
    /// Where the first missing rank is.
    missing: Whereabouts,
    /// The root that it becomes.
    root: RootIdx,
}

/// The collectives of a run that not all members of their groups entered.
#[derive(Default)]
pub(in super::super) struct Hangs {
    all: Vec<Hang>,
}

impl Hangs {
    /// Finds them; none in a selection of executions, in which calls cannot be counted. Delays that follow from one are
    /// attributed to a root of it, which is added last. Cost: that of [`groups`], and linear in roots and waits.
    pub(in super::super) fn find(
        trace: &Trace,
        clocks: &Clocks,
        segments: &Segments,
        replayed: &mut Replayed,
        released: &mut [Vec<Released>],
    ) -> Self {
        let mut all = Vec::new();
        if trace.is_selection || segments.processes.len() < 2 {
            return Self { all };
        }
        for (first, waits) in joined(all_unfinished(trace, clocks, segments)) {
            let time = first.start()..first.end();
            let Some(&rank) = first.missing.first() else {
                continue;
            };
            if let Some(missing) = whereabouts(trace, clocks, segments, rank, &time) {
                all.push(Hang {
                    root: RootIdx::from_index(replayed.roots.len() + all.len()),
                    first,
                    waits,
                    missing,
                });
            }
        }
        for hang in &all {
            hang.attribute(segments, replayed, released);
        }
        Self { all }
    }

    /// Adds their roots, and an incident of each.
    pub(in super::super) fn add(&self, roots: &mut Vec<DelayRoot>, clusters: &mut Vec<Cluster>) {
        for it in &self.all {
            let root = it.root();
            clusters.push(Cluster {
                kind: root.kind,
                roots: vec![roots.len()],
                start: root.start.min(it.first.start()),
                end: root.last_wait_end,
                cost: root.total_cost(),
                lost_run_time: None,
                starts: Vec::new(),
            });
            roots.push(root);
        }
    }

    fn of_root(&self, root: usize) -> Option<&Hang> {
        self.all.iter().find(|it| it.root.index() == root)
    }

    /// Returns the confidence in a root, if it is of a collective.
    pub(in super::super) fn confidence_percent(&self, root: usize) -> Option<u8> {
        Some(self.of_root(root)?.first.confidence_percent)
    }

    /// Returns the collective of a root.
    pub(in super::super) fn unentered(
        &self,
        trace: &Trace,
        segments: &Segments,
        root: usize,
    ) -> Option<Unentered> {
        let it = self.of_root(root)?;
        let rank = |process: &usize| segments.processes[*process].1;
        let longest = (it.first.waits.values())
            .max_by_key(|wait| (wait.duration(), std::cmp::Reverse(wait.operation)))?;
        let operation = segments.operation(longest.operation);
        let members: BTreeSet<usize> = (it.first.waits.keys())
            .chain(&it.first.missing)
            .copied()
            .collect();
        Some(Unentered {
            call: ExecRef {
                lane: longest.operation.lane,
                exec: operation.call,
            },
            func: trace.lane(longest.operation.lane).executions.func[operation.call.index()],
            number: it.first.number,
            group: members.iter().map(rank).collect(),
            missing: it.first.missing.iter().map(rank).collect(),
            num_waiting: it.waits.len(),
            state: it.missing.state,
        })
    }
}

impl Hang {
    fn root(&self) -> DelayRoot {
        let first = self.first.start();
        let Whereabouts {
            lane,
            call,
            start,
            end,
            ..
        } = self.missing;
        let mut root = DelayRoot::new(lane, call, start, end);
        root.kind = CauseKind::NotEntered;
        root.last_wait_end = self.time().end;
        root.amount = root.last_wait_end.since(first.max(start));
        let waits = self.waits.iter();
        root.victims = waits.map(|it| (*it.0, it.1.duration())).collect();
        root.cost = root.victims.values().copied().sum();
        root
    }

    /// Returns the time range from the first wait, or the last event of the missing rank before it, to the last wait.
    fn time(&self) -> Range<TimeNs> {
        let starts = self.waits.values().map(|it| it.start);
        let ends = self.waits.values().map(|it| it.end);
        let start = starts.min().unwrap_or_default();
        start.min(self.missing.start)..ends.max().unwrap_or_default()
    }

    /// Attributes to it the delays of its processes that are mostly in its time range, and the waits in it.
    fn attribute(
        &self,
        segments: &Segments,
        replayed: &mut Replayed,
        released: &mut [Vec<Released>],
    ) {
        let processes: BTreeSet<usize> = (self.waits.keys())
            .chain(&self.first.missing)
            .copied()
            .collect();
        let time = self.time();
        let is_within = |of: Range<TimeNs>| {
            let part = of.end.min(time.end).since(of.start.max(time.start));
            part > DurationNs::ZERO && part.0.saturating_mul(2) > of.end.since(of.start).0
        };
        for root in &mut replayed.roots {
            let process = segments.lane(root.lane).process;
            if processes.contains(&process) && is_within(root.start..root.end) {
                root.attributed_to = Some(self.root);
            }
        }
        // Roots that were attributed to one of these.
        for index in 0..replayed.roots.len() {
            let end = replayed.roots[index].attributed_to;
            let end = end.and_then(|it| replayed.roots.get(it.index()));
            if end.is_some_and(|it| it.attributed_to == Some(self.root)) {
                replayed.roots[index].attributed_to = Some(self.root);
            }
        }
        let of_operation = |it: OperationRef| {
            let operation = segments.operation(it);
            processes.contains(&segments.lane(it.lane).process)
                && is_within(operation.start..operation.end)
        };
        replayed.by_design.retain(|it| !of_operation(*it));
        for wait in &mut replayed.waits {
            if wait.root.is_none() && of_operation(wait.operation) {
                wait.root = Some(self.root);
            }
        }
        self.charge(segments, replayed, released);
    }

    /// Replaces the waits of its members by waits for the missing rank.
    fn charge(&self, segments: &Segments, replayed: &mut Replayed, released: &mut [Vec<Released>]) {
        let own: BTreeSet<OperationRef> = self.waits.values().map(|it| it.operation).collect();
        replayed.waits.retain(|it| !own.contains(&it.operation));
        for wait in self.waits.values() {
            let it = wait.operation;
            replayed.waits.push(ChargedWait {
                operation: it,
                amount: wait.duration(),
                root: Some(self.root),
            });
            let operation = segments.operation(it);
            let kind = WaitKind::WaitAtCollective;
            let by = Release::now(self.missing.lane, operation.end, kind);
            released[it.lane.index()][it.at()] = Released { by: Some(by) };
        }
    }
}

/// Returns the collectives of all groups that not all members entered.
fn all_unfinished(trace: &Trace, clocks: &Clocks, segments: &Segments) -> Vec<Unfinished> {
    let mut records = records(trace, clocks, segments);
    let mut groups = groups(trace, clocks, segments);
    let mut found: Vec<Unfinished> = Vec::new();
    loop {
        let before = found.len();
        groups.retain(|group| {
            let it = unfinished(trace, segments, group, &records);
            let is_finished = it.is_none();
            found.extend(it);
            is_finished
        });
        if found.len() == before {
            return found;
        }
        // A rank without events is known to be in a collective of one group, so that others may wait for it in another.
        for (process, wait) in found[before..].iter().flat_map(|it| &it.waits) {
            let end = &mut records[*process].end;
            *end = wait.end.max(*end);
        }
    }
}

/// Joins collectives where a member that one waits for waits in another. Of each disturbance, returns the collective
/// whose missing members wait in none, and all waits.
fn joined(mut found: Vec<Unfinished>) -> Vec<(Unfinished, BTreeMap<usize, MemberWait>)> {
    found.sort_by_key(|it| (it.start(), it.missing.clone()));
    // The disturbance of each collective.
    let mut group: Vec<usize> = (0..found.len()).collect();
    for one in 0..found.len() {
        for other in 0..found.len() {
            let waits = |it: &usize| found[other].waits.contains_key(it);
            if one != other && found[one].missing.iter().any(waits) || is_same(&found, one, other) {
                let (from, to) = (group[one].max(group[other]), group[one].min(group[other]));
                for it in &mut group {
                    *it = if *it == from { to } else { *it };
                }
            }
        }
    }
    let mut disturbances: BTreeMap<usize, Vec<Unfinished>> = BTreeMap::new();
    for (group, it) in group.into_iter().zip(found) {
        disturbances.entry(group).or_default().push(it);
    }
    let first = |mut all: Vec<Unfinished>| {
        let mut waits: BTreeMap<usize, MemberWait> = BTreeMap::new();
        for (process, wait) in all.iter().flat_map(|it| &it.waits) {
            let known = waits.entry(*process).or_insert(*wait);
            if wait.duration() > known.duration() {
                *known = *wait;
            }
        }
        let is_waiting = |it: &Unfinished| it.missing.iter().all(|it| waits.contains_key(it));
        let first = all.iter().position(|it| !is_waiting(it));
        (all.swap_remove(first.unwrap_or(0)), waits)
    };
    disturbances.into_values().map(first).collect()
}

/// Returns whether two collectives miss a same rank.
fn is_same(found: &[Unfinished], one: usize, other: usize) -> bool {
    let missing = &found[other].missing;
    found[one].missing.iter().any(|it| missing.contains(it))
}
