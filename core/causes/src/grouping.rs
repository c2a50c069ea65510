//! Grouping of roots into incidents.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use callgrove_model::{DurationNs, TimeNs};
use callgrove_segments::{Clocks, Segments};

use super::background::{DelayBackground, is_aside};
use super::delay_root::DelayRoot;
use super::outcome::{CauseKind, Incident};

/// Minimum number of gaps over which the delay of a slow rank is spread.
const SPREAD_GAPS: u32 = 3;
/// Maximum share of such a delay in one gap, in percent.
const SPREAD_PERCENT: i64 = 70;
/// Divisor of the number of ranks: delays are noise if all but a quarter of the ranks have them often.
const FEW_RANKS: usize = 4;
/// Number of times from which on a rank is often late, or a host often busy.
const MIN_FREQUENT: usize = 8;
/// Maximum delay of ranks that share cores and wait for one another: two or three slices of Linux's scheduler, of 3 ms or
/// one tick of 4 ms each. Ranks that were stopped from outside, for 60 ms and more, are far above it.
const SLICES: DurationNs = DurationNs::from_us(10_000);
/// Number of delays of up to `SLICES` from which on a rank has them often.
const MIN_FREQUENT_SLICES: usize = 3;
/// Multiple of the median cost of such delays, or of their own length, that is far more than usual.
const FAR_MORE: i64 = 6;
/// Divisor of the larger delay's cost: a delay within it that costs less than a tenth may belong to it.
const SMALL_COST: i64 = 10;
/// Divisor of the larger delay's length: such a delay belongs to it if it is in the library, or shorter than a
/// fiftieth.
const SMALL_WORK: i64 = 50;
/// Maximum number of delays of an overlapping group, the costliest, to which smaller ones may belong; it bounds the
/// time.
const MAX_TOPS: usize = 4_096;
/// Maximum distance of two busy times of a host that are one.
const JOINED: DurationNs = DurationNs::from_us(20_000);

/// Roots that form one incident, the costliest first; times are on the common clock.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) kind: CauseKind,
    pub(super) roots: Vec<usize>,
    pub(super) start: TimeNs,
    pub(super) end: TimeNs,
    /// Total cost for all ranks.
    pub(super) cost: DurationNs,
    /// How much earlier the run would have ended without it, if that is known.
    pub(super) lost_run_time: Option<DurationNs>,
    /// Start of each occurrence, in order, if the incident is recurrent.
    pub(super) starts: Vec<TimeNs>,
}

struct Grouping<'a> {
    segments: &'a Segments,
    clocks: &'a Clocks,
    roots: &'a [DelayRoot],
}

/// Assigns every root its kind, and groups those of at least a millisecond. In an excerpt there are no usual
/// durations, so there is no noise. Cost: O(n log n) in roots.
pub(super) fn group(
    segments: &Segments,
    clocks: &Clocks,
    roots: &mut [DelayRoot],
    is_excerpt: bool,
) -> Vec<Cluster> {
    for root in roots.iter_mut().filter(|it| it.attributed_to.is_none()) {
        root.kind = kind(segments, root);
    }
    let mut sorted = Sorted::default();
    let of_kinds = |kinds: &[CauseKind]| DelayBackground::new(segments, clocks, roots, kinds);
    let background = (!is_excerpt).then(|| Backgrounds {
        of_ranks: of_kinds(&[CauseKind::Stalled, CauseKind::Slow]),
        of_unknown: of_kinds(&[CauseKind::Unknown]),
    });
    for (it, root) in roots.iter_mut().enumerate() {
        if root.attributed_to.is_none() && root.amount >= Incident::MIN_DELAY {
            let is_aside = is_aside(segments, root);
            sorted.add(it, root, is_aside, background.as_ref());
        }
    }
    let grouping = Grouping {
        segments,
        clocks,
        roots,
    };
    let often = if is_excerpt {
        Vec::new()
    } else {
        grouping.noise(&sorted.own)
    };
    sorted.own.retain(|it| often.binary_search(it).is_err());
    let usual = if is_excerpt {
        Vec::new()
    } else {
        grouping.usual_unknown(&sorted.own)
    };
    sorted.own.retain(|it| usual.binary_search(it).is_err());
    sorted.unknown.extend(usual);
    let mut clusters = grouping.group_large(sorted.own);
    let mut noise = sorted.noise;
    noise.extend(often);
    clusters.extend(grouping.busy_hosts(sorted.of_hosts, &mut noise));
    for (kind, roots) in [
        (CauseKind::Unknown, sorted.unknown),
        (CauseKind::Noise, noise),
    ] {
        if !roots.is_empty() {
            clusters.push(grouping.recurrent(kind, roots));
        }
    }
    for cluster in &clusters {
        if matches!(cluster.kind, CauseKind::BusyHost | CauseKind::Noise) {
            for &it in &cluster.roots {
                roots[it].kind = cluster.kind;
            }
        }
    }
    clusters
}

fn kind(segments: &Segments, root: &DelayRoot) -> CauseKind {
    let largest = root.largest.0.saturating_mul(100);
    let is_spread =
        root.num_gaps >= SPREAD_GAPS && largest < root.amount.0.saturating_mul(SPREAD_PERCENT);
    if root.kind == CauseKind::Transfer {
        CauseKind::Transfer
    } else if root.is_written {
        CauseKind::TracerWrite
    } else if root.is_unmatched {
        CauseKind::Unknown
    } else if segments.lane(root.lane).is_device || is_spread || root.is_unreported {
        CauseKind::Slow
    } else {
        CauseKind::Stalled
    }
}

/// What the run has all the time: delays of ranks, and waits for ranks that the trace does not show.
struct Backgrounds {
    of_ranks: DelayBackground,
    of_unknown: DelayBackground,
}

/// The delays of a run, as indices into the roots.
#[derive(Default)]
struct Sorted {
    /// Those of a rank.
    own: Vec<usize>,
    /// Those of a host.
    of_hosts: Vec<usize>,
    /// Waits for ranks that the trace does not show, such as the run has all the time.
    unknown: Vec<usize>,
    /// Those that the run has all the time.
    noise: Vec<usize>,
}

impl Sorted {
    fn add(
        &mut self,
        it: usize,
        root: &mut DelayRoot,
        is_aside: bool,
        background: Option<&Backgrounds>,
    ) {
        let Some(background) = background else {
            self.own.push(it);
            return;
        };
        let background = match root.kind {
            CauseKind::Unknown if background.of_unknown.is_exceeded(root.amount) => {
                self.own.push(it);
                return;
            }
            CauseKind::Unknown => {
                self.unknown.push(it);
                return;
            }
            CauseKind::Stalled | CauseKind::Slow => &background.of_ranks,
            _ => {
                self.own.push(it);
                return;
            }
        };
        let compared = background.of(it);
        // What a rank does once differs between ranks; it is an incident only if another rank waits for it.
        if is_aside || (root.is_set_up && root.cost == DurationNs::ZERO) {
            return;
        }
        if root.is_by_design {
            self.noise.push(it);
        } else if compared.is_of_host && background.is_exceeded(root.amount) {
            self.of_hosts.push(it);
        } else if background.is_exceeded(compared.own) {
            root.max_percent = background.percent(compared);
            self.own.push(it);
        } else {
            self.noise.push(it);
        }
    }
}

impl Grouping<'_> {
    /// Returns the incidents of hosts: delays of one host that overlap, with the waits for them. If a host is often busy, its delays are noise
    /// unless they cost far more than usual.
    fn busy_hosts(&self, mut of_hosts: Vec<usize>, noise: &mut Vec<usize>) -> Vec<Cluster> {
        of_hosts.sort_by_key(|&it| (self.host(it), self.roots[it].start, it));
        let mut found: Vec<(usize, TimeNs, Vec<usize>)> = Vec::new();
        for it in of_hosts {
            let (host, root) = (self.host(it), &self.roots[it]);
            // The ranks that wait are late only when they go on.
            let until = root.last_wait_end.max(root.end + JOINED);
            match found.last_mut() {
                Some((of, end, roots)) if *of == host && root.start < *end => {
                    *end = until.max(*end);
                    roots.push(it);
                }
                _ => found.push((host, until, vec![it])),
            }
        }
        let mut clusters = Vec::new();
        for of_host in found.chunk_by(|a, b| a.0 == b.0) {
            let cost = |it: &(usize, TimeNs, Vec<usize>)| -> DurationNs {
                it.2.iter().map(|&it| self.cost(it)).sum()
            };
            let mut costs: Vec<DurationNs> = of_host.iter().map(cost).collect();
            costs.sort_unstable();
            let least = if costs.len() < MIN_FREQUENT {
                DurationNs::ZERO
            } else {
                DurationNs(costs[costs.len() / 2].0.saturating_mul(FAR_MORE))
            };
            for it in of_host {
                if cost(it) < least {
                    noise.extend(&it.2);
                } else {
                    clusters.push(self.cluster(CauseKind::BusyHost, it.2.clone()));
                }
            }
        }
        clusters
    }

    /// Returns the roots that resemble delays every rank has often, ascending. Frequent delays of one rank are not
    /// noise, nor are those that all wait for.
    fn noise(&self, large: &[usize]) -> Vec<usize> {
        let is_short = |it: usize| self.roots[it].amount <= SLICES;
        let short: Vec<usize> = large.iter().copied().filter(|&it| is_short(it)).collect();
        let most = self.usual_cost(large, MIN_FREQUENT);
        let most_of_short = self.usual_cost(&short, MIN_FREQUENT_SLICES).max(most);
        let is_noise = |it: &usize| {
            let root = &self.roots[*it];
            let usual = if is_short(*it) { most_of_short } else { most };
            matches!(root.kind, CauseKind::Stalled | CauseKind::Slow)
                && self.cost(*it).0 < usual.0.saturating_mul(FAR_MORE)
                && root.cost.0 < root.amount.0.saturating_mul(FAR_MORE)
        };
        large.iter().copied().filter(is_noise).collect()
    }

    /// Returns the median cost of the delays of a rank, of which all but a quarter of the ranks have a larger one; 0
    /// unless these have at least `min_frequent` delays each.
    fn usual_cost(&self, delays: &[usize], min_frequent: usize) -> DurationNs {
        let mut costs: BTreeMap<usize, Vec<DurationNs>> = BTreeMap::new();
        for &it in delays {
            if self.roots[it].kind != CauseKind::TracerWrite {
                costs
                    .entry(self.process(it))
                    .or_default()
                    .push(self.cost(it));
            }
        }
        let middle = |costs: &mut Vec<DurationNs>| {
            costs.sort_unstable();
            costs[costs.len() / 2]
        };
        let processes = 0..self.segments.processes.len();
        let mut usual: Vec<DurationNs> = processes
            .map(|process| match costs.get_mut(&process) {
                Some(costs) if costs.len() >= min_frequent => middle(costs),
                _ => DurationNs::ZERO,
            })
            .collect();
        usual.sort_unstable();
        // One rank cannot show what all have.
        let is_one = usual.len() < 2;
        let of_most = usual.get(usual.len() / FEW_RANKS).copied();
        of_most.filter(|_| !is_one).unwrap_or_default()
    }

    /// Returns the waits for unknown ranks that one rank has often, unless they are far longer than usual, ascending: how
    /// often a rank waits follows from its part in the program.
    fn usual_unknown(&self, large: &[usize]) -> Vec<usize> {
        let mut waits: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &it in large {
            if self.roots[it].kind == CauseKind::Unknown {
                waits.entry(self.process(it)).or_default().push(it);
            }
        }
        waits.retain(|_, waits| waits.len() >= MIN_FREQUENT);
        let mut usual = Vec::new();
        for mut waits in waits.into_values() {
            waits.sort_by_key(|&it| (self.roots[it].amount, it));
            let median = self.roots[waits[waits.len() / 2]].amount;
            let most = DurationNs(median.0.saturating_mul(FAR_MORE));
            waits.retain(|&it| self.roots[it].amount < most);
            usual.extend(waits);
        }
        usual.sort_unstable();
        usual
    }

    fn cost(&self, it: usize) -> DurationNs {
        self.roots[it].total_cost()
    }

    fn process(&self, it: usize) -> usize {
        self.segments.lane(self.roots[it].lane).process
    }

    fn host(&self, it: usize) -> usize {
        self.clocks.host_of(self.roots[it].lane)
    }

    /// Groups roots by time, then by the explanation of the group.
    fn group_large(&self, mut large: Vec<usize>) -> Vec<Cluster> {
        large.sort_by_key(|&it| (self.roots[it].start, it));
        let mut clusters = Vec::new();
        let mut writes = Vec::new();
        let mut rest = large.as_slice();
        while let Some(&first) = rest.first() {
            let mut end = self.roots[first].end;
            let overlaps = rest.iter().take_while(|it| {
                let root = &self.roots[**it];
                let is_within = root.start <= end;
                end = end.max(root.end);
                is_within
            });
            let (overlapping, after) = rest.split_at(overlaps.count());
            self.explain(overlapping, &mut clusters, &mut writes);
            rest = after;
        }
        if !writes.is_empty() {
            clusters.push(self.recurrent(CauseKind::TracerWrite, writes));
        }
        clusters
    }

    /// Explains a group of overlapping roots: by the tracer, or by its costliest root, to which small
    /// ones belong.
    fn explain(&self, group: &[usize], clusters: &mut Vec<Cluster>, writes: &mut Vec<usize>) {
        let mut group = group.to_vec();
        group.sort_by_key(|&it| (Reverse(self.cost(it)), it));
        let amount = |of: &dyn Fn(&usize) -> bool| {
            let chosen = group.iter().filter(|it| of(it));
            chosen.map(|&it| self.roots[it].amount).sum::<DurationNs>()
        };
        let is_write = |it: &usize| self.roots[*it].kind == CauseKind::TracerWrite;
        let num_writes = group.iter().filter(|it| is_write(it)).count();
        if num_writes >= 2 && amount(&is_write).0.saturating_mul(2) > amount(&|_| true).0 {
            writes.extend(group);
            return;
        }
        for members in self.folded(&group) {
            let kind = self.roots[members[0]].kind;
            if kind == CauseKind::TracerWrite {
                writes.extend(members);
            } else {
                clusters.push(self.cluster(kind, members));
            }
        }
    }

    /// Returns the roots of a group, the costliest first, each with those that belong to it.
    fn folded(&self, group: &[usize]) -> Vec<Vec<usize>> {
        let mut tops: Vec<Vec<usize>> = Vec::new();
        let mut first_unknown = None;
        for &it in group {
            let is_unknown = self.roots[it].kind == CauseKind::Unknown;
            let larger = tops.partition_point(|top| self.is_small(it, top[0]));
            let mut larger = tops[..larger.min(MAX_TOPS)].iter();
            let part = larger.position(|top| self.is_part(it, top[0]));
            let unknown = first_unknown.filter(|_| is_unknown);
            if let Some(top) = part.into_iter().chain(unknown).min() {
                tops[top].push(it);
                continue;
            }
            if is_unknown {
                first_unknown = Some(tops.len());
            }
            tops.push(vec![it]);
        }
        tops
    }

    fn is_small(&self, it: usize, top: usize) -> bool {
        self.cost(it).0.saturating_mul(SMALL_COST) < self.cost(top).0
    }

    /// Returns whether a root lies within a costlier one and is small compared with it. All roots with unknown causes
    /// are one incident.
    fn is_part(&self, it: usize, top: usize) -> bool {
        let (small, large) = (&self.roots[it], &self.roots[top]);
        let is_within = small.start + Incident::MIN_DELAY >= large.start
            && small.end <= large.last_wait_end + Incident::MIN_DELAY;
        let is_weak =
            small.operation.is_some() || small.amount.0.saturating_mul(SMALL_WORK) < large.amount.0;
        is_within && self.is_small(it, top) && is_weak
    }

    fn cluster(&self, kind: CauseKind, mut roots: Vec<usize>) -> Cluster {
        roots.sort_by_key(|&it| (Reverse(self.cost(it)), it));
        let starts = roots.iter().map(|&it| self.roots[it].start);
        let ends = roots.iter().map(|&it| self.roots[it].last_wait_end);
        Cluster {
            kind,
            start: starts.min().unwrap_or_default(),
            end: ends.max().unwrap_or_default(),
            cost: roots.iter().map(|&it| self.cost(it)).sum(),
            lost_run_time: None,
            starts: Vec::new(),
            roots,
        }
    }

    /// Returns one incident for roots of many times; start and end are those of the costliest.
    fn recurrent(&self, kind: CauseKind, roots: Vec<usize>) -> Cluster {
        let mut starts: Vec<TimeNs> = roots.iter().map(|&it| self.roots[it].start).collect();
        starts.sort_unstable();
        let whole = self.cluster(kind, roots);
        let top = &self.roots[whole.roots[0]];
        Cluster {
            start: top.start,
            end: top.last_wait_end,
            starts,
            ..whole
        }
    }
}
