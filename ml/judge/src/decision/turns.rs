//! Regular turns: executions of a lane that are longer at equal distances.

use std::collections::{BTreeMap, BTreeSet};

use super::deviation::Deviation;
use super::placement::{Placement, TreePlace};
use super::quantiles::{ascending, quantile};
use callgrove_trees::real::Real;

/// Minimum excess of a late execution, in usual durations: half of that of an alarm.
const MIN_LATE_EXCESS: f64 = 0.175;
/// Minimum number of late executions of a turn.
const MIN_LATE: usize = 4;
/// Minimum share of late executions of a turn; others may have been ahead of it, or waited for something else before.
const MIN_LATE_SHARE: f64 = 0.5;
/// Maximum distance of the executions of a turn.
const MAX_PERIOD: usize = 512;
/// Expected number of turns that are found in a run whose executions are late at random.
const MAX_FOUND_BY_CHANCE: f64 = 0.01;
/// Quantile by which the late executions of a turn are compared with all others: two thirds of them may be abnormal.
const LOWER_THIRD: f64 = 0.33;
/// Quantiles between which the executions of a turn have their scale, and their distance in a normal distribution:
/// neither abnormal ones nor those that are hardly late move it.
const MIDDLE_QUANTILES: (f64, f64, f64) = (0.4, 0.6, 0.507);

/// The turns of all lanes, ordered by lane, then in the order in which they were found. Of several that an execution
/// has, the last counts.
///
/// A program counts its executions; a fault does not. So executions that are late at equal distances, counted in
/// executions of the lane, are long by design: a wait for the output of another rank, which may travel from rank to
/// rank, or a reduction between two executions. They are rare, so that no spread shows them. They are found
/// by a test instead: among N executions of a lane, K of which are late, the n at positions φ, φ + P, φ + 2P, … are
/// late at random, each with probability q = K / N. With k of them late,
///
/// ```text
/// P(≥ k) ≤ exp(−n D),   D = a ln(a / q) + (1 − a) ln((1 − a) / (1 − q)),   a = k / n    (Chernoff 1952)
/// ```
///
/// The turn exists if that times the number of examined P and φ of all lanes is at most 0.01 (Bonferroni). The least
/// probable one comes first, so neither a multiple nor a divisor of P is found instead, and the executions of a turn do
/// not count for the others. A period that one lane has needs less evidence on another one: only the examined φ count.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Turns {
    turns: Vec<Turn>,
}

/// The executions of a lane at one position of a cycle.
#[derive(Clone, PartialEq, Debug)]
struct Turn {
    lane: usize,
    period: usize,
    phase: usize,
    /// The excess that its executions have over all others.
    typical: Deviation,
    /// The scale of their statistics, from 1 on.
    spread: f64,
}

impl Turn {
    fn has(&self, place: TreePlace) -> bool {
        self.lane == place.lane && place.position % self.period == self.phase
    }
}

/// The late executions of a lane that no turn has.
struct LateOfLane {
    /// True for each execution that counts, shape `[n]`.
    is_counted: Vec<bool>,
    num_counted: usize,
    /// Positions of the late ones, ascending.
    late: Vec<usize>,
}

impl Turns {
    /// Adds the turns of trees with these deviations, of which `fitted` count. Returns whether there are any.
    pub(super) fn find(
        &mut self,
        found: &[Deviation],
        placement: &Placement,
        fitted: &[bool],
    ) -> bool {
        let num_before = self.turns.len();
        let lens = placement.lane_len.iter();
        let mut lanes: Vec<LateOfLane> = lens
            .map(|&len| LateOfLane {
                is_counted: vec![false; len],
                num_counted: 0,
                late: Vec::new(),
            })
            .collect();
        for (found, place) in counted(found, placement, fitted) {
            let lane = &mut lanes[place.lane];
            lane.is_counted[place.position] = true;
            lane.num_counted += 1;
            if found.share() >= MIN_LATE_EXCESS {
                lane.late.push(place.position);
            }
        }
        let longest = |lane: &LateOfLane| (lane.is_counted.len() / MIN_LATE).min(MAX_PERIOD);
        let num_examined: usize = lanes
            .iter()
            .map(|it| (2..=longest(it)).sum::<usize>())
            .sum();
        let most = (MAX_FOUND_BY_CHANCE / num_examined.max(1).real()).ln();
        for (number, lane) in lanes.iter_mut().enumerate() {
            lane.late.sort_unstable();
            self.add(number, lane, 2..=longest(lane), most);
        }
        let added = self.turns[num_before..].iter();
        let periods: BTreeSet<usize> = added.map(|turn| turn.period).collect();
        let num_examined = lanes.len() * periods.iter().sum::<usize>();
        let most = (MAX_FOUND_BY_CHANCE / num_examined.max(1).real()).ln();
        for (number, lane) in lanes.iter_mut().enumerate() {
            self.add(number, lane, periods.iter().copied(), most);
        }
        let is_longer = self.turns.len() > num_before;
        self.turns.sort_by_key(|turn| turn.lane);
        is_longer
    }

    /// Returns which of the trees `fitted` are in no turn.
    pub(super) fn without(&self, placement: &Placement, fitted: &[bool]) -> Vec<bool> {
        let places = placement.places.iter().zip(fitted);
        places
            .map(|(&place, &is_fitted)| is_fitted && self.of(place).is_none())
            .collect()
    }

    /// Determines what is typical of the turns, by the deviations of all trees from those in no turn.
    pub(super) fn compare(&mut self, found: &[Deviation], placement: &Placement, fitted: &[bool]) {
        let mut members: Vec<Vec<Deviation>> = vec![Vec::new(); self.turns.len()];
        let mut others = Vec::new();
        for (found, place) in counted(found, placement, fitted) {
            match self.number(place) {
                Some(turn) => members[turn].push(*found),
                None => others.push(*found),
            }
        }
        let usual = third(&others);
        let mut rest: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (turn, members) in self.turns.iter_mut().zip(&mut members) {
            members.retain(|found| found.share() >= MIN_LATE_EXCESS);
            let of_turn = third(members);
            turn.typical = Deviation {
                statistic: (of_turn.statistic - usual.statistic).max(0.0),
                total_share: (of_turn.total_share - usual.total_share).max(0.0),
                part_share: (of_turn.part_share - usual.part_share).max(0.0),
                turn: None,
            };
            let own = members
                .iter()
                .map(|found| found.statistic - of_turn.statistic);
            rest.entry(turn.period).or_default().extend(own);
        }
        let scale = |rest: Vec<f64>| {
            let (low, high, distance) = MIDDLE_QUANTILES;
            let rest = ascending(rest);
            (quantile(&rest, high) - quantile(&rest, low)) / distance
        };
        let scales = rest
            .into_iter()
            .map(|(period, rest)| (period, scale(rest).max(1.0)));
        let scales: BTreeMap<usize, f64> = scales.collect();
        for turn in &mut self.turns {
            turn.spread = scales.get(&turn.period).copied().unwrap_or(1.0);
        }
    }

    /// Returns the deviation of a tree from the others of its turn, if it has one.
    pub(super) fn within(&self, found: Deviation, place: TreePlace) -> Deviation {
        let Some(turn) = self.of(place) else {
            return found;
        };
        Deviation {
            statistic: (found.statistic - turn.typical.statistic) / turn.spread,
            total_share: found.total_share - turn.typical.total_share,
            part_share: found.part_share - turn.typical.part_share,
            turn: (found.share() >= MIN_LATE_EXCESS)
                .then(|| u32::try_from(turn.period).unwrap_or(u32::MAX)),
        }
    }

    fn of(&self, place: TreePlace) -> Option<&Turn> {
        self.turns.get(self.number(place)?)
    }

    fn number(&self, place: TreePlace) -> Option<usize> {
        let first = self.turns.partition_point(|turn| turn.lane < place.lane);
        let of_lane = self.turns[first..].iter();
        let of_lane = of_lane.take_while(|turn| turn.lane == place.lane);
        let of_lane = of_lane.enumerate().filter(|(_, turn)| turn.has(place));
        of_lane.last().map(|(at, _)| first + at)
    }

    /// Adds the turns of a lane with these periods whose ln of the probability is at most `most`.
    fn add(
        &mut self,
        number: usize,
        lane: &mut LateOfLane,
        periods: impl Iterator<Item = usize>,
        most: f64,
    ) {
        let mut likely = Vec::new();
        for period in periods {
            let mut num_late = vec![0; period];
            for position in &lane.late {
                num_late[position % period] += 1;
            }
            for (phase, num_late) in num_late.into_iter().enumerate() {
                let ln_p = lane.ln_by_chance(num_late, period, phase);
                if ln_p <= most {
                    likely.push((ln_p, period, phase));
                }
            }
        }
        likely.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (_, period, phase) in likely {
            let late = lane.late.iter().filter(|it| **it % period == phase);
            if lane.ln_by_chance(late.count(), period, phase) <= most {
                lane.leave_out(period, phase);
                self.turns.push(Turn {
                    lane: number,
                    period,
                    phase,
                    typical: Deviation::default(),
                    spread: 1.0,
                });
            }
        }
    }
}

impl LateOfLane {
    /// Returns an upper bound of ln of the probability that as many executions of a turn are late at random; 0 if too
    /// few are late.
    fn ln_by_chance(&self, num_late: usize, period: usize, phase: usize) -> f64 {
        if num_late < MIN_LATE {
            return 0.0;
        }
        let members = self.is_counted.iter().skip(phase).step_by(period);
        let num = if self.num_counted == self.is_counted.len() {
            members.len()
        } else {
            members.filter(|is_counted| **is_counted).count()
        };
        if num_late.real() < MIN_LATE_SHARE * num.real() {
            return 0.0;
        }
        ln_at_least(
            num_late,
            num,
            self.late.len().real() / self.num_counted.real(),
        )
    }

    /// Leaves out the executions of a turn.
    fn leave_out(&mut self, period: usize, phase: usize) {
        for is_counted in self.is_counted.iter_mut().skip(phase).step_by(period) {
            self.num_counted -= usize::from(*is_counted);
            *is_counted = false;
        }
        self.late.retain(|position| position % period != phase);
    }
}

/// Returns the trees that count, with their places.
fn counted<'a>(
    found: &'a [Deviation],
    placement: &'a Placement,
    fitted: &'a [bool],
) -> impl Iterator<Item = (&'a Deviation, TreePlace)> {
    let placed = found.iter().zip(placement.places.iter().copied());
    let placed = placed.zip(fitted).filter(|(_, is_fitted)| **is_fitted);
    placed.map(|(placed, _)| placed)
}

/// Returns the lower third of each number.
fn third(found: &[Deviation]) -> Deviation {
    let third = |of: fn(&Deviation) -> f64| {
        quantile(&ascending(found.iter().map(of).collect()), LOWER_THIRD)
    };
    Deviation {
        statistic: third(|found| found.statistic),
        total_share: third(|found| found.total_share),
        part_share: third(|found| found.part_share),
        turn: None,
    }
}

/// Returns an upper bound of ln of the probability of at least `num_late` of `num`, each with probability `by_chance`.
fn ln_at_least(num_late: usize, num: usize, by_chance: f64) -> f64 {
    let share = num_late.real() / num.real();
    if share <= by_chance {
        return 0.0;
    }
    let on_time = if num_late < num {
        (1.0 - share) * ((1.0 - share) / (1.0 - by_chance)).ln()
    } else {
        0.0
    };
    -num.real() * (share * (share / by_chance).ln() + on_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUM_LANES: u32 = 8;
    const LEN: u32 = 220;

    fn placement() -> Placement {
        Placement::of_ranks(NUM_LANES, LEN)
    }

    /// Returns the deviations of executions with this excess, by lane and position.
    fn deviations(excess: impl Fn(u32, u32) -> f64) -> Vec<Deviation> {
        let places = (0..NUM_LANES).flat_map(|lane| (0..LEN).map(move |at| (lane, at)));
        let of = |(lane, at): (u32, u32)| {
            let noise = f64::from((at * 37 + lane * 11) % 29) / 290.0;
            let share = excess(lane, at) + noise;
            Deviation {
                statistic: 10.0 * share,
                total_share: share,
                part_share: share,
                turn: None,
            }
        };
        places.map(of).collect()
    }

    fn turns(found: &[Deviation]) -> Turns {
        let (placement, fitted) = (placement(), vec![true; found.len()]);
        let mut turns = Turns::default();
        turns.find(found, &placement, &fitted);
        turns.compare(found, &placement, &fitted);
        turns
    }

    /// Returns whether a number is one of 6 in 100 that have no order.
    fn is_stop(at: u32) -> bool {
        let mixed = (at + 1).wrapping_mul(0x9e37_79b9);
        let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x85eb_ca6b);
        (mixed ^ (mixed >> 13)) % 100 < 6
    }

    #[test]
    fn a_wait_that_travels_from_rank_to_rank_is_regular_and_what_is_longer_still_is_not() {
        let found = deviations(|lane, at| match (lane, at) {
            (3, 122) => 9.0,
            (lane, at) if at % 20 == lane => 2.4,
            (_, at) if is_stop(at) => 5.0,
            _ => 0.0,
        });
        let turns = turns(&found);
        let placement = placement();
        for (&found, &place) in found.iter().zip(&placement.places) {
            let within = turns.within(found, place);
            if place.position % 20 == place.lane && !is_stop(place.index) {
                assert_eq!(within.turn, Some(20), "{place:?}");
                assert!(within.total_share < 0.15, "{place:?} {within:?}");
            } else if place.position % 20 != place.lane {
                assert_eq!(within, found);
            }
        }
        let later = turns.within(found[3 * 220 + 123], placement.places[3 * 220 + 123]);
        assert!(later.total_share < 0.2, "{later:?}");
        let stopped = turns.within(found[3 * 220 + 122], placement.places[3 * 220 + 122]);
        assert!(stopped.total_share > 8.0, "{stopped:?}");
    }

    #[test]
    fn delays_at_random_and_in_one_part_of_the_run_are_not_regular() {
        for excess in [
            &(|_, at| f64::from(u8::from(is_stop(at)))) as &dyn Fn(u32, u32) -> f64,
            &|lane, at| {
                f64::from(u8::from(
                    (0..6).any(|more| is_stop(lane * 977 + at + 7_000 * more)),
                ))
            },
            &|_, at| f64::from(u8::from((90..150).contains(&at))),
            &|_, _| 0.0,
        ] {
            assert_eq!(turns(&deviations(excess)), Turns::default());
        }
    }

    #[test]
    fn the_bound_is_the_probability_if_all_are_late() {
        assert!((ln_at_least(5, 5, 0.1) - 5.0 * 0.1_f64.ln()).abs() < 1e-12);
        assert!(ln_at_least(4, 5, 0.1) > ln_at_least(5, 5, 0.1));
        assert!(ln_at_least(1, 5, 0.3).abs() < 1e-12);
    }
}
