//! Standstills: of several lanes that take too long in the library at once, which one do the others wait for?
//!
//! Within milliseconds after one rank is stopped the others stand too, in sends as in receives. TAU's stamps prove one
//! direction only: a sender that is still in the send of a message is what the receiver of that message waits for, and a receiver
//! that is in the call that takes a message is ready. Else the order decides in which the ranks fell silent and moved again.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{CommKind, DurationNs, LaneIdx, TimeNs};

use super::clock::Clocks;
use super::delay::CauseKind;
use super::delay_root::{DelayRoot, RootIdx};
use super::release::{Partners, STILL_SENDING};
use super::replay::ChargedWait;
use super::segments::{OperationRef, Segments};

/// Delays from here on are looked at.
const LEAST: DurationNs = STILL_SENDING;
/// How many times as much the order in which ranks fall silent says as that in which they move again.
const SILENCE_SAYS: i128 = 8;
/// What moved this much earlier was not waiting for the other.
const CLEAR: DurationNs = DurationNs::from_us(200);
/// Messages between hosts that are late together: by at least this, …
const LEAST_TRANSFER: DurationNs = DurationNs::from_us(1_000);
/// … of at least this number of lanes, …
const TRANSFER_LANES: usize = 3;
/// … of which most are within a factor of two of the median: the network was late, not the ranks.
const TRANSFER_ALIKE_PERCENT: usize = 70;

/// Lays the delays within calls of the library to those that they are but a part of, and names those of the network.
pub(super) fn settle(
    segments: &Segments,
    partners: &Partners<'_>,
    clocks: &Clocks,
    waits: &[ChargedWait],
    roots: &mut [DelayRoot],
) {
    let waits = charged(segments, waits);
    let mut order: Vec<usize> = (0..roots.len())
        .filter(|&it| roots[it].amount > LEAST)
        .collect();
    order.sort_by_key(|&it| (roots[it].start, it));
    let mut group: Vec<usize> = Vec::new();
    let mut end = TimeNs(i64::MIN);
    for it in order {
        if !group.is_empty() && roots[it].start > end {
            settle_group(segments, partners, clocks, &waits, roots, &group);
            group.clear();
        }
        end = end.max(roots[it].end);
        group.push(it);
    }
    settle_group(segments, partners, clocks, &waits, roots, &group);
    lay(segments, roots);
}

/// A wait that is laid to a root.
struct WaitFor {
    start: TimeNs,
    end: TimeNs,
    root: usize,
}

/// The waits that are laid to roots, by lane, then time.
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

/// How early a root is: the smaller, the likelier the others wait for it.
fn earliness(root: &DelayRoot) -> i128 {
    SILENCE_SAYS * i128::from(root.due.0) + i128::from(root.end.0)
}

fn settle_group(
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
    if let Some(first) = late_network(segments, partners, clocks, roots, group) {
        roots[first].kind = CauseKind::Transfer;
        for &it in group.iter().filter(|it| **it != first) {
            roots[it].laid_to = Some(RootIdx::from_index(first));
        }
        return;
    }
    let graph = Graph::new(segments, partners, waits, roots, group);
    for &it in group {
        let waits_for = graph.all_from(it);
        if waits_for.len() < 2 {
            continue;
        }
        let is_sink = |it: &usize| graph.next(*it).is_empty();
        let sinks: Vec<usize> = waits_for.iter().copied().filter(is_sink).collect();
        let candidates = if sinks.is_empty() { &waits_for } else { &sinks };
        let Some(&first) = candidates
            .iter()
            .min_by_key(|it| (earliness(&roots[**it]), **it))
        else {
            continue;
        };
        let own = earliness(&roots[it]) + SILENCE_SAYS * i128::from(roots[it].amount.0);
        if first == it || earliness(&roots[first]) >= own {
            continue;
        }
        let others = waits_for.iter().filter(|other| **other != first);
        let second = others.min_by_key(|it| (earliness(&roots[**it]), **it));
        let second = second.map(|&it| (earliness(&roots[it]), roots[it].lane));
        let margin = second.map(|(at, _)| (at - earliness(&roots[first])) / (SILENCE_SAYS + 1));
        roots[it].laid_to = Some(RootIdx::from_index(first));
        roots[first].margin = margin.map(|it| DurationNs(i64::try_from(it).unwrap_or(i64::MAX)));
        roots[first].next_best = second.map(|(_, lane)| segments.lane(lane).process);
    }
}

/// Three or more lanes wait at once for messages of other hosts, all about as long, and no rank was at work meanwhile:
/// the first of them.
fn late_network(
    segments: &Segments,
    partners: &Partners<'_>,
    clocks: &Clocks,
    roots: &[DelayRoot],
    group: &[usize],
) -> Option<usize> {
    let is_from_afar = |it: &&usize| {
        let root = &roots[**it];
        let Some(operation) = root.operation.filter(|_| root.amount >= LEAST_TRANSFER) else {
            return false;
        };
        let rows = partners.rows(root.lane, segments.operation(operation), CommKind::Recv);
        let sender = rows.last().and_then(|row| partners.mate(root.lane, row));
        sender.is_some_and(|(it, _)| clocks.host_of(it.lane) != clocks.host_of(root.lane))
    };
    let from_afar: Vec<usize> = group.iter().filter(is_from_afar).copied().collect();
    let mut lanes: Vec<LaneIdx> = from_afar.iter().map(|&it| roots[it].lane).collect();
    lanes.sort_unstable();
    lanes.dedup();
    if lanes.len() < TRANSFER_LANES {
        return None;
    }
    let mut amounts: Vec<DurationNs> = from_afar.iter().map(|&it| roots[it].amount).collect();
    amounts.sort_unstable();
    let median = amounts[amounts.len() / 2];
    let is_half = |it: DurationNs| it.0.saturating_mul(2) > median.0;
    let is_own = |it: &&usize| roots[**it].operation.is_none() && is_half(roots[**it].amount);
    if group.iter().any(|it| is_own(&it)) {
        return None;
    }
    let is_alike = |it: &&DurationNs| is_half(**it) && it.0 < median.0.saturating_mul(2);
    let num_alike = amounts.iter().filter(is_alike).count();
    if num_alike * 100 < amounts.len() * TRANSFER_ALIKE_PERCENT {
        return None;
    }
    from_afar
        .into_iter()
        .min_by_key(|&it| (roots[it].start, it))
}

/// Which root of a group waits for which others.
struct Graph {
    next: BTreeMap<usize, Vec<usize>>,
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
        let look = Look {
            segments,
            partners,
            waits,
            roots,
            by_lane,
        };
        let next = group.iter().filter_map(|&it| {
            roots[it].operation?;
            Some((it, look.waits_for(it)))
        });
        Self {
            next: next.collect(),
        }
    }

    fn next(&self, it: usize) -> &[usize] {
        self.next.get(&it).map_or(&[], Vec::as_slice)
    }

    /// A root and all that it waits for, directly or not.
    fn all_from(&self, it: usize) -> Vec<usize> {
        let mut seen = vec![it];
        let mut known = BTreeSet::from([it]);
        let mut at = 0;
        while let Some(&it) = seen.get(at) {
            let new = self.next(it).iter().filter(|next| known.insert(**next));
            seen.extend(new.collect::<Vec<_>>());
            at += 1;
        }
        seen
    }
}

/// A look at the roots of a group for what one of them waits for.
struct Look<'a> {
    segments: &'a Segments,
    partners: &'a Partners<'a>,
    waits: &'a [Vec<WaitFor>],
    roots: &'a [DelayRoot],
    /// In order of time.
    by_lane: BTreeMap<LaneIdx, Vec<usize>>,
}

impl Look<'_> {
    /// The other ends of the messages of one kind in a root's operation.
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
        let others = root.peers.iter().filter(|lane| **lane != root.lane);
        let peers = others.filter_map(|lane| self.by_lane.get(lane));
        let together: Vec<usize> = peers
            .flat_map(|of_lane| {
                let after = of_lane.partition_point(|&s| self.roots[s].end <= root.silent_from);
                let here = of_lane[after..].iter().copied();
                here.take_while(|&s| self.roots[s].silent_from < root.end)
            })
            .filter(|&s| share_most(root, &self.roots[s]))
            .collect();
        let senders = self.mates(it, CommKind::Recv);
        let receivers = self.mates(it, CommKind::Send);
        let is_in = |s: usize, of: &[OperationRef]| {
            let operation = self.roots[s].operation;
            operation.is_some_and(|it| of.contains(&it))
        };
        // Still in the send of the very message that this call waits for.
        let sending: Vec<usize> = together
            .iter()
            .copied()
            .filter(|&s| is_in(s, &senders) && !moved_first(root, &self.roots[s]))
            .collect();
        if !sending.is_empty() {
            return sending;
        }
        // A peer that waited meanwhile made no progress with what this one wants of it.
        let waiting = root.peers.iter().flat_map(|lane| {
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
                && share_most(root, cause)
        });
        let waiting: Vec<usize> = waiting.map(|wait| wait.root).collect();
        let only_sends = senders.is_empty() && !receivers.is_empty();
        let lies_before = |s: &usize| {
            let other = &self.roots[*s];
            let is_one_way = only_sends && !other.peers.contains(&root.lane);
            let is_earlier = earliness(other) < earliness(root);
            other.operation.is_none() || is_one_way || is_earlier
        };
        together
            .into_iter()
            .filter(lies_before)
            .filter(|&s| !is_in(s, &receivers) || moved_first(&self.roots[s], root))
            .chain(waiting)
            .collect()
    }
}

/// Whether at least half of a silence is also one of the other.
fn share_most(root: &DelayRoot, other: &DelayRoot) -> bool {
    let start = root.silent_from.max(other.silent_from);
    is_most(root.end.min(other.end).since(start), root)
}

/// Follows every root to the one that it is laid to in the end, and gives that its costs.
fn lay(segments: &Segments, roots: &mut [DelayRoot]) {
    let ends: Vec<Option<RootIdx>> = (0..roots.len()).map(|it| end_of(roots, it)).collect();
    for (root, end) in roots.iter_mut().zip(&ends) {
        root.laid_to = *end;
    }
    for (it, end) in ends.iter().enumerate() {
        let Some(end) = end else { continue };
        let part = roots[it].clone();
        let whole = &mut roots[end.index()];
        whole.cost += part.whole_cost();
        for (process, amount) in part.victims {
            *whole.victims.entry(process).or_default() += amount;
        }
        let process = segments.lane(part.lane).process;
        *whole.victims.entry(process).or_default() += part.amount;
        whole.last_wait_end = whole.last_wait_end.max(part.last_wait_end);
    }
}

/// The root at the end of the way from one; `None` for one that is laid to nothing, or to itself in the end.
fn end_of(roots: &[DelayRoot], from: usize) -> Option<RootIdx> {
    let mut at = roots[from].laid_to?;
    for _ in 0..roots.len() {
        match roots[at.index()].laid_to {
            Some(next) if next.index() != from => at = next,
            Some(_) => return None,
            None => return Some(at),
        }
    }
    None
}

/// Whether one of two that stalled together moved clearly before the other: then it did not wait for the other.
fn moved_first(one: &DelayRoot, other: &DelayRoot) -> bool {
    one.end + CLEAR < other.end
}

/// Whether a part is at least half of a silence.
fn is_most(part: DurationNs, root: &DelayRoot) -> bool {
    part.0.saturating_mul(2) >= root.end.since(root.silent_from).0
}
