//! Busy hosts: time ranges in which the ranks' own delays are a large part of the time of all ranks of one host.
//!
//! A stop of one of 16 ranks is 6 % of the host's time at most, however many ranks wait for it, since a wait for
//! another rank is not an own delay. A process that takes the host's cores away takes a fifth or more.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, TimeNs};

use super::clock::Clocks;
use super::delay_root::DelayRoot;
use super::delay_root::share;
use super::outcome::CauseKind;
use super::segments::Segments;

/// Minimum number of ranks of a host that is examined.
pub(super) const MIN_RANKS: usize = 4;
/// Minimum delay that counts.
const MIN_DELAY: DurationNs = DurationNs::from_us(200);
/// Length of the bins into which time is divided.
const BIN: DurationNs = DurationNs::from_us(10_000);
/// Divisor of the time of all ranks but the latest: in a busy bin, at least a fifth of it is their own delay.
const SHARE: i64 = 5;
/// Divisor of the number of ranks: in a busy bin, at least a third of them are late.
const RANKS: usize = 3;
/// Maximum distance in bins of busy bins that are one busy time.
const JOINED_BINS: i64 = 8;
/// Maximum number of bins of all delays of a host that are examined; beyond it the longest delays are left out.
const MAX_BINS: i64 = 1 << 22;
/// Minimum number of busy bins in a busy time.
const MIN_BINS: usize = 3;
/// Minimum number of delays in a busy time.
const MIN_DELAYS: usize = 8;
/// Multiple of the median above which a delay may be an incident of its own.
const OWN_FACTOR: i64 = 4;
/// Multiple of its own length that others must have waited for such a delay.
const WAITED_FACTOR: i64 = 6;

/// A time range in which a host was busy.
pub(super) struct BusyTime {
    pub(super) start: TimeNs,
    pub(super) end: TimeNs,
    /// The delays in it, as indices into the roots.
    pub(super) roots: Vec<usize>,
}

/// Returns the ranks of each host, as indices into the processes. A host without a name has none: its ranks may be
/// anywhere.
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

/// Returns the busy times of all hosts, in order of host, then time. Cost: O(n log n) in roots, and linear in their
/// length.
pub(super) fn busy_times(
    segments: &Segments,
    clocks: &Clocks,
    roots: &[DelayRoot],
) -> Vec<BusyTime> {
    let hosts = ranks_of_hosts(segments, clocks);
    let mut found = Vec::new();
    for (host, ranks) in hosts.iter().enumerate() {
        if ranks.len() < MIN_RANKS {
            continue;
        }
        let own: Vec<usize> = (0..roots.len())
            .filter(|&it| {
                let root = &roots[it];
                matches!(root.kind, CauseKind::Stalled | CauseKind::Slow)
                    && root.attributed_to.is_none()
                    && root.amount >= MIN_DELAY
                    && clocks.host_of(root.lane) == host
            })
            .collect();
        for (first, last) in busy_bins(segments, roots, &own, ranks.len()) {
            let (start, end) = (bin_start(first), bin_start(last.saturating_add(1)));
            let roots = within(roots, &own, start, end);
            if roots.len() >= MIN_DELAYS {
                found.push(BusyTime { start, end, roots });
            }
        }
    }
    found
}

fn bin_start(bin: i64) -> TimeNs {
    TimeNs(bin.saturating_mul(BIN.0))
}

/// Returns the first and the last bin of each run of busy bins.
fn busy_bins(
    segments: &Segments,
    roots: &[DelayRoot],
    own: &[usize],
    num_ranks: usize,
) -> Vec<(i64, i64)> {
    // By bin, then rank.
    let mut bins: BTreeMap<i64, BTreeMap<usize, DurationNs>> = BTreeMap::new();
    let num_bins = |root: &DelayRoot| {
        let first = root.start.0.div_euclid(BIN.0);
        root.end.0.div_euclid(BIN.0).saturating_sub(first) + 1
    };
    let counts = own.iter().map(|&it| num_bins(&roots[it]));
    let all = counts.fold(0, i64::saturating_add);
    let most = if all > MAX_BINS {
        MAX_BINS / i64::try_from(own.len()).unwrap_or(MAX_BINS).max(1)
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
    // One stopped rank is late by all its time, which is much on a host of few ranks, so the latest rank does not
    // count.
    let num_others = i64::try_from(num_ranks - 1).unwrap_or(i64::MAX);
    let whole = num_others.saturating_mul(BIN.0);
    let min_ranks = MIN_RANKS.max(num_ranks.div_ceil(RANKS));
    let is_busy = |it: &BTreeMap<usize, DurationNs>| {
        let most = it.values().max().copied().unwrap_or_default();
        let others = it.values().copied().sum::<DurationNs>() - most;
        others.0.saturating_mul(SHARE) >= whole && it.len() >= min_ranks
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
    let long = runs.into_iter().filter(|run| run.2 >= MIN_BINS);
    long.map(|(first, last, _)| (first, last)).collect()
}

/// Returns the delays that lie mostly within a time range, without those that are incidents of their own.
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
