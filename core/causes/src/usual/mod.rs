//! Usual durations at each place, lane by lane, and the excesses over them.
//!
//! The usual duration is the median of the lane, so that it holds even where almost half of a lane's visits are slow.
//! The spread is taken below the median, where slow visits cannot widen it: the distance of the first tenth from the
//! median is 1.28 standard deviations of a normal law, and durations are skewed to the right, by about 1.4. A lane
//! that is slower than the others *and* less steady than they are was slow in most of its visits, so the usual
//! duration of the others applies. A lane that is slower and steady has more work.
//!
//! Where the work of all lanes drifts alike over the run, a visit is compared with the level of its time ([`drift`]).

mod centre;
mod drift;
mod place_tail;

use std::collections::BTreeSet;

use callgrove_model::{DurationNs, ExecRef, LaneIdx, Real};
use callgrove_segments::{
    Gap, MIN_WORK, Operation, OperationKind, OperationRef, Segments, ShortVisits,
};

use super::release::Released;
use centre::{Centre, among, middle};
use drift::PlaceDrift;
use place_tail::ratio_by_design;

/// Minimum excess of calls and waits.
pub(super) const MIN_WAIT: DurationNs = DurationNs::from_us(60);

/// Minimum excess of a visit over the median, in standard deviations.
const DEVIATIONS: i64 = 8;
/// Minimum number of values of a lane with its own usual duration.
const LANE_VALUES: usize = 10;
/// Minimum number of values, over all lanes, of a place with a usual duration.
const PLACE_VALUES: usize = 6;
/// Minimum number of lanes with which one can be compared with the others.
const COMPARED_LANES: usize = 3;
/// Maximum number of visits of a lane that is still setting up: its excesses must also be longer than the usual
/// duration.
const SET_UP_VISITS: usize = 3;
/// Multiple of the short visits of a lane that it must have of long ones, whose order is known, for a drift.
const FEW_SHORT: usize = 16;

/// One visit of a place that may be an excess.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceVisit {
    /// Its number.
    pub(super) visit: usize,
    /// The place.
    pub(super) place: u32,
    /// The lane.
    pub(super) lane: LaneIdx,
    /// The duration.
    pub(super) duration: DurationNs,
    /// True if it is not used to determine the usual duration.
    pub(super) is_left_out: bool,
}

/// A visit that took longer than usual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlaceExcess {
    /// Number of the visit.
    pub(super) visit: usize,
    /// The usual duration.
    pub(super) usual: DurationNs,
    /// Excess over the usual duration.
    pub(super) amount: DurationNs,
    /// True if the lane visits the place so rarely that the usual duration is that of other lanes.
    pub(super) is_set_up: bool,
    /// True if the place has such visits by design ([`PlaceTail`]).
    pub(super) is_by_design: bool,
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
                    .enumerate()
                    .map(|(visit, (lane, gap))| PlaceVisit {
                        visit,
                        place: gap.place,
                        lane,
                        duration: gap.duration(),
                        is_left_out: gap.is_written,
                    })
                    .collect();
                // What every rank does as often is part of the program.
                let is_of_all = |lanes: &[LaneIdx]| {
                    let ranks = lanes.iter().map(|it| segments.lane(*it).process);
                    let num_ranks = segments.processes.len();
                    num_ranks > 1 && ranks.collect::<BTreeSet<_>>().len() == num_ranks
                };
                let is_exceptional = |place, lanes: &[LaneIdx]| {
                    segments.places.is_exceptional(place, lanes.len()) && !is_of_all(lanes)
                };
                excesses(&segments.short, visits, MIN_WORK, is_exceptional)
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
        let part = |(it, operation): (OperationRef, &Operation)| {
            part(&released[it.lane.index()][it.at()], operation)
        };
        if let Self::Stalls(is_stalled) = self {
            let is_stalled = |it: OperationRef, operation: &Operation| {
                let (lane, exec) = (it.lane, operation.call);
                operation.kind != OperationKind::Idle && is_stalled(ExecRef { lane, exec })
            };
            let all = segments.operations().enumerate();
            let whole = all.map(|(visit, of)| (of, PlaceExcess::whole(visit, part(of))));
            let long = whole.filter(|((it, operation), excess)| {
                excess.amount > MIN_WAIT && is_stalled(*it, operation)
            });
            return long.map(|((it, _), excess)| (it, excess)).collect();
        }
        // An idle time determines no usual duration.
        let calls = || {
            let all = segments.operations();
            all.filter(|(_, operation)| operation.kind != OperationKind::Idle)
        };
        let (mut short, mut long, mut refs) = (ShortVisits::default(), Vec::new(), Vec::new());
        for (it, operation) in calls() {
            let duration = part((it, operation));
            if duration > MIN_WAIT || !short.add(operation.path, it.lane, duration) {
                long.push(PlaceVisit {
                    visit: refs.len(),
                    place: operation.path,
                    lane: it.lane,
                    duration,
                    is_left_out: false,
                });
                refs.push(it);
            }
        }
        let found = excesses(&short, long, MIN_WAIT, |_, _| false);
        found.into_iter().map(|it| (refs[it.visit], it)).collect()
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
            is_by_design: false,
        }
    }
}

/// Returns the visits that took longer than usual by eight standard deviations and at least `floor`, in order.
/// A place with few visits that `is_exceptional`, given the place and the lane of each visit, has no usual duration but
/// 0.
/// `short` has visits that are not longer than `floor`; `long` has the others by lane. Cost: O(n log n) in
/// the long ones, and a selection for each place and lane.
pub(super) fn excesses(
    short: &ShortVisits,
    mut long: Vec<PlaceVisit>,
    floor: DurationNs,
    is_exceptional: impl Fn(u32, &[LaneIdx]) -> bool,
) -> Vec<PlaceExcess> {
    long.sort_unstable_by_key(|it| (it.place, it.visit));
    let mut found = Vec::new();
    let mut buffer = Vec::new();
    // Without a long visit, no visit of a place is an excess.
    for of_place in long.chunk_by(|a, b| a.place == b.place) {
        let place = of_place[0].place;
        if lanes_of_rare(short, place, of_place).is_some_and(|lanes| is_exceptional(place, &lanes))
        {
            let late = |it: &&PlaceVisit| !it.is_left_out && it.duration > floor;
            let late = of_place.iter().filter(late);
            found.extend(late.map(|it| PlaceExcess::whole(it.visit, it.duration)));
        } else {
            judge_place(
                &lanes_of(short, place, of_place),
                floor,
                &mut buffer,
                &mut found,
            );
        }
    }
    found.sort_unstable_by_key(|it| it.visit);
    found
}

/// Returns the lane of each visit of a place with few visits.
fn lanes_of_rare(short: &ShortVisits, place: u32, long: &[PlaceVisit]) -> Option<Vec<LaneIdx>> {
    let of_short = short.by_lane(place);
    let of_short = of_short.flat_map(|(lane, visits)| std::iter::repeat_n(lane, visits.len()));
    let lanes = of_short.chain(long.iter().map(|it| it.lane));
    let lanes: Vec<LaneIdx> = lanes.take(PLACE_VALUES).collect();
    (lanes.len() < PLACE_VALUES).then_some(lanes)
}

/// The visits of one place by one lane.
struct OfLane<'a> {
    short_ns: &'a [u16],
    /// In order of time.
    long: &'a [PlaceVisit],
    /// The drift of the place.
    drift: Option<PlaceDrift>,
}

impl OfLane<'_> {
    /// Returns the long visits with the level of their time.
    fn long(&self) -> impl Iterator<Item = (&PlaceVisit, f64)> {
        let numbered = self.long.iter().enumerate();
        numbered.map(|(at, it)| {
            (
                it,
                self.drift
                    .map_or(1.0, |drift| drift.at(at, self.long.len())),
            )
        })
    }

    /// Returns the long visits that determine the usual duration, without the drift, in nanoseconds.
    fn long_ns(&self) -> impl Iterator<Item = i64> {
        let usable = self.long().filter(|it| !it.0.is_left_out);
        usable.map(|(it, level)| without_drift(it.duration, level))
    }

    /// Returns the durations that determine the usual one, in nanoseconds.
    fn usable(&self) -> impl Iterator<Item = i64> {
        let short = self.short_ns.iter().map(|&it| i64::from(it));
        short.chain(self.long_ns())
    }

    /// Returns whether its short visits, whose times are not known, are too few to matter.
    fn is_ordered(&self) -> bool {
        self.short_ns.len() * FEW_SHORT <= self.long.len()
    }

    fn num_usable(&self) -> usize {
        let long = self.long.iter().filter(|it| !it.is_left_out);
        self.short_ns.len() + long.count()
    }
}

/// Returns the visits of a place by lane.
fn lanes_of<'a>(short: &'a ShortVisits, place: u32, long: &'a [PlaceVisit]) -> Vec<OfLane<'a>> {
    let mut short = short.by_lane(place).peekable();
    let mut long = long.chunk_by(|a, b| a.lane == b.lane).peekable();
    let next = || {
        let short_lane = short.peek().map(|it| it.0);
        let long_lane = long.peek().map(|it| it[0].lane);
        let lane = [short_lane, long_lane].into_iter().flatten().min()?;
        let short_ns = short.next_if(|it| it.0 == lane).map_or(&[][..], |it| it.1);
        let long = long.next_if(|it| it[0].lane == lane).unwrap_or_default();
        Some(OfLane {
            short_ns,
            long,
            drift: None,
        })
    };
    let mut lanes: Vec<OfLane<'_>> = std::iter::from_fn(next).collect();
    let ordered = lanes.iter().filter(|it| it.is_ordered());
    let drift = PlaceDrift::of(ordered.map(|it| it.long_ns().collect()));
    for lane in lanes.iter_mut().filter(|it| it.is_ordered()) {
        lane.drift = drift;
    }
    lanes
}

/// Returns how long a visit would have taken at the usual level.
fn without_drift(duration: DurationNs, level: f64) -> i64 {
    DurationNs::nearest(duration.0.real() / level).0
}

fn judge_place(
    lanes: &[OfLane<'_>],
    floor: DurationNs,
    buffer: &mut Vec<i64>,
    found: &mut Vec<PlaceExcess>,
) {
    let num_visits = lanes.iter().map(OfLane::num_usable).sum::<usize>();
    if num_visits < PLACE_VALUES {
        return;
    }
    let mut centre = |of: &[OfLane<'_>]| {
        buffer.clear();
        buffer.extend(of.iter().flat_map(OfLane::usable));
        Centre::of(buffer)
    };
    let has_own = |it: &OfLane<'_>| it.num_usable() >= LANE_VALUES;
    let mut centre_of = |it| {
        has_own(it)
            .then(|| centre(std::slice::from_ref(it)))
            .flatten()
    };
    let centres: Vec<Option<Centre>> = lanes.iter().map(&mut centre_of).collect();
    let own: Vec<Centre> = centres.iter().copied().flatten().collect();
    let is_compared = own.len() >= COMPARED_LANES;
    let is_pooled = !is_compared || own.len() < lanes.len();
    let pooled = is_pooled.then(|| centre(lanes)).flatten();
    let others = is_compared.then(|| middle(&own));
    let usual = centres.into_iter().map(|centre| match (centre, others) {
        (Some(centre), Some(others)) => Some(among(centre, others)),
        (Some(centre), None) => Some(centre),
        (None, _) => pooled,
    });
    let Some(usual) = usual.collect::<Option<Vec<Centre>>>() else {
        return;
    };
    let compared = if is_compared { &own[..] } else { &[] };
    let by_design = ratio_by_design(compared, num_visits);
    let least_of = |usual: &Centre| {
        let spread_ns = usual.spread_ns.max(usual.least());
        spread_ns.saturating_mul(DEVIATIONS).max(floor.0)
    };
    for (lane, usual) in lanes.iter().zip(usual) {
        let is_set_up = lane.num_usable() <= SET_UP_VISITS;
        let mut least_ns = least_of(&usual);
        if is_set_up {
            least_ns = least_ns.max(usual.median_ns);
        }
        found.extend(lane.long().filter_map(|(it, level)| {
            let duration_ns = without_drift(it.duration, level);
            let excess_ns = duration_ns - usual.median_ns;
            let usual_ns = usual.median_ns.real();
            let usual = DurationNs::nearest(usual_ns * level);
            let amount = it.duration - usual;
            (excess_ns > least_ns && amount > floor).then_some(PlaceExcess {
                visit: it.visit,
                usual,
                amount,
                is_set_up,
                is_by_design: duration_ns.real() <= by_design * usual_ns,
            })
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits of one place: for each lane the durations in microseconds.
    fn found(lanes: &[Vec<i64>]) -> Vec<(usize, i64)> {
        let lanes = lanes.iter().enumerate();
        let durations = lanes.flat_map(|(lane, of)| of.iter().map(move |&it| (lane, it)));
        let visits: Vec<PlaceVisit> = durations
            .enumerate()
            .map(|(visit, (lane, duration_us))| PlaceVisit {
                visit,
                place: 0,
                lane: LaneIdx::from_index(lane),
                duration: DurationNs::from_us(duration_us),
                is_left_out: false,
            })
            .collect();
        let none = ShortVisits::default();
        let found = excesses(&none, visits, DurationNs::from_us(30), |_, _| false);
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
    fn short_visits_count_like_the_others() {
        let mut short = ShortVisits::default();
        let mut all = Vec::new();
        for (lane, visit) in (0..4).flat_map(|lane| (0..40).map(move |visit| (lane, visit))) {
            let is_slow = lane == 2 && visit == 7;
            let duration_us = if is_slow {
                300
            } else {
                5 + (visit * 11 + lane) % 29
            };
            all.push(PlaceVisit {
                visit: all.len(),
                place: 0,
                lane: LaneIdx::from_index(lane),
                duration: DurationNs::from_us(i64::try_from(duration_us).unwrap()),
                is_left_out: false,
            });
        }
        let floor = DurationNs::from_us(30);
        let is_short = |it: &PlaceVisit| it.duration <= floor;
        for it in all.iter().filter(|it| is_short(it)) {
            assert!(short.add(it.place, it.lane, it.duration));
        }
        let long: Vec<PlaceVisit> = all.iter().filter(|it| !is_short(it)).copied().collect();
        assert!(!long.is_empty() && long.len() < 40, "{}", long.len());
        let expected = excesses(&ShortVisits::default(), all, floor, |_, _| false);
        assert_eq!(expected.len(), 1);
        assert_eq!(excesses(&short, long, floor, |_, _| false), expected);
    }

    #[test]
    fn a_lane_with_more_work_is_not_late() {
        let heavy: Vec<i64> = lane(100, &[]).iter().map(|it| it * 3).collect();
        assert_eq!(found(&[heavy, lane(100, &[]), lane(100, &[])]), []);
    }
}
