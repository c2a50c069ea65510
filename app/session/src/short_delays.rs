//! Delays that are too short to be incidents, such as the machine causes on every rank now and then.

use std::collections::BTreeMap;

use callgrove_model::{DurationNs, LaneIdx, ProgramId, RankId};
use callgrove_query::{Incident, RunCauses};

/// Number of delays as long as a named one that are expected in a run in which nothing went wrong, at most: the causes
/// name none that is more frequent.
pub(crate) const EXPECTED: f64 = 0.05;
/// Minimum number of ranks that can show that all have delays.
pub(crate) const MIN_RANKS: usize = 4;

/// Returns whether each root is own work, too short to be an incident, and such as half of the ranks have.
pub(crate) fn common_short(causes: &RunCauses) -> Vec<bool> {
    let rank = |lane: LaneIdx| {
        let lane = causes.trace().lane(lane);
        (lane.program, lane.rank)
    };
    let ranks = causes.trace().lanes().map(|(lane, _)| rank(lane));
    let roots = causes.roots().iter().enumerate();
    let delays = roots.map(|(index, root)| {
        let is_short = root.own_delay < Incident::MIN_DELAY && causes.incident_of(index).is_none();
        let is_of_machine = is_short && !root.is_in_library;
        is_of_machine.then(|| (rank(root.lane), root.own_delay))
    });
    are_common(ranks.collect(), &delays.collect::<Vec<_>>())
}

/// A rank of a program.
type Rank = (ProgramId, RankId);

/// Returns whether each delay is such as half of the ranks have: at least `EXPECTED` of its length are expected in the run,
/// if those that exceed the largest one of half of the ranks are exponential.
fn are_common(ranks: Vec<Rank>, delays: &[Option<(Rank, DurationNs)>]) -> Vec<bool> {
    let none = ranks.into_iter().map(|rank| (rank, DurationNs::ZERO));
    let mut largest: BTreeMap<Rank, DurationNs> = none.collect();
    for (rank, amount) in delays.iter().flatten() {
        let of_rank = largest.entry(*rank).or_default();
        *of_rank = (*amount).max(*of_rank);
    }
    let mut largest: Vec<DurationNs> = largest.into_values().collect();
    largest.sort_unstable();
    let from = largest.get(largest.len() / 2).copied().unwrap_or_default();
    if largest.len() < MIN_RANKS || from <= DurationNs::ZERO {
        return vec![false; delays.len()];
    }
    let amounts = delays.iter().flatten().map(|it| it.1);
    let mut above: Vec<DurationNs> = amounts.filter(|it| *it >= from).collect();
    above.sort_unstable();
    let median = above.get(above.len() / 2).copied().unwrap_or_default();
    let scale_ns = (median - from).0.max(1) as f64 / std::f64::consts::LN_2;
    let expected = |amount: DurationNs| {
        let beyond = (amount - from).0 as f64 / scale_ns;
        above.len() as f64 * (-beyond).exp()
    };
    let is_common =
        |it: &Option<(Rank, DurationNs)>| it.is_some_and(|it| expected(it.1) >= EXPECTED);
    delays.iter().map(is_common).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(number: u32) -> Rank {
        (ProgramId(0), RankId(number))
    }

    /// Returns whether each delay, given by its rank and length in microseconds, is common among eight ranks.
    fn common(delays: &[(u32, i64)]) -> Vec<bool> {
        let delays = delays.iter();
        let delays = delays.map(|&(of, us)| Some((rank(of), DurationNs::from_us(us))));
        are_common((0..8).map(rank).collect(), &delays.collect::<Vec<_>>())
    }

    #[test]
    fn delays_of_half_of_the_ranks_are_common_and_much_longer_ones_are_not() {
        // A tick of each rank, exponential in length.
        let ticks = (0..8).map(|at| (at, 100 + 15 * i64::from(at)));
        let mut delays: Vec<(u32, i64)> = ticks.collect();
        delays.push((3, 900));
        let found = common(&delays);
        assert_eq!(found, [[true; 8].as_slice(), &[false]].concat());
    }

    #[test]
    fn frequent_delays_of_one_rank_are_not_common() {
        let delays: Vec<(u32, i64)> = (0..40).map(|at| (2, 300 + at)).collect();
        assert_eq!(common(&delays), [false; 40]);
    }
}
