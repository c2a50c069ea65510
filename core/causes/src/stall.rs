//! Stalls: decides, among lanes that take too long in the library at once, which one the others wait for.
//!
//! Within milliseconds after one rank is stopped the others stall too, in sends as in receives. TAU's stamps prove
//! one direction only: a receiver waits for the sender that is still in the send of its message, and a receiver that
//! is in the call that takes a message is ready. Otherwise the order decides in which the ranks fell silent and moved
//! again.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{CommKind, DurationNs, LaneIdx, TimeNs};
use callgrove_segments::{Clocks, OperationRef, Segments};

use super::delay_root::{DelayRoot, RootIdx, final_roots};
use super::late_network::{attribute_to_network, mark_undecided};
use super::release::{Partners, STILL_SENDING};
use super::replay::ChargedWait;

/// Minimum delay that is examined.
const MIN_DELAY: DurationNs = STILL_SENDING;
/// Weight of the order in which ranks fall silent, relative to that in which they move again.
const SILENCE_WEIGHT: i128 = 8;
/// Minimum lead with which a lane that moved first was not waiting for the other.
const CLEAR_LEAD: DurationNs = DurationNs::from_us(200);

/// Number of simultaneous delays, the earliest, with which an operation that may have waited for any lane is
/// compared.
const MAX_SIMULTANEOUS: usize = 32;
/// Maximum number of pairs of delays and lanes in one group up to which it is also compared with the waits of all
/// lanes.
const MAX_PAIRS: usize = 1 << 16;

/// Attributes the delays within calls of the library to those that they are part of, and marks those of the network.
pub(super) fn resolve(
    segments: &Segments,
    partners: &Partners<'_>,
    clocks: &Clocks,
    waits: &[ChargedWait],
    roots: &mut [DelayRoot],
) {
    let waits = charged(segments, waits);
    let mut order: Vec<usize> = (0..roots.len())
        .filter(|&it| roots[it].amount > MIN_DELAY)
        .collect();
    order.sort_by_key(|&it| (roots[it].start, it));
    let mut group: Vec<usize> = Vec::new();
    let mut end = TimeNs(i64::MIN);
    for it in order {
        if !group.is_empty() && roots[it].start > end {
            resolve_group(segments, partners, clocks, &waits, roots, &group);
            group.clear();
        }
        end = end.max(roots[it].end);
        group.push(it);
    }
    resolve_group(segments, partners, clocks, &waits, roots, &group);
    attribute_to_ends(segments, roots, partners.has_no_messages());
    mark_undecided(segments, partners, clocks, roots);
}

/// A wait that is attributed to a root.
struct WaitFor {
    start: TimeNs,
    end: TimeNs,
    root: usize,
}

/// Returns the waits that are attributed to roots, by lane, then time.
fn charged(segments: &Segments, waits: &[ChargedWait]) -> Vec<Vec<WaitFor>> {
    let mut found: Vec<Vec<WaitFor>> = segments.lanes.iter().map(|_| Vec::new()).collect();
    for wait in waits {
        if let Some(root) = wait.root {
            let operation = segments.operation(wait.operation);
            found[wait.operation.lane.index()].push(WaitFor {
                start: operation.start,
                end: operation.end,
                root: root.index(),
            });
        }
    }
    for lane in &mut found {
        lane.sort_by_key(|it| (it.start, it.end));
    }
    found
}

/// Returns the earliness of a root: the smaller, the more likely the others wait for it.
fn earliness(root: &DelayRoot) -> i128 {
    SILENCE_WEIGHT * i128::from(root.due.0) + i128::from(root.end.0)
}

fn resolve_group(
    segments: &Segments,
    partners: &Partners<'_>,
    clocks: &Clocks,
    waits: &[Vec<WaitFor>],
    roots: &mut [DelayRoot],
    group: &[usize],
) {
    if group.len() < 2 {
        return;
    }
    let group = &attribute_to_network(segments, partners, clocks, roots, group);
    let graph = Graph::new(segments, partners, waits, roots, group);
    let found = graph.earliest();
    for &it in group {
        let Some(&Earliest { first, second }) = found.get(&it) else {
            continue;
        };
        let own = earliness(&roots[it]) + SILENCE_WEIGHT * i128::from(roots[it].amount.0);
        if first == it || earliness(&roots[first]) >= own {
            continue;
        }
        let second = second.map(|it| (earliness(&roots[it]), roots[it].lane));
        let margin = second.map(|(at, _)| (at - earliness(&roots[first])) / (SILENCE_WEIGHT + 1));
        roots[it].attributed_to = Some(RootIdx::from_index(first));
        roots[first].margin = margin.map(|it| DurationNs(i64::try_from(it).unwrap_or(i64::MAX)));
        roots[first].next_best = second.map(|(_, lane)| segments.lane(lane).process);
    }
}

/// A graph of which roots of a group wait for which others.
struct Graph {
    next: BTreeMap<usize, Vec<usize>>,
    /// All roots, the earliest first.
    order: Vec<usize>,
}

/// The earliest among the roots that one waits for, directly or not.
struct Earliest {
    /// The earliest of those that wait for none; without any, the earliest of all, including itself.
    first: usize,
    /// The earliest of the others, including itself.
    second: Option<usize>,
}

impl Graph {
    fn new(
        segments: &Segments,
        partners: &Partners<'_>,
        waits: &[Vec<WaitFor>],
        roots: &[DelayRoot],
        group: &[usize],
    ) -> Self {
        let mut by_lane: BTreeMap<LaneIdx, Vec<usize>> = BTreeMap::new();
        for &it in group {
            by_lane.entry(roots[it].lane).or_default().push(it);
        }
        let all = 0..segments.lanes.len();
        let any_lanes = if all.len().saturating_mul(group.len()) <= MAX_PAIRS {
            all.map(LaneIdx::from_index).collect()
        } else {
            Vec::new()
        };
        let search = GroupSearch {
            segments,
            partners,
            waits,
            roots,
            by_lane,
            any_lanes,
            simultaneous: simultaneous(roots, group),
        };
        let next = group.iter().filter_map(|&it| {
            roots[it].operation?;
            Some((it, search.waits_for(it)))
        });
        let next: BTreeMap<usize, Vec<usize>> = next.collect();
        // A root that is waited for may lie outside the group.
        let all: BTreeSet<usize> = group
            .iter()
            .chain(next.values().flatten())
            .copied()
            .collect();
        let mut order: Vec<usize> = all.into_iter().collect();
        order.sort_by_key(|&it| (earliness(&roots[it]), it));
        Self { next, order }
    }

    fn waits(&self, it: usize) -> bool {
        self.next.get(&it).is_some_and(|next| !next.is_empty())
    }

    /// Returns the earliest roots for every root that waits for another. Cost: linear in the graph.
    fn earliest(&self) -> BTreeMap<usize, Earliest> {
        let mut before: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (&it, next) in &self.next {
            for &next in next {
                before.entry(next).or_default().push(it);
            }
        }
        let ends = self.order.iter().filter(|it| !self.waits(**it));
        let ends = first_reached(ends.copied(), &before, 1);
        let all = first_reached(self.order.iter().copied(), &before, 2);
        let waiting = self.order.iter().filter(|it| self.waits(**it));
        let found = waiting.filter_map(|it| {
            let of_all = all.get(it)?;
            let first = *ends.get(it).unwrap_or(of_all).first()?;
            let second = of_all.iter().copied().find(|it| *it != first);
            Some((*it, Earliest { first, second }))
        });
        found.collect()
    }
}

/// Returns for each root the first `most` of `starts`, in their order, from which the edges `before` lead to it.
fn first_reached(
    starts: impl Iterator<Item = usize>,
    before: &BTreeMap<usize, Vec<usize>>,
    most: usize,
) -> BTreeMap<usize, Vec<usize>> {
    let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for start in starts {
        let mut open = vec![start];
        while let Some(it) = open.pop() {
            let reached = found.entry(it).or_default();
            // A root that has enough of them has passed those on already.
            if reached.len() < most && reached.last() != Some(&start) {
                reached.push(start);
                open.extend(before.get(&it).into_iter().flatten());
            }
        }
    }
    found
}

/// The search among the roots of a group for the ones that each waits for.
struct GroupSearch<'a> {
    segments: &'a Segments,
    partners: &'a Partners<'a>,
    waits: &'a [Vec<WaitFor>],
    roots: &'a [DelayRoot],
    /// The roots by lane, in order of time.
    by_lane: BTreeMap<LaneIdx, Vec<usize>>,
    /// The lanes whose waits are compared with a root that may have waited for any lane.
    any_lanes: Vec<LaneIdx>,
    /// For each such root, the earliest roots of other lanes that are present in the middle of its silence.
    simultaneous: BTreeMap<usize, Vec<usize>>,
}

/// Returns the middle of a silence: a root that shares half of the silence is present then.
fn middle(root: &DelayRoot) -> TimeNs {
    root.silent_from + DurationNs(root.end.since(root.silent_from).0 / 2)
}

/// Returns, for the roots of a group that may have waited for any lane, the earliest roots of other lanes that are
/// present in the middle of their silence. Cost: O(n log n).
fn simultaneous(roots: &[DelayRoot], group: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut events: Vec<(TimeNs, u8, usize)> = Vec::new();
    for &it in group {
        events.push((roots[it].silent_from, 0, it));
        if roots[it].is_for_any {
            events.push((middle(&roots[it]), 1, it));
        }
        events.push((roots[it].end, 2, it));
    }
    if events.len() == 2 * group.len() {
        return BTreeMap::new();
    }
    events.sort_unstable();
    let mut there: BTreeSet<(i128, usize)> = BTreeSet::new();
    let mut found = BTreeMap::new();
    for (_, event, it) in events {
        let root = &roots[it];
        let key = (earliness(root), it);
        match event {
            0 => {
                there.insert(key);
            }
            1 => {
                let others = there.iter().map(|it| it.1);
                let others = others.filter(|other| roots[*other].lane != root.lane);
                found.insert(it, others.take(MAX_SIMULTANEOUS).collect());
            }
            _ => {
                there.remove(&key);
            }
        }
    }
    found
}

impl GroupSearch<'_> {
    /// Returns the other ends of the messages of one kind in a root's operation.
    fn mates(&self, it: usize, kind: CommKind) -> Vec<OperationRef> {
        let root = &self.roots[it];
        let Some(operation) = root.operation else {
            return Vec::new();
        };
        let operation = self.segments.operation(operation);
        let rows = self.partners.rows(root.lane, operation, kind);
        let mates = rows.filter_map(|row| self.partners.mate(root.lane, row));
        mates.map(|(mate, _)| mate).collect()
    }

    fn waits_for(&self, it: usize) -> Vec<usize> {
        let root = &self.roots[it];
        let peers = if root.is_for_any {
            &self.any_lanes[..]
        } else {
            &root.peers[..]
        };
        let others = peers.iter().filter(|lane| **lane != root.lane);
        let of_peers = others.filter_map(|lane| self.by_lane.get(lane));
        let of_peers = of_peers.flat_map(|of_lane| {
            let after = of_lane.partition_point(|&s| self.roots[s].end <= root.silent_from);
            let here = of_lane[after..].iter().copied();
            here.take_while(|&s| self.roots[s].silent_from < root.end)
        });
        let mut together: Vec<usize> = match self.simultaneous.get(&it) {
            Some(simultaneous) => simultaneous.clone(),
            None => of_peers.collect(),
        };
        together.retain(|&s| overlaps_most(root, &self.roots[s]));
        let senders = self.mates(it, CommKind::Recv);
        let receivers = self.mates(it, CommKind::Send);
        let is_in = |s: usize, of: &[OperationRef]| {
            let operation = self.roots[s].operation;
            operation.is_some_and(|it| of.contains(&it))
        };
        // Still in the send of the message that this call waits for.
        let sending: Vec<usize> = together
            .iter()
            .copied()
            .filter(|&s| is_in(s, &senders) && !moved_first(root, &self.roots[s]))
            .collect();
        if !sending.is_empty() {
            return sending;
        }
        // A peer that waited at the time made no progress with what this one needs of it.
        let waiting = peers.iter().flat_map(|lane| {
            let of_lane = &self.waits[lane.index()];
            let after = of_lane.partition_point(|wait| wait.end <= root.silent_from);
            let here = of_lane[after..].iter();
            here.take_while(|wait| wait.start < root.end)
        });
        let waiting = waiting.filter(|wait| {
            let shared = root
                .end
                .min(wait.end)
                .since(root.silent_from.max(wait.start));
            let cause = &self.roots[wait.root];
            is_most(shared, root)
                && wait.root != it
                && earliness(cause) < earliness(root)
                && overlaps_most(root, cause)
        });
        let waiting: Vec<usize> = waiting.map(|wait| wait.root).collect();
        let only_sends = senders.is_empty() && !receivers.is_empty();
        let lies_before = |s: &usize| {
            let other = &self.roots[*s];
            let is_one_way = only_sends && other.peers.binary_search(&root.lane).is_err();
            let is_earlier = (earliness(other), *s) < (earliness(root), it);
            let is_work = other.operation.is_none() && !other.is_unreported;
            is_work || is_one_way || is_earlier
        };
        together
            .into_iter()
            .filter(lies_before)
            .filter(|&s| !is_in(s, &receivers) || moved_first(&self.roots[s], root))
            .chain(waiting)
            .collect()
    }
}

/// Returns whether at least half of a silence is also one of the other.
fn overlaps_most(root: &DelayRoot, other: &DelayRoot) -> bool {
    let start = root.silent_from.max(other.silent_from);
    is_most(root.end.min(other.end).since(start), root)
}

/// Follows every root to the one that it is finally attributed to, and adds its costs there.
fn attribute_to_ends(segments: &Segments, roots: &mut [DelayRoot], has_no_messages: bool) {
    let ends = final_roots(roots);
    // A wait, or a call whose messages are known, proves that the root was waited for.
    let mut is_proven: Vec<bool> = (roots.iter())
        .map(|it| it.cost > DurationNs::ZERO)
        .collect();
    for (it, end) in ends.iter().enumerate() {
        roots[it].attributed_to = *end;
        if let Some(end) = end.filter(|_| !roots[it].is_for_any) {
            is_proven[end.index()] = true;
        }
    }
    for end in ends.iter().flatten() {
        roots[end.index()].is_unproven = !is_proven[end.index()];
    }
    for (root, is_proven) in roots.iter_mut().zip(is_proven) {
        root.is_unmatched &= has_no_messages || !is_proven;
    }
    for (it, end) in ends.iter().enumerate() {
        let Some(end) = end else { continue };
        let part = roots[it].clone();
        let whole = &mut roots[end.index()];
        whole.cost += part.total_cost();
        for (process, amount) in part.victims {
            *whole.victims.entry(process).or_default() += amount;
        }
        let process = segments.lane(part.lane).process;
        *whole.victims.entry(process).or_default() += part.amount;
        whole.last_wait_end = whole.last_wait_end.max(part.last_wait_end);
    }
}

/// Returns whether one of two that stalled together moved clearly before the other, and so did not wait for it.
fn moved_first(one: &DelayRoot, other: &DelayRoot) -> bool {
    one.end + CLEAR_LEAD < other.end
}

/// Returns whether a part is at least half of a silence.
fn is_most(part: DurationNs, root: &DelayRoot) -> bool {
    part.0.saturating_mul(2) >= root.end.since(root.silent_from).0
}
