//! Usual durations at each place, lane by lane, and the excesses over them.
//!
//! The usual duration is the median of the lane, so that it holds even where almost half of a lane's visits are slow.
//! The spread is taken below the median, where slow visits cannot widen it: the distance of the first tenth from the
//! median is 1.28 standard deviations of a normal law, and durations are skewed to the right, by about 1.4. A lane
//! that is slower than the others *and* less steady than they are was slow in most of its visits, so the usual
//! duration of the others applies. A lane that is slower and steady has more work.

use std::collections::BTreeSet;

use callgrove_model::{DurationNs, ExecRef, LaneIdx};
use callgrove_segments::{Gap, MIN_WORK, Operation, OperationKind, OperationRef, Segments, index};

use super::release::Released;

/// Minimum excess of calls and waits.
pub(super) const MIN_WAIT: DurationNs = DurationNs::from_us(60);

/// Minimum excess of a visit over the median, in standard deviations.
const DEVIATIONS: i64 = 8;
/// Factor from the distance of the first tenth below the median to a standard deviation above it: 1.4 / 1.28 = 35 /
/// 32.
const UPWARDS: (i64, i64) = (35, 32);
/// Divisor of the median that gives the minimum spread, 3 %: clocks tick, and caches and frequencies vary.
const MIN_SPREAD_DIVISOR: i64 = 33;
/// Minimum number of values of a lane with its own usual duration.
const LANE_VALUES: usize = 10;
/// Minimum number of values, over all lanes, of a place with a usual duration.
const PLACE_VALUES: usize = 6;
/// Minimum number of lanes with which one can be compared with the others.
const COMPARED_LANES: usize = 3;
/// Maximum number of visits of a lane that is still setting up: its excesses must also be longer than the usual
/// duration.
const SET_UP_VISITS: usize = 3;
/// Number of spreads of the others by which the median of a slower lane is above theirs.
const SLOWER: i64 = 4;
/// Factor by which the spread of an unsteady lane is larger than that of the others.
const UNSTEADY: i64 = 3;

/// One visit of a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceVisit {
    /// The place.
    pub(super) place: u32,
    /// The lane.
    pub(super) lane: u32,
    /// The duration.
    pub(super) duration: DurationNs,
    /// True if it is not used to determine the usual duration.
    pub(super) is_left_out: bool,
}

/// A visit that took longer than usual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlaceExcess {
    /// Index of the visit.
    pub(super) visit: usize,
    /// The usual duration.
    pub(super) usual: DurationNs,
    /// Excess over the usual duration.
    pub(super) amount: DurationNs,
    /// True if the lane visits the place so rarely that the usual duration is that of other lanes.
    pub(super) is_set_up: bool,
}

/// The source of excesses.
#[derive(Clone, Copy)]
pub(super) enum ExcessSource<'a> {
    /// A whole run: the usual duration of every place is known.
    Usual,
    /// An excerpt of a run with few visits: the stalled calls are given, and all of their time is an excess.
    Stalls(&'a dyn Fn(ExecRef) -> bool),
}

impl ExcessSource<'_> {
    /// Returns whether the trace has only the stalled calls and the messages around them.
    pub(super) fn is_excerpt(self) -> bool {
        matches!(self, Self::Stalls(_))
    }

    /// Returns the gaps that took longer than usual, numbered lane by lane; those of one lane are in order of time.
    pub(super) fn of_work(self, segments: &Segments) -> Vec<PlaceExcess> {
        let gaps = || {
            let lanes = segments.lanes.iter().enumerate();
            lanes.flat_map(|(lane, it)| {
                let lane = LaneIdx::from_index(lane);
                it.gaps.iter().map(move |gap| (lane, gap))
            })
        };
        match self {
            Self::Usual => {
                let visits: Vec<PlaceVisit> = gaps()
                    .map(|(lane, gap)| PlaceVisit {
                        place: gap.place,
                        lane: lane.0,
                        duration: gap.duration(),
                        is_left_out: gap.is_written,
                    })
                    .collect();
                let is_exceptional = |place, count| segments.places.is_exceptional(place, count);
                excesses(
                    &visits,
                    segments.places.num_places(),
                    MIN_WORK,
                    is_exceptional,
                )
            }
            Self::Stalls(is_stalled) => {
                let exec = |lane, exec| ExecRef { lane, exec };
                let gaps = gaps().enumerate();
                let stalled: Vec<StalledGap<'_>> = gaps
                    .filter(|(_, (lane, gap))| {
                        gap.duration() > MIN_WORK && is_stalled(exec(*lane, gap.call))
                    })
                    .map(|(visit, (lane, gap))| StalledGap { visit, lane, gap })
                    .collect();
                let common = common_parts(segments, &stalled);
                let own = stalled
                    .iter()
                    .zip(common)
                    .map(|(it, common)| PlaceExcess::whole(it.visit, it.gap.duration() - common));
                own.filter(|it| it.amount > MIN_WORK).collect()
            }
        }
    }

    /// Returns the operations of which a part took longer than usual on its call path, by lane and place.
    pub(super) fn of_operations(
        self,
        segments: &Segments,
        released: &[Vec<Released>],
        part: impl Fn(&Released, &Operation) -> DurationNs,
    ) -> Vec<(OperationRef, PlaceExcess)> {
        let refs: Vec<OperationRef> = segments.operations().map(|(it, _)| it).collect();
        let visits: Vec<PlaceVisit> = segments
            .operations()
            .map(|(it, operation)| PlaceVisit {
                place: operation.path,
                lane: it.lane.0,
                duration: part(&released[it.lane.index()][it.at], operation),
                is_left_out: operation.kind == OperationKind::Idle,
            })
            .collect();
        let found = match self {
            Self::Usual => excesses(&visits, segments.places.num_paths(), MIN_WAIT, |_, _| false),
            Self::Stalls(is_stalled) => {
                let calls = segments.operations().map(|(it, operation)| ExecRef {
                    lane: it.lane,
                    exec: operation.call,
                });
                let long = calls.zip(&visits).enumerate();
                long.filter(|(_, (call, it))| it.duration > MIN_WAIT && is_stalled(*call))
                    .map(|(visit, (_, it))| PlaceExcess::whole(visit, it.duration))
                    .collect()
            }
        };
        let is_call = |it: &PlaceExcess| !visits[it.visit].is_left_out;
        let calls = found.into_iter().filter(is_call);
        calls.map(|it| (refs[it.visit], it)).collect()
    }
}

/// A gap of an excerpt in a call that stalled.
struct StalledGap<'a> {
    visit: usize,
    lane: LaneIdx,
    gap: &'a Gap,
}

/// Returns how much of each gap every rank spent in the same function at the same time, as at the start of a program:
/// no rank waits for another because of that. Cost: O(n log n).
fn common_parts(segments: &Segments, stalled: &[StalledGap<'_>]) -> Vec<DurationNs> {
    let func = |it: &StalledGap<'_>| {
        let path = segments.places.path_of(it.gap.place);
        segments.places.func(path)
    };
    let mut order: Vec<usize> = (0..stalled.len()).collect();
    order.sort_by_key(|&at| (func(&stalled[at]), stalled[at].gap.start, at));
    let mut common = vec![DurationNs::ZERO; stalled.len()];
    let mut rest = &order[..];
    while let Some(&first) = rest.first() {
        let mut ranks = BTreeSet::new();
        let mut first_end = stalled[first].gap.end;
        let together = rest.iter().take_while(|&&at| {
            let it = &stalled[at];
            let is_same = func(it) == func(&stalled[first]) && it.gap.start < first_end;
            first_end = first_end.min(it.gap.end);
            is_same && ranks.insert(segments.lane(it.lane).process)
        });
        let (group, others) = rest.split_at(together.count().max(1));
        rest = others;
        if ranks.len() > 1 && ranks.len() == segments.processes.len() {
            let shortest = group.iter().map(|&at| stalled[at].gap.duration()).min();
            for &at in group {
                common[at] = shortest.unwrap_or(DurationNs::ZERO);
            }
        }
    }
    common
}

impl PlaceExcess {
    /// Returns an excess that is the whole visit.
    pub(super) fn whole(visit: usize, amount: DurationNs) -> Self {
        Self {
            visit,
            usual: DurationNs::ZERO,
            amount,
            is_set_up: false,
        }
    }
}

/// Median and spread of some durations.
#[derive(Clone, Copy, Debug)]
struct Centre {
    median_ns: i64,
    spread_ns: i64,
}

impl Centre {
    /// Computes the centre of durations in any order; reorders them.
    fn of(durations: &mut [i64]) -> Option<Self> {
        let last = durations.len().checked_sub(1)?;
        let (below, median, _) = durations.select_nth_unstable(last / 2);
        let median_ns = *median;
        let tenth = last / 10;
        let tenth_ns = match below.len() {
            0 => median_ns,
            _ if tenth >= below.len() => median_ns,
            _ => *below.select_nth_unstable(tenth).1,
        };
        Some(Self {
            median_ns,
            spread_ns: (median_ns - tenth_ns).saturating_mul(UPWARDS.0) / UPWARDS.1,
        })
    }

    fn least(&self) -> i64 {
        self.median_ns / MIN_SPREAD_DIVISOR
    }
}

/// Returns the visits that took longer than usual by eight standard deviations and at least `floor`, in order.
/// A place with few visits that `is_exceptional`, given the place and its number of visits, has no usual duration but 0.
/// `visits` may be in any order; `num_places` is one more than the largest place. Cost: O(n) and a selection for each
/// place and lane.
pub(super) fn excesses(
    visits: &[PlaceVisit],
    num_places: usize,
    floor: DurationNs,
    is_exceptional: impl Fn(u32, usize) -> bool,
) -> Vec<PlaceExcess> {
    let order = by_place(visits, num_places);
    let mut found = Vec::new();
    let mut rest = order.as_slice();
    let mut buffer = Vec::new();
    while let Some(&first) = rest.first() {
        let place = visits[first].place;
        let count = rest.iter().take_while(|it| visits[**it].place == place);
        let (of_place, after) = rest.split_at(count.count());
        if of_place.len() < PLACE_VALUES && is_exceptional(place, of_place.len()) {
            let long = of_place.iter().filter(|it| {
                let visit = &visits[**it];
                !visit.is_left_out && visit.duration > floor
            });
            found.extend(long.map(|&it| PlaceExcess::whole(it, visits[it].duration)));
        } else {
            judge_place(visits, of_place, floor, &mut buffer, &mut found);
        }
        rest = after;
    }
    found.sort_unstable_by_key(|it| it.visit);
    found
}

/// Returns the visits ordered by place, then lane.
fn by_place(visits: &[PlaceVisit], num_places: usize) -> Vec<usize> {
    let mut starts = vec![0_usize; num_places + 1];
    for visit in visits {
        starts[index(visit.place) + 1] += 1;
    }
    for place in 0..num_places {
        starts[place + 1] += starts[place];
    }
    let mut order = vec![0; visits.len()];
    for (at, visit) in visits.iter().enumerate() {
        let next = &mut starts[index(visit.place)];
        order[*next] = at;
        *next += 1;
    }
    order
}

/// The visits of one place by one lane, and their centre.
struct OfLane<'a> {
    visits: &'a [usize],
    num_usable: usize,
    centre: Option<Centre>,
}

fn judge_place(
    visits: &[PlaceVisit],
    of_place: &[usize],
    floor: DurationNs,
    buffer: &mut Vec<i64>,
    found: &mut Vec<PlaceExcess>,
) {
    let mut fill = |at: &[usize]| -> Option<Centre> {
        buffer.clear();
        let usable = at.iter().map(|it| &visits[*it]);
        buffer.extend(usable.filter(|it| !it.is_left_out).map(|it| it.duration.0));
        Centre::of(buffer)
    };
    let num_usable = |at: &[usize]| at.iter().filter(|it| !visits[**it].is_left_out).count();
    if num_usable(of_place) < PLACE_VALUES {
        return;
    }
    let Some(pooled) = fill(of_place) else {
        return;
    };
    let mut lanes: Vec<OfLane<'_>> = Vec::new();
    let mut rest = of_place;
    while let Some(&first) = rest.first() {
        let lane = visits[first].lane;
        let count = rest.iter().take_while(|it| visits[**it].lane == lane);
        let (of_lane, after) = rest.split_at(count.count());
        let num_usable = num_usable(of_lane);
        lanes.push(OfLane {
            visits: of_lane,
            num_usable,
            centre: (num_usable >= LANE_VALUES).then(|| fill(of_lane)).flatten(),
        });
        rest = after;
    }
    let own: Vec<Centre> = lanes.iter().filter_map(|it| it.centre).collect();
    let is_compared = own.len() >= COMPARED_LANES;
    let others = if is_compared { middle(&own) } else { pooled };
    for lane in &lanes {
        let usual = match lane.centre {
            Some(centre) if is_compared => among(centre, others),
            Some(centre) => centre,
            None => pooled,
        };
        let spread_ns = usual.spread_ns.max(usual.least());
        let mut least_ns = spread_ns.saturating_mul(DEVIATIONS).max(floor.0);
        if lane.num_usable <= SET_UP_VISITS {
            least_ns = least_ns.max(usual.median_ns);
        }
        found.extend(lane.visits.iter().filter_map(|&visit| {
            let amount = visits[visit].duration - DurationNs(usual.median_ns);
            (amount.0 > least_ns).then_some(PlaceExcess {
                visit,
                usual: DurationNs(usual.median_ns),
                amount,
                is_set_up: lane.num_usable <= SET_UP_VISITS,
            })
        }));
    }
}

/// Returns the centre that applies to a lane among others.
fn among(own: Centre, others: Centre) -> Centre {
    let spread_ns = others.spread_ns.max(others.least());
    let is_slower = own.median_ns > others.median_ns + SLOWER * spread_ns;
    if is_slower && own.spread_ns > UNSTEADY * spread_ns {
        return others;
    }
    let most_ns = others.spread_ns.saturating_mul(UNSTEADY).max(own.least());
    Centre {
        spread_ns: own.spread_ns.min(most_ns),
        ..own
    }
}

/// Returns the medians of several medians and spreads.
fn middle(centres: &[Centre]) -> Centre {
    let median = |of: fn(&Centre) -> i64| {
        let mut values: Vec<i64> = centres.iter().map(of).collect();
        let at = values.len() / 2;
        *values.select_nth_unstable(at).1
    };
    Centre {
        median_ns: median(|it| it.median_ns),
        spread_ns: median(|it| it.spread_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits of one place: for each lane the durations in microseconds.
    fn found(lanes: &[Vec<i64>]) -> Vec<(usize, i64)> {
        let visits: Vec<PlaceVisit> = (0..)
            .zip(lanes)
            .flat_map(|(lane, durations)| {
                durations.iter().map(move |&duration_us| PlaceVisit {
                    place: 0,
                    lane,
                    duration: DurationNs::from_us(duration_us),
                    is_left_out: false,
                })
            })
            .collect();
        let found = excesses(&visits, 1, DurationNs::from_us(30), |_, _| false);
        found
            .iter()
            .map(|it| (it.visit, it.amount.as_us()))
            .collect()
    }

    /// `count` visits of about 1 ms, except those whose durations `slow` gives.
    fn lane(count: usize, slow: &[(usize, i64)]) -> Vec<i64> {
        let steady = (0..count).map(|at| 980 + i64::try_from(at * 7 % 41).unwrap_or(0));
        let mut durations: Vec<i64> = steady.collect();
        for &(at, duration_us) in slow {
            durations[at] = duration_us;
        }
        durations
    }

    #[test]
    fn finds_one_long_visit_and_no_small_deviations() {
        let long = found(&[lane(50, &[(7, 21_000)]), lane(50, &[])]);
        assert_eq!(long.iter().map(|it| it.0).collect::<Vec<_>>(), [7]);
        assert!((19_950..20_050).contains(&long[0].1), "{long:?}");
        assert_eq!(found(&[lane(50, &[]), lane(50, &[])]), []);
    }

    #[test]
    fn frequent_excesses_are_found() {
        for num_slow in [1, 60, 170, 300, 360] {
            let slow: Vec<(usize, i64)> = (0..num_slow).map(|at| (at, 21_000)).collect();
            let mut lanes = vec![lane(360, &slow)];
            lanes.extend((0..3).map(|_| lane(360, &[])));
            let expected = if num_slow == 360 { 0 } else { num_slow };
            assert_eq!(found(&lanes).len(), expected, "{num_slow} of 360");
        }
    }

    #[test]
    fn a_lane_with_more_work_is_not_late() {
        let heavy: Vec<i64> = lane(100, &[]).iter().map(|it| it * 3).collect();
        assert_eq!(found(&[heavy, lane(100, &[]), lane(100, &[])]), []);
    }
}
