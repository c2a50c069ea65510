//! The ranks of p-values among the normal trees of a training.

use serde::{Deserialize, Serialize};

use super::null_tail::{Observation, num_independent};
use callgrove_trees::real::{Real, whole};

/// Share of the normal trees, the rarest ones, from which the number of trees per event is estimated.
const RAREST_SHARE: f64 = 0.01;

/// The p-values of the normal trees of a training, by which the same p-value of another run is corrected.
///
/// A fitted tail is extrapolated from the common values, and is wide where there are few, so that its p-values are
/// ordered correctly, but are not the shares of normal trees. These are known from the training (conformal p-values:
/// Bates et al., Annals of Statistics 2023). With n normal trees in the order of their p-values, m of which are rare in
/// one event, such as an interruption that all ranks wait for, the corrected one of a tree with the p-value of the
/// r-th is
///
/// ```text
/// (r + m) / (n + m)
/// ```
///
/// since n / m events, and not n trees, are independent. So p-values of another clean run are uniform if its events are
/// like those of the training. Between stored ranks ln p is interpolated; below the first, the tail decides how much
/// rarer a tree is than the rarest normal one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalRanks {
    /// ln of the p-value of the normal trees at the ranks 1, 2, 4, … and last, each with its rank; both ascend.
    knots: Vec<(f64, usize)>,
    /// Number of trees that are rare in one event, from 1 on.
    num_of_event: f64,
}

impl NormalRanks {
    /// Ranks normal trees by their values, −ln of their p-values.
    pub fn of(mut normal: Vec<Observation>) -> Self {
        normal.sort_by(|a, b| b.value.total_cmp(&a.value));
        let rarest = normal.len().real() * RAREST_SHARE;
        let rarest = &normal[..normal.len().min(whole(rarest) + 1)];
        let num_of_event = rarest.len().real() / num_independent(rarest, &normal).max(1.0);
        let mut knots: Vec<(f64, usize)> = Vec::new();
        let ranks = std::iter::successors(Some(1), |rank| Some(2 * rank));
        let ranks = ranks.take_while(|&rank| rank < normal.len());
        for rank in ranks.chain((!normal.is_empty()).then_some(normal.len())) {
            let value = normal[rank - 1].value;
            // The number of trees that are as rare or rarer.
            let rank = normal.partition_point(|other| other.value >= value);
            if knots.last().is_none_or(|last| last.1 < rank) {
                knots.push((-value, rank));
            }
        }
        Self {
            knots,
            num_of_event: num_of_event.max(1.0),
        }
    }

    /// Returns ln of the share of normal trees whose p-value is as small as this one, given as ln, or smaller; the
    /// p-value itself without normal trees.
    pub fn ln_share(&self, ln_p: f64) -> f64 {
        let Some(&(_, num)) = self.knots.last() else {
            return ln_p;
        };
        let ln_share = |rank: usize| {
            let more = self.num_of_event;
            (rank.real() + more).ln() - (num.real() + more).ln()
        };
        let above = self.knots.partition_point(|knot| knot.0 <= ln_p);
        let below = above.checked_sub(1).map(|at| self.knots[at]);
        match (below, self.knots.get(above)) {
            (None, Some(first)) => ln_share(0) + ln_p - first.0,
            (Some(low), Some(high)) => {
                let step = (ln_p - low.0) / (high.0 - low.0);
                ln_share(low.1) + step * (ln_share(high.1) - ln_share(low.1))
            }
            (_, None) => 0.0,
        }
    }

    /// Returns whether its numbers can be those of a training with this number of trees.
    pub fn is_valid(&self, num_trees: usize) -> bool {
        let is_possible = |&(ln_p, rank): &(f64, usize)| {
            ln_p.is_finite() && ln_p <= 0.0 && (1..=num_trees).contains(&rank)
        };
        let events = 1.0..=num_trees.max(1).real();
        events.contains(&self.num_of_event)
            && self.knots.iter().all(is_possible)
            && self.knots.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Normal trees with these p-values, as ln, in groups of simultaneous ones.
    fn ranks(ln_p: impl IntoIterator<Item = f64>, group: i64) -> NormalRanks {
        let trees = (0_i64..).zip(ln_p);
        let trees = trees.map(|(at, ln_p)| Observation {
            value: -ln_p,
            entry_ns: at / group * 100,
            exit_ns: at / group * 100 + 90,
        });
        NormalRanks::of(trees.collect())
    }

    /// A tail that is five times too heavy.
    fn nominal(share: f64) -> f64 {
        0.2 * share.ln()
    }

    #[test]
    fn p_values_that_are_too_large_become_shares() {
        let num = 4_000;
        let share = |at: u32| (f64::from(at * 7_919 % num) + 0.5) / f64::from(num);
        let ranks = ranks((0..num).map(|at| nominal(share(at))), 1);
        for share in [0.5, 0.1, 0.01, 0.005] {
            let found = ranks.ln_share(nominal(share)).exp();
            assert!(
                (found / share - 1.0).abs() < 0.15,
                "{share}: {found} {ranks:?}"
            );
        }
        let beyond = ranks.ln_share(nominal(1e-9)).exp();
        assert!(beyond < 1e-4, "{beyond}");
    }

    #[test]
    fn trees_of_one_event_are_one_exception() {
        let num = 4_000;
        let in_order = |at: u32| nominal((f64::from(at) + 0.5) / f64::from(num));
        let (apart, together) = (
            ranks((0..num).map(in_order), 1),
            ranks((0..num).map(in_order), 16),
        );
        assert!(
            together.num_of_event > 12.0 && apart.num_of_event < 1.1,
            "{together:?} {apart:?}"
        );
        let rarest = together.ln_share(in_order(0)).exp();
        assert!((0.003..0.005).contains(&rarest), "{rarest}");
    }

    #[test]
    fn without_normal_trees_the_tail_decides() {
        let none = ranks([], 1);
        assert!((none.ln_share(-3.0) + 3.0).abs() < 1e-12 && none.is_valid(0));
    }

    proptest! {
        #[test]
        fn a_share_rises_with_the_p_value(
            ln_p in prop::collection::vec(prop::sample::select(vec![-9.0, -4.5, -4.0, -1.0, -0.5, 0.0]), 1..60),
            (near, step) in (-20.0..0.0_f64, 0.0..5.0_f64),
        ) {
            let num = ln_p.len();
            let ranks = ranks(ln_p, 2);
            prop_assert!(ranks.is_valid(num), "{ranks:?}");
            let (rarer, other) = (ranks.ln_share(near - step), ranks.ln_share(near));
            prop_assert!(rarer <= other + 1e-12 && other <= 0.0, "{rarer} {other}");
        }
    }
}
