//! Busy hosts: times in which what the ranks of one host are late by, each by itself, is a large part of all their time.
//!
//! The stop of one of 16 ranks is 6 % of the host's time at most, however many wait for it, since what is waited for another is
//! none of their own. A process that takes the host's cores away takes a fifth or more.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, TimeNs};

use super::clock::Clocks;
use super::delay::CauseKind;
use super::delay_root::DelayRoot;
use super::delay_root::share;
use super::segments::Segments;

/// Hosts with fewer ranks are not judged.
pub(super) const LEAST_RANKS: usize = 4;
/// Shorter delays are not counted.
const LEAST: DurationNs = DurationNs::from_us(200);
/// Time is looked at in pieces of this length.
const BIN: DurationNs = DurationNs::from_us(10_000);
/// In a busy piece at least a fifth of the time of all ranks but the latest is their own delay.
const SHARE: i64 = 5;
/// In a busy piece at least a third of the ranks are late.
const RANKS: usize = 3;
/// Pieces at most so far apart are one time.
const JOINED_BINS: i64 = 8;
/// Pieces of all delays of a host that are looked at; of more, the longest delays are left out.
const MOST_BINS: i64 = 1 << 22;
/// Number of busy pieces from which on they are a busy time.
const LEAST_BINS: usize = 3;
/// Number of delays from which on they are a busy time.
const LEAST_DELAYS: usize = 8;
/// A delay of more than this factor times the median, …
const OWN_FACTOR: i64 = 4;
/// … that others waited for this factor times as long, is an incident of its own.
const WAITED_FACTOR: i64 = 6;

/// A time in which a host was busy.
pub(super) struct BusyTime {
    pub(super) start: TimeNs,
    pub(super) end: TimeNs,
    /// The delays in it, indices into the roots.
    pub(super) roots: Vec<usize>,
}

/// The ranks of each host, indices into the processes; none of one without a name, whose ranks may be anywhere.
pub(super) fn ranks_of_hosts(segments: &Segments, clocks: &Clocks) -> Vec<BTreeSet<usize>> {
    let mut ranks = vec![BTreeSet::new(); clocks.hosts().len()];
    for (lane, it) in (0..).zip(&segments.lanes) {
        let host = clocks.host_of(callgrove_model::LaneIdx(lane));
        if !clocks.hosts()[host].host.is_empty() {
            ranks[host].insert(it.process);
        }
    }
    ranks
}

/// The busy times of all hosts, in order of host, then time. Cost: O(n log n) in roots, and linear in their length.
pub(super) fn busy_times(
    segments: &Segments,
    clocks: &Clocks,
    roots: &[DelayRoot],
) -> Vec<BusyTime> {
    let hosts = ranks_of_hosts(segments, clocks);
    let mut found = Vec::new();
    for (host, ranks) in hosts.iter().enumerate() {
        if ranks.len() < LEAST_RANKS {
            continue;
        }
        let own: Vec<usize> = (0..roots.len())
            .filter(|&it| {
                let root = &roots[it];
                matches!(root.kind, CauseKind::Stalled | CauseKind::Slow)
                    && root.laid_to.is_none()
                    && root.amount >= LEAST
                    && clocks.host_of(root.lane) == host
            })
            .collect();
        for (first, last) in busy_bins(segments, roots, &own, ranks.len()) {
            let (start, end) = (bin_start(first), bin_start(last.saturating_add(1)));
            let roots = within(roots, &own, start, end);
            if roots.len() >= LEAST_DELAYS {
                found.push(BusyTime { start, end, roots });
            }
        }
    }
    found
}

fn bin_start(bin: i64) -> TimeNs {
    TimeNs(bin.saturating_mul(BIN.0))
}

/// Runs of busy pieces: the first and the last of each.
fn busy_bins(
    segments: &Segments,
    roots: &[DelayRoot],
    own: &[usize],
    num_ranks: usize,
) -> Vec<(i64, i64)> {
    // By piece of time, then rank.
    let mut bins: BTreeMap<i64, BTreeMap<usize, DurationNs>> = BTreeMap::new();
    let num_bins = |root: &DelayRoot| {
        let first = root.start.0.div_euclid(BIN.0);
        root.end.0.div_euclid(BIN.0).saturating_sub(first) + 1
    };
    let counts = own.iter().map(|&it| num_bins(&roots[it]));
    let all = counts.fold(0, i64::saturating_add);
    let most = if all > MOST_BINS {
        MOST_BINS / i64::try_from(own.len()).unwrap_or(MOST_BINS).max(1)
    } else {
        i64::MAX
    };
    for &it in own {
        let root = &roots[it];
        if num_bins(root) > most {
            continue;
        }
        let process = segments.lane(root.lane).process;
        let length = root.end.since(root.start);
        for bin in root.start.0.div_euclid(BIN.0)..=root.end.0.div_euclid(BIN.0) {
            let from = root.start.max(bin_start(bin));
            let part = root.end.min(bin_start(bin + 1)).since(from);
            let held = bins.entry(bin).or_default().entry(process).or_default();
            *held += share(part, root.amount.min(length), length);
        }
    }
    // One rank that is stopped is late by all its time, and on a host of few ranks that is much: it does not count.
    let num_others = i64::try_from(num_ranks - 1).unwrap_or(i64::MAX);
    let whole = num_others.saturating_mul(BIN.0);
    let least_ranks = LEAST_RANKS.max(num_ranks.div_ceil(RANKS));
    let is_busy = |it: &BTreeMap<usize, DurationNs>| {
        let most = it.values().max().copied().unwrap_or_default();
        let others = it.values().copied().sum::<DurationNs>() - most;
        others.0.saturating_mul(SHARE) >= whole && it.len() >= least_ranks
    };
    let mut runs: Vec<(i64, i64, usize)> = Vec::new();
    for bin in bins.iter().filter(|it| is_busy(it.1)).map(|it| *it.0) {
        match runs.last_mut() {
            Some(run) if bin - run.1 <= JOINED_BINS => {
                run.1 = bin;
                run.2 += 1;
            }
            _ => runs.push((bin, bin, 1)),
        }
    }
    let long = runs.into_iter().filter(|run| run.2 >= LEAST_BINS);
    long.map(|(first, last, _)| (first, last)).collect()
}

/// The delays of which most is within a time, without those that stand by themselves.
fn within(roots: &[DelayRoot], own: &[usize], start: TimeNs, end: TimeNs) -> Vec<usize> {
    let is_within = |it: &usize| {
        let root = &roots[*it];
        let part = root.end.min(end).since(root.start.max(start));
        part.0.saturating_mul(2) > root.end.since(root.start).0
    };
    let mut found: Vec<usize> = own.iter().copied().filter(is_within).collect();
    let mut amounts: Vec<DurationNs> = found.iter().map(|&it| roots[it].amount).collect();
    amounts.sort_unstable();
    let Some(&median) = amounts.get(amounts.len() / 2) else {
        return Vec::new();
    };
    found.retain(|&it| {
        let root = &roots[it];
        let is_long = root.amount.0 > median.0.saturating_mul(OWN_FACTOR);
        !(is_long && root.cost.0 > root.amount.0.saturating_mul(WAITED_FACTOR))
    });
    found
}
