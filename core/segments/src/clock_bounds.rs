//! OffsetBounds of the clocks of hosts against each other, and the offsets that they demand.
//!
//! An event that precedes an event of another host bounds the offset of their clocks: with offsets `o`, recorded times
//! `s` on host a and `t` on host b, and the order of the events, `o[b] - o[a] <= t - s`. These are difference
//! constraints. All offsets are 0 unless that contradicts a bound.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, TimeNs};

/// Number of spans, no two of which share a stamp, that a bound of a whole run needs: the third shortest is the bound.
/// One damaged stamp, or a damaged call with two, contradicts once in each direction; the offset of a clock contradicts
/// in every call that waits for less than it. With 2 two damaged stamps bend a clock; with 6 runs of fewer than six
/// contradictions stay uncorrected, and the bounds are looser by some microseconds.
const MIN_SPANS: usize = 3;

/// The time from an event of one host to a later event of another one, each as recorded.
#[derive(Clone, Copy)]
struct Span {
    earlier: TimeNs,
    later: TimeNs,
}

impl Span {
    fn length(self) -> DurationNs {
        self.later.since(self.earlier)
    }
}

/// The shortest spans of two hosts, ascending. No two share a stamp.
#[derive(Clone, Copy, Default)]
struct Shortest([Option<Span>; MIN_SPANS]);

impl Shortest {
    fn add(&mut self, new: Span) {
        let is_long = |it: Option<Span>| it.is_some_and(|it| it.length() <= new.length());
        if is_long(self.0[MIN_SPANS - 1]) {
            return;
        }
        let shares = |it: &Span| it.earlier == new.earlier || it.later == new.later;
        let mut spans: Vec<Span> = self.0.into_iter().flatten().collect();
        if spans
            .iter()
            .any(|it| shares(it) && it.length() <= new.length())
        {
            return;
        }
        spans.retain(|it| !shares(it));
        spans.push(new);
        spans.sort_by_key(|it| it.length());
        let mut all = spans.into_iter();
        self.0 = std::array::from_fn(|_| all.next());
    }
}

/// OffsetBounds between hosts, from events of which the order is known.
pub(crate) struct OffsetBounds {
    /// Number of spans from which a bound holds.
    min_spans: usize,
    /// By the host of the earlier event, then the host of the later one.
    shortest: BTreeMap<(usize, usize), Shortest>,
}

impl OffsetBounds {
    /// Returns no bounds. Those of an excerpt hold from one span: it has few messages.
    pub(crate) fn new(is_excerpt: bool) -> Self {
        Self {
            min_spans: if is_excerpt { 1 } else { MIN_SPANS },
            shortest: BTreeMap::new(),
        }
    }

    /// Adds that an event of one host precedes an event of another one. Events of one host bound nothing.
    pub(crate) fn add(&mut self, (from, to): (usize, usize), earlier: TimeNs, later: TimeNs) {
        if from != to {
            let shortest = self.shortest.entry((from, to)).or_default();
            shortest.add(Span { earlier, later });
        }
    }

    /// Returns the largest difference of the offset of `to` over that of `from`.
    fn most(&self, from: usize, to: usize) -> Option<i64> {
        let span = self.shortest.get(&(from, to))?.0[self.min_spans - 1]?;
        Some(span.length().0)
    }

    /// Returns the offsets of hosts. Cost: quadratic in hosts, linear in bounds.
    ///
    /// Hosts are taken in order of how closely the bounds link them to the ones before. Each takes the clock of one
    /// before if the bounds allow it, else a clock of its own. The clock with most hosts is the common one, the first
    /// among equals; its offset is 0. The others then take a clock of those before, or the offset nearest to 0, that the
    /// bounds allow. If bounds
    /// contradict each other, as those of clocks that drift do, what lies between them counts as allowed.
    pub(crate) fn offsets(&self, num_hosts: usize) -> Vec<Offset> {
        let links = self.links(num_hosts);
        let mut found = vec![Offset::default(); num_hosts];
        let mut is_placed = vec![false; num_hosts];
        for first in 0..num_hosts {
            if is_placed[first] || links[first].is_empty() {
                continue;
            }
            let shared = place(&links, first, &BTreeSet::new());
            let common = common_clock(&shared);
            let root = common.first().copied().unwrap_or(first);
            for (host, offset) in place(&links, root, &common) {
                is_placed[host] = true;
                found[host] = offset;
            }
        }
        found
    }

    fn links(&self, num_hosts: usize) -> Vec<Vec<Link>> {
        let mut links: Vec<Vec<Link>> = vec![Vec::new(); num_hosts];
        for &(from, to) in self.shortest.keys() {
            let (most, least) = (self.most(from, to), self.most(to, from));
            let is_second = least.is_some() && to < from;
            if most.is_none() || is_second {
                continue;
            }
            links[from].push(Link {
                to,
                most,
                least: least.map(i64::saturating_neg),
            });
            links[to].push(Link {
                to: from,
                most: least,
                least: most.map(i64::saturating_neg),
            });
        }
        links
    }
}

/// The bounds between the offset of a host and that of another one.
#[derive(Clone, Copy)]
struct Link {
    to: usize,
    /// Largest and smallest difference of the other's offset.
    most: Option<i64>,
    least: Option<i64>,
}

/// The offset of a clock from the common clock.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Offset {
    /// The offset; `None` if no bound links the host to another one.
    pub(crate) ahead: Option<DurationNs>,
    /// The distance to the farther bound.
    pub(crate) uncertainty: DurationNs,
    /// True if the offset is not 0, and bounded from one side.
    pub(crate) is_one_way: bool,
}

/// The bounds of a host against those that have their offset.
#[derive(Clone, Copy, Default)]
struct Window {
    /// The bound, and the uncertainty of the host that it refers to.
    least: Option<(i64, DurationNs)>,
    most: Option<(i64, DurationNs)>,
    is_linked: bool,
}

impl Window {
    fn narrow(&mut self, link: Link, from: &Offset) {
        let base = from.ahead.unwrap_or_default().0;
        let bound = |it: i64| (base.saturating_add(it), from.uncertainty);
        self.is_linked = true;
        self.least = self.least.max(link.least.map(bound));
        self.most = [self.most, link.most.map(bound)]
            .into_iter()
            .flatten()
            .min();
    }

    /// Returns the order in which hosts get their offsets: those between close bounds first.
    fn looseness(&self) -> u64 {
        match (self.least, self.most) {
            (Some(least), Some(most)) => most.0.abs_diff(least.0),
            _ => u64::MAX,
        }
    }

    /// Returns the range of offsets that the bounds allow, or that lies between them.
    fn allowed(&self) -> (i64, i64) {
        match (self.least.map(|it| it.0), self.most.map(|it| it.0)) {
            (Some(least), Some(most)) => (least.min(most), least.max(most)),
            (least, most) => (least.unwrap_or(i64::MIN), most.unwrap_or(i64::MAX)),
        }
    }

    /// Returns the first of `clocks` that the bounds allow.
    fn shared(&self, clocks: &[i64]) -> Option<i64> {
        let (low, high) = self.allowed();
        let mut clocks = clocks.iter().copied();
        clocks.find(|it| (low..=high).contains(it))
    }

    /// Returns the middle between the bounds, which leaves most to the hosts that come after; without one of them the
    /// allowed offset nearest to 0.
    fn middle(&self) -> i64 {
        let (low, high) = self.allowed();
        match (self.least, self.most) {
            (Some(_), Some(_)) => low.midpoint(high),
            _ => self.nearest(),
        }
    }

    /// Returns the allowed offset nearest to 0.
    fn nearest(&self) -> i64 {
        let (low, high) = self.allowed();
        0.clamp(low, high)
    }

    fn with_errors(&self, ahead: i64) -> Offset {
        let far = |bound: Option<(i64, DurationNs)>| {
            bound.map_or(DurationNs::ZERO, |(bound, base)| {
                DurationNs(bound.saturating_sub(ahead).saturating_abs()) + base
            })
        };
        Offset {
            ahead: Some(DurationNs(ahead)),
            uncertainty: far(self.least).max(far(self.most)),
            is_one_way: ahead != 0 && (self.least.is_none() || self.most.is_none()),
        }
    }
}

/// Returns the hosts that bounds link to `root`, with their offsets from its clock. The hosts of the common clock come
/// first, and have no offset; before these are known, hosts share clocks as far as they can.
fn place(links: &[Vec<Link>], root: usize, common: &BTreeSet<usize>) -> BTreeMap<usize, Offset> {
    let mut placed = BTreeMap::new();
    let mut windows = vec![Window::default(); links.len()];
    let mut clocks = vec![0];
    let start = Offset {
        ahead: Some(DurationNs::ZERO),
        ..Offset::default()
    };
    let mut next = Some((root, start));
    while let Some((host, offset)) = next {
        placed.insert(host, offset);
        for &link in &links[host] {
            windows[link.to].narrow(link, &offset);
        }
        let open = windows.iter().enumerate();
        let open = open.filter(|(host, it)| it.is_linked && !placed.contains_key(host));
        let closest = open.min_by_key(|(host, it)| (!common.contains(host), it.looseness(), *host));
        next = closest.map(|(host, window)| {
            let shared = || window.shared(&clocks);
            let ahead = if common.is_empty() {
                shared().unwrap_or_else(|| window.middle())
            } else if common.contains(&host) {
                0
            } else {
                shared().unwrap_or_else(|| window.nearest())
            };
            if !clocks.contains(&ahead) {
                clocks.push(ahead);
            }
            (host, window.with_errors(ahead))
        });
    }
    placed
}

/// Returns the hosts of the clock that most hosts have.
fn common_clock(placed: &BTreeMap<usize, Offset>) -> BTreeSet<usize> {
    let mut clocks: BTreeMap<Option<DurationNs>, BTreeSet<usize>> = BTreeMap::new();
    for (&host, offset) in placed {
        clocks.entry(offset.ahead).or_default().insert(host);
    }
    let clocks = clocks.into_values();
    let most = clocks.max_by_key(|hosts| (hosts.len(), Reverse(hosts.first().copied())));
    most.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the offsets in microseconds by which hosts of a run are ahead. Each bound is given by its hosts and its
    /// microseconds, with three spans of their own stamps.
    fn offsets(num_hosts: usize, bounds: &[(usize, usize, i64)]) -> Vec<Option<i64>> {
        found(num_hosts, bounds)
            .iter()
            .map(|it| it.ahead.map(DurationNs::as_us))
            .collect()
    }

    fn found(num_hosts: usize, bounds: &[(usize, usize, i64)]) -> Vec<Offset> {
        let mut all = OffsetBounds::new(false);
        for &(from, to, us) in bounds {
            for at in 0..3 {
                let earlier = TimeNs(at * 1_000_000);
                all.add((from, to), earlier, earlier + DurationNs::from_us(us));
            }
        }
        all.offsets(num_hosts)
    }

    #[test]
    fn a_clock_stays_as_recorded_while_the_bounds_allow_it() {
        assert_eq!(offsets(2, &[(0, 1, 900), (1, 0, 10)]), [Some(0), Some(0)]);
        assert_eq!(offsets(2, &[(0, 1, 50_000)]), [Some(0), Some(0)]);
        assert_eq!(offsets(3, &[(0, 2, 5)]), [Some(0), None, Some(0)]);
        assert_eq!(
            found(2, &[(0, 1, 900), (1, 0, 10)])[1].uncertainty.as_us(),
            900
        );
    }

    #[test]
    fn a_clock_is_corrected_as_little_as_the_bounds_allow() {
        assert_eq!(
            offsets(2, &[(0, 1, 5_700), (1, 0, -4_990)]),
            [Some(0), Some(4_990)]
        );
        assert_eq!(
            offsets(2, &[(0, 1, -4_300), (1, 0, 5_010)]),
            [Some(0), Some(-4_300)]
        );
        let one_way = &found(2, &[(0, 1, -4_300)])[1];
        assert_eq!(
            (one_way.ahead, one_way.is_one_way),
            (Some(DurationNs::from_us(-4_300)), true)
        );
    }

    #[test]
    fn the_fewest_hosts_are_corrected() {
        // The first host is ahead of all others.
        let first = [
            (0, 1, -4_990),
            (1, 0, 5_010),
            (0, 2, -4_980),
            (2, 0, 5_020),
            (1, 2, 10),
            (2, 1, 10),
        ];
        assert_eq!(offsets(3, &first), [Some(4_990), Some(0), Some(0)]);
        // In a chain, the host at its end.
        let chain = [(0, 1, -4_990), (1, 0, 5_010), (1, 2, 10), (2, 1, 10)];
        assert_eq!(offsets(3, &chain), [Some(4_990), Some(0), Some(0)]);
        // Two hosts against two: the clock of the first is the common one.
        let pairs = [
            (0, 1, 10),
            (1, 0, 10),
            (2, 3, 10),
            (3, 2, 10),
            (1, 2, 5_010),
            (2, 1, -4_990),
        ];
        assert_eq!(
            offsets(4, &pairs),
            [Some(0), Some(0), Some(4_990), Some(4_990)]
        );
    }

    #[test]
    fn a_corrected_host_leaves_the_others_as_recorded() {
        let bounds = [
            (0, 1, -4_963),
            (1, 0, 5_016),
            (1, 2, 5_010),
            (2, 1, -4_984),
            (0, 2, 30),
            (2, 0, 30),
        ];
        let expected = [Some(0), Some(-4_984), Some(0)];
        assert_eq!(offsets(3, &bounds), expected);
    }

    #[test]
    fn bounds_that_contradict_each_other_do_not_bend_a_right_clock() {
        // A lost message shifts the matching of all later ones of one direction.
        assert_eq!(
            offsets(2, &[(0, 1, 10), (1, 0, -1_300)]),
            [Some(0), Some(10)]
        );
        assert_eq!(
            offsets(2, &[(0, 1, -40), (1, 0, -30)]),
            [Some(0), Some(0)],
            "clocks that drift to both sides"
        );
    }

    #[test]
    fn two_damaged_stamps_do_not_bend_a_clock() {
        let mut all = OffsetBounds::new(false);
        for at in 0..100 {
            let at = TimeNs(at * 1_000_000);
            all.add((0, 1), at, at + DurationNs(10_000));
            all.add((1, 0), at, at + DurationNs(20_000));
        }
        let back = |at: i64| TimeNs(at - 9_000_000);
        all.add((0, 1), TimeNs(7), back(7));
        // Many messages of one damaged call have its stamp.
        for at in 20_000..20_100 {
            all.add((0, 1), TimeNs(at), back(20_000));
        }
        let offsets = all.offsets(2);
        assert_eq!(offsets[1].ahead, Some(DurationNs::ZERO));
        all.add((0, 1), TimeNs(30_000), back(30_000));
        // The other direction bounds the correction.
        assert_eq!(all.offsets(2)[1].ahead, Some(DurationNs(-20_000)));
    }
}
