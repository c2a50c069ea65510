//! Late messages between hosts: decides whether the network was late, or the receivers may have been stopped.
//!
//! A message that was sent in time and received late was late in the network, or its receiver was stopped in the call
//! that receives it. One receiver alone does not show which. If messages of several ranks to several ranks enter or leave
//! one host at the same time and are all late by about as much, the network was.

use std::collections::BTreeSet;

use callgrove_model::{CommKind, DurationNs, LaneIdx, TimeNs};
use callgrove_segments::{Clocks, Segments, TIE};

use super::delay_root::{DelayRoot, RootIdx};
use super::outcome::{CauseKind, Incident};
use super::release::Partners;

/// Minimum delay of a message that counts as late: that of an incident. Half or double of it moves only which short
/// delays are undecided.
const MIN_TRANSFER: DurationNs = Incident::MIN_DELAY;

/// The messages of other hosts that a delay in the library may have waited for.
struct LateMessages {
    /// The delay.
    root: usize,
    receiver: LaneIdx,
    /// Their senders, ascending.
    senders: Vec<LaneIdx>,
}

/// Returns the senders of the messages of other hosts that were the first to be received after a delay. A message
/// that was received earlier was not late.
fn late_senders(
    segments: &Segments,
    partners: &Partners<'_>,
    clocks: &Clocks,
    root: &DelayRoot,
) -> Vec<LaneIdx> {
    let Some(operation) = root.operation.filter(|_| root.amount >= MIN_TRANSFER) else {
        return Vec::new();
    };
    let stamps = &partners.trace.lane(root.lane).comms.time;
    let stamp = |row: usize| clocks.common(root.lane, stamps[row]);
    let rows = partners.rows(root.lane, segments.operation(operation), CommKind::Recv);
    let rows: Vec<usize> = rows.filter(|&row| stamp(row) >= middle(root)).collect();
    let Some(first) = rows.iter().map(|&row| stamp(row)).min() else {
        return Vec::new();
    };
    let rows = rows.into_iter().filter(|&row| stamp(row) <= first + TIE);
    let senders = rows.filter_map(|row| partners.mate(root.lane, row));
    let host = clocks.host_of(root.lane);
    let mut senders: Vec<LaneIdx> = senders
        .map(|(mate, _)| mate.lane)
        .filter(|&lane| clocks.host_of(lane) != host)
        .collect();
    senders.sort_unstable();
    senders.dedup();
    senders
}

/// Finds where the network was late, and attributes the delays of the receivers to the first of them. Returns the
/// other delays of the group.
pub(super) fn attribute_to_network(
    segments: &Segments,
    partners: &Partners<'_>,
    clocks: &Clocks,
    roots: &mut [DelayRoot],
    group: &[usize],
) -> Vec<usize> {
    let mut late: Vec<LateMessages> = Vec::new();
    for &root in group {
        let senders = late_senders(segments, partners, clocks, &roots[root]);
        if !senders.is_empty() {
            let receiver = roots[root].lane;
            late.push(LateMessages {
                root,
                receiver,
                senders,
            });
        }
    }
    let mut is_network: BTreeSet<usize> = BTreeSet::new();
    for (at, first) in late.iter().enumerate() {
        if is_network.contains(&first.root) {
            continue;
        }
        let same_time = late[at..].iter().take_while(|it| {
            let first = &roots[first.root];
            roots[it.root].start <= middle(first)
        });
        let same_time: Vec<&LateMessages> = same_time
            .filter(|it| !is_network.contains(&it.root))
            .filter(|it| is_alike(&roots[first.root], &roots[it.root]))
            .collect();
        if !crosses_one_host(clocks, &same_time) || works(clocks, roots, group, &same_time) {
            continue;
        }
        roots[first.root].kind = CauseKind::Transfer;
        for it in &same_time[1..] {
            roots[it.root].attributed_to = Some(RootIdx::from_index(first.root));
        }
        is_network.extend(same_time.iter().map(|it| it.root));
    }
    let mut others = group.to_vec();
    others.retain(|it| !is_network.contains(it));
    others
}

fn middle(root: &DelayRoot) -> TimeNs {
    root.start + DurationNs(root.end.since(root.start).0 / 2)
}

/// Returns whether at least half of a delay is also one of the other.
fn overlaps_most(root: &DelayRoot, other: &DelayRoot) -> bool {
    let shared = root.end.min(other.end).since(root.start.max(other.start));
    shared.0.saturating_mul(2) >= root.end.since(root.start).0
}

/// Returns whether two delays differ by less than a factor of two, and at least half of one is also of the other.
fn is_alike(one: &DelayRoot, other: &DelayRoot) -> bool {
    let (short, long) = (one.amount.min(other.amount), one.amount.max(other.amount));
    long.0 < short.0.saturating_mul(2) && (overlaps_most(one, other) || overlaps_most(other, one))
}

/// Returns whether the messages of two or more receivers entered or left one host, so that no rank is an end of all
/// of them: if it is, it may have been stopped instead.
fn crosses_one_host(clocks: &Clocks, late: &[&LateMessages]) -> bool {
    let hosts = late.iter().flat_map(|it| {
        let senders = it.senders.iter().chain([&it.receiver]);
        senders.map(|&lane| clocks.host_of(lane))
    });
    let hosts: BTreeSet<usize> = hosts.collect();
    hosts.into_iter().any(|host| {
        let is_here = |lane: LaneIdx| clocks.host_of(lane) == host;
        let crossing = late.iter().map(|it| {
            let senders = it.senders.iter().copied();
            let is_inward = is_here(it.receiver);
            let senders = senders.filter(move |&lane| is_inward || is_here(lane));
            (it.receiver, senders.collect::<Vec<_>>())
        });
        let crossing: Vec<_> = crossing
            .filter(|(_, senders)| !senders.is_empty())
            .collect();
        let receivers: BTreeSet<LaneIdx> = crossing.iter().map(|it| it.0).collect();
        let is_end = |lane: LaneIdx| {
            let mut all = crossing.iter();
            all.all(|(receiver, senders)| *receiver == lane || senders.contains(&lane))
        };
        let lanes = crossing.iter().flat_map(|it| it.1.iter().chain([&it.0]));
        receivers.len() > 1 && !lanes.copied().any(is_end)
    })
}

/// Returns whether own work on a host of the receivers took unusually long at the same time: then the host was late.
fn works(clocks: &Clocks, roots: &[DelayRoot], group: &[usize], late: &[&LateMessages]) -> bool {
    let hosts = late.iter().map(|it| clocks.host_of(it.receiver));
    let hosts: BTreeSet<usize> = hosts.collect();
    group.iter().any(|&it| {
        let (root, first) = (&roots[it], &roots[late[0].root]);
        root.operation.is_none()
            && hosts.contains(&clocks.host_of(root.lane))
            && root.amount.0.saturating_mul(2) > first.amount.0
            && overlaps_most(first, root)
    })
}

/// Marks the delays that may as well be late messages of other hosts.
pub(super) fn mark_undecided(
    segments: &Segments,
    partners: &Partners<'_>,
    clocks: &Clocks,
    roots: &mut [DelayRoot],
) {
    for root in roots {
        if root.attributed_to.is_none() && root.kind != CauseKind::Transfer {
            let senders = late_senders(segments, partners, clocks, root);
            let sender = senders.first().map(|&it| segments.lane(it).process);
            root.late_sender = sender;
        }
    }
}
