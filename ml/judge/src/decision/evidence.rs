//! The evidence against each tree, and its rarity.

use serde::{Deserialize, Serialize};

use super::by_design::ByDesign;
use super::deviation::Deviation;
use super::discoveries::{Discoveries, discoveries};
use super::locations::Locations;
use super::placement::Placement;
use super::quantiles::{ascending, lower_scale, quantile};
use super::structures::Structures;
use super::tail::{NormalRanks, NullTail, Observation};
use callgrove_learn::features::NUM_KINDS;
use callgrove_trees::dataset::{RowRef, Rows};
use callgrove_trees::real::Real;
use callgrove_trees::wl::{Bags, SubtreeIdx};

/// Minimum scale of the tail in decisions: 6 % of the usual duration in quiet programs.
const CAUTIOUS_SCALE: f64 = 0.6;
/// Minimum excess of an alarm, in usual durations: a third more than usual.
const MIN_EXCESS: f64 = 0.35;
/// Minimum unit of surprise, nats.
const MIN_SURPRISE: f64 = 0.5;
/// p-values between which the weight of a tree in the one-class SVM rises from 0 to 1.
const WEIGHTS: (f64, f64) = (0.001, 0.05);
/// Weight below which a tree has weight 0.
const MIN_WEIGHT: f64 = 0.02;
/// Share of the statistic itself in a score, so that equal p-values have an order.
const TIE_BREAK: f64 = 1e-3;

/// The reference that trees are compared with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// The times of like executions.
    Times(Box<Locations>),
    /// The norms of rows of surprises, if nearly every tree has its own structure.
    Surprise {
        /// Their median.
        middle: f64,
        /// Their scale, above 0.
        scale: f64,
    },
}

/// The evidence against each tree; all lists have shape `[n_trees]`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TreeEvidence {
    /// The statistic: larger is more abnormal.
    pub statistics: Vec<f64>,
    /// Largest excess of the complete tree or a part in usual durations; infinite if there are no durations.
    pub excesses: Vec<f64>,
    /// ln of the p-value of the structure, 0 if it is not odd; if parts are compared, that of the most surprising
    /// part.
    pub structure_ln_p: Vec<f64>,
    /// The same for decisions: what most lanes do at once is one observation.
    pub structure_decision_ln_p: Vec<f64>,
    /// True if a tree is long by design.
    pub is_by_design: Vec<bool>,
    /// The trees that are rare or long by design, and the reasons.
    pub design: ByDesign,
}

/// The evidence against each tree by its times alone, and what the structures of the run need of it.
#[derive(Clone, PartialEq, Debug)]
pub struct TimedEvidence {
    /// The evidence without structures.
    pub evidence: TreeEvidence,
    /// Excess of the complete tree in usual durations, shape `[n_trees]`.
    pub total_shares: Vec<f64>,
    /// The turn that a tree is longer in ([`Deviation::turn`](super::Deviation::turn)), shape `[n_trees]`.
    pub turns: Vec<Option<u32>>,
}

impl TimedEvidence {
    /// Returns the trees that are rare or long by design, with these roots and structures.
    pub fn design(
        &self,
        roots: &[SubtreeIdx],
        structures: &Structures,
        placement: &Placement,
    ) -> ByDesign {
        ByDesign::new(
            roots,
            structures,
            placement,
            &self.total_shares,
            &self.turns,
        )
    }
}

impl Expectation {
    /// Returns the expectation of surprises with these norms.
    pub(crate) fn of_norms(norms: Vec<f64>) -> Self {
        let sorted = ascending(norms);
        Self::Surprise {
            middle: quantile(&sorted, 0.5),
            scale: lower_scale(&sorted, MIN_SURPRISE),
        }
    }

    /// Returns the evidence against trees with this expectation, without structures; `known` maps a subtree to its
    /// number in the training.
    pub(crate) fn evidence(
        &self,
        bags: &Bags,
        placement: &Placement,
        rows: &Rows,
        known: impl Fn(SubtreeIdx) -> Option<SubtreeIdx> + Sync,
    ) -> TimedEvidence {
        let num = bags.len();
        let bare = |statistics: Vec<f64>, excesses: Vec<f64>| TreeEvidence {
            statistics,
            excesses,
            structure_ln_p: vec![0.0; num],
            structure_decision_ln_p: vec![0.0; num],
            is_by_design: vec![false; num],
            design: ByDesign::default(),
        };
        match self {
            Self::Times(locations) => {
                let found = locations.deviations(bags, placement, known);
                let statistics = found.iter().map(|tree| tree.statistic).collect();
                let excess = found.iter().map(Deviation::share);
                TimedEvidence {
                    evidence: bare(statistics, excess.collect()),
                    total_shares: found.iter().map(|tree| tree.total_share).collect(),
                    turns: found.iter().map(|tree| tree.turn).collect(),
                }
            }
            Self::Surprise { middle, scale } => {
                let norms = rows.norms().into_iter();
                let statistics = norms.map(|norm| (norm - middle) / scale).collect();
                let bare = bare(statistics, vec![f64::INFINITY; num]);
                let ln_p: Vec<f64> = (0..num).map(|tree| part_ln_p(rows.row(tree))).collect();
                let evidence = TreeEvidence {
                    structure_decision_ln_p: ln_p.clone(),
                    structure_ln_p: ln_p,
                    ..bare
                };
                TimedEvidence {
                    evidence,
                    total_shares: vec![0.0; num],
                    turns: vec![None; num],
                }
            }
        }
    }

    /// Returns whether structures recur, so that a rare one is informative.
    pub fn has_structures(&self) -> bool {
        matches!(self, Self::Times(_))
    }

    /// Returns the expectation as stored in a model.
    #[must_use]
    pub fn stored(&self) -> Self {
        match self {
            Self::Times(locations) => Self::Times(Box::new(locations.stored())),
            Self::Surprise { .. } => self.clone(),
        }
    }

    /// Returns whether its numbers can be those of a training with a vocabulary of this length.
    pub fn is_valid(&self, vocabulary_len: usize) -> bool {
        match self {
            Self::Times(locations) => locations.is_valid(vocabulary_len),
            Self::Surprise { middle, scale } => {
                middle.is_finite() && scale.is_finite() && *scale > 0.0
            }
        }
    }
}

impl TreeEvidence {
    /// Adds the evidence of the structures of the run.
    pub fn add_structures(&mut self, structures: Structures, design: ByDesign) {
        self.design = design;
        self.structure_ln_p = structures.ln_p;
        self.structure_decision_ln_p = structures.decision_ln_p;
        self.is_by_design = structures.is_late_end;
    }

    /// Returns whether the structure of each tree is odd, shape `[n_trees]`.
    pub fn is_odd(&self) -> Vec<bool> {
        let ln_p = self.structure_decision_ln_p.iter();
        ln_p.map(|&ln_p| ln_p < 0.0).collect()
    }

    /// Returns the statistics of the trees of `is_usual` with their times, for the fit of a tail.
    pub fn observations(&self, placement: &Placement, is_usual: &[bool]) -> Vec<Observation> {
        observations(&self.statistics, placement, is_usual)
    }

    /// Returns ln of the p-value by which trees are ordered, shape `[n_trees]`.
    fn ranking_ln_p(&self, tail: &NullTail) -> Vec<f64> {
        let pairs = self.statistics.iter().zip(&self.structure_ln_p);
        let ln_p = |&value: &f64| tail.ln_p(value, CAUTIOUS_SCALE);
        pairs
            .map(|(value, structure)| ln_p(value).min(*structure))
            .collect()
    }

    /// Returns ln of the p-value for the decision about each tree; it is 0 for a tree that is long by design, or
    /// hardly longer than usual. With several tails the smallest p-value counts, times their number (Bonferroni).
    pub fn decision_ln_p(&self, tails: &[&NullTail]) -> Vec<f64> {
        let of_tail = |value: f64, tail: &NullTail| tail.ln_p(value, CAUTIOUS_SCALE);
        let num = tails.len().real().ln();
        let ln_p = |value: f64| {
            let least = tails.iter().map(|tail| of_tail(value, tail));
            (least.fold(f64::INFINITY, f64::min) + num).min(0.0)
        };
        let of = |tree: usize| {
            if self.is_by_design[tree] {
                return 0.0;
            }
            let excess = if self.excesses[tree] >= MIN_EXCESS {
                ln_p(self.statistics[tree])
            } else {
                0.0
            };
            excess.min(self.structure_decision_ln_p[tree])
        };
        (0..self.statistics.len()).map(of).collect()
    }

    /// Decides about the trees, such that a share `rate` of the alarms is expected to be false. Trees that
    /// `is_explained` otherwise are not part of the set, but are classified as abnormal if they would be discoveries.
    /// If there are too few trees, none is abnormal.
    pub fn decide(&self, tails: &[&NullTail], is_explained: &[bool], rate: f64) -> Discoveries {
        let ln_p = self.decision_ln_p(tails);
        if tails.iter().all(|tail| tail.is_too_small()) {
            return Discoveries {
                ln_threshold: (rate / ln_p.len().max(1).real()).ln(),
                ..discoveries(&vec![0.0; ln_p.len()], rate)
            };
        }
        let open = ln_p.iter().zip(is_explained);
        let open = open.map(|(&ln_p, is_explained)| if *is_explained { 0.0 } else { ln_p });
        let mut decided = discoveries(&open.collect::<Vec<_>>(), rate);
        for (tree, &ln_p) in ln_p.iter().enumerate() {
            if is_explained[tree] && ln_p <= decided.ln_threshold {
                decided.is_discovery[tree] = true;
                decided.q_values[tree] = rate;
            }
        }
        decided
    }

    /// Returns ln of the p-value of the excess alone, shape `[n_trees]`.
    pub fn excess_ln_p(&self, tail: &NullTail) -> Vec<f64> {
        let excess = self.statistics.iter();
        excess
            .map(|&value| tail.ln_p(value, CAUTIOUS_SCALE))
            .collect()
    }

    /// Returns the share of normal trees that deviate at least as much, in (0, 1], shape `[n_trees]`; `is_abnormal`
    /// marks the abnormal trees.
    ///
    /// For a normal tree it is its rank among the normal ones (conformal, Bates et al. 2023), so that p-values of a
    /// run without abnormal trees are uniform whatever its noise is. A rank cannot be as rare as an abnormal tree:
    /// the p-value of such a tree is that of the tail, if that is smaller.
    pub fn p_values_within(&self, tail: &NullTail, is_abnormal: &[bool]) -> Vec<f64> {
        let ln_p = self.ranking_ln_p(tail);
        let normal = ln_p.iter().zip(is_abnormal).filter(|(_, it)| !**it);
        let normal = ascending(normal.map(|(&ln_p, _)| ln_p).collect());
        let of = |(&ln_p, is_abnormal): (&f64, &bool)| {
            let num_rarer = normal.partition_point(|&other| other <= ln_p);
            if *is_abnormal {
                let place = (num_rarer + 1).real() / (normal.len() + 1).real();
                place.min(ln_p.exp()).max(f64::MIN_POSITIVE)
            } else {
                num_rarer.real() / normal.len().real() // itself among them
            }
        };
        ln_p.iter().zip(is_abnormal).map(of).collect()
    }

    /// Returns the ranks of the trees of `is_normal`, for p-values of other runs.
    pub fn normal_ranks(
        &self,
        tail: &NullTail,
        placement: &Placement,
        is_normal: &[bool],
    ) -> NormalRanks {
        let ln_p = self.ranking_ln_p(tail).into_iter();
        let rarities: Vec<f64> = ln_p.map(|ln_p| -ln_p).collect();
        NormalRanks::of(observations(&rarities, placement, is_normal))
    }

    /// Returns the share of normal trees of a training with this tail and these ranks that deviate at least as much,
    /// in (0, 1], shape `[n_trees]`.
    pub fn p_values(&self, tail: &NullTail, normal: &NormalRanks) -> Vec<f64> {
        let ln_p = self.ranking_ln_p(tail).into_iter();
        ln_p.map(|ln_p| normal.ln_share(ln_p).exp().max(f64::MIN_POSITIVE))
            .collect()
    }

    /// Returns the weights of unlabelled trees in the one-class SVM: abnormal trees have weight 0, however many there
    /// are. Shape `[n_trees]`.
    pub fn weights(&self, tail: &NullTail) -> Vec<f64> {
        let weight = |ln_p: f64| {
            let (none, full) = WEIGHTS;
            let weight = ((ln_p.exp() - none) / (full - none)).clamp(0.0, 1.0);
            if weight < MIN_WEIGHT { 0.0 } else { weight }
        };
        self.excess_ln_p(tail).into_iter().map(weight).collect()
    }

    /// Returns the scores of trees, the smallest the most abnormal: ln of the harmonic mean of the p-value that they
    /// are ordered by and that of the one-class SVM (Wilson, PNAS 2019). If there are too few trees for p-values it
    /// is the negative statistic alone. Shape `[n_trees]`.
    pub fn scores(&self, tail: &NullTail, svm_ln_p: &[f64]) -> Vec<f64> {
        if tail.is_too_small() {
            return self.statistics.iter().map(|statistic| -statistic).collect();
        }
        let ranking_ln_p = self.ranking_ln_p(tail);
        let pairs = ranking_ln_p.iter().zip(svm_ln_p).zip(&self.statistics);
        pairs
            .map(|((&own, &svm), statistic)| harmonic_mean(own, svm) - TIE_BREAK * statistic)
            .collect()
    }
}

/// Returns values of some trees with their times, for the fit of a tail.
pub(crate) fn observations(
    values: &[f64],
    placement: &Placement,
    is_usual: &[bool],
) -> Vec<Observation> {
    let trees = values.iter().zip(&placement.places).zip(is_usual);
    trees
        .filter(|(_, is_usual)| **is_usual)
        .map(|((&value, place), _)| Observation {
            value,
            entry_ns: place.entry_ns,
            exit_ns: place.exit_ns,
        })
        .collect()
}

/// Returns ln of the harmonic mean of two p-values, from their logarithms.
fn harmonic_mean(a: f64, b: f64) -> f64 {
    let (smaller, larger) = (a.min(b), a.max(b));
    2.0_f64.ln() + smaller - (smaller - larger).exp().ln_1p()
}

/// Returns ln of the p-value of the most surprising part of a tree, from its row: that of its kind times the number
/// of kinds, and times 2, since the norm of the row is tested as well (Bonferroni). A tail that is fitted to norms is
/// wide if many trees are abnormal; that of one kind, which few of them affect, is not.
fn part_ln_p(row: RowRef<'_>) -> f64 {
    let largest = row.entries().map(|(_, surprise)| surprise);
    let num_looked_at = 2.0 * NUM_KINDS.real();
    (num_looked_at.ln() - largest.fold(0.0, f64::max)).min(0.0)
}

/// Returns the norm that a share of the apparently normal rows does not exceed: their scale.
pub fn normal_norm(norms: &[f64], ln_p: &[f64], share: f64) -> f64 {
    let normal = norms
        .iter()
        .zip(ln_p)
        .filter(|(_, ln_p)| **ln_p > WEIGHTS.1.ln());
    let normal = ascending(normal.map(|(&norm, _)| norm).collect());
    if normal.len().real() < 1.0 {
        return quantile(&ascending(norms.to_vec()), share);
    }
    quantile(&normal, share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harmonic_mean_is_that_of_p_values_and_does_not_underflow() {
        let mean = harmonic_mean(0.1_f64.ln(), 0.4_f64.ln()).exp();
        assert!((mean - 2.0 / (10.0 + 2.5)).abs() < 1e-12, "{mean}");
        let far = harmonic_mean(-2_000.0, -1.0);
        assert!((far + 2_000.0 - 2.0_f64.ln()).abs() < 1e-9, "{far}");
    }

    fn observed(statistics: Vec<f64>) -> (TreeEvidence, NullTail) {
        let num = statistics.len();
        let times = (0_i64..).zip(&statistics).map(|(at, &value)| Observation {
            value,
            entry_ns: 100 * at,
            exit_ns: 100 * at + 90,
        });
        let tail = NullTail::fit(&times.collect::<Vec<_>>());
        let evidence = TreeEvidence {
            excesses: statistics.clone(),
            statistics,
            structure_ln_p: vec![0.0; num],
            structure_decision_ln_p: vec![0.0; num],
            is_by_design: vec![false; num],
            design: ByDesign::default(),
        };
        (evidence, tail)
    }

    #[test]
    fn p_values_of_a_run_are_ranks_among_its_normal_trees() {
        // Heavy noise, the last three far out.
        let noise = (0..1_000).map(|at| (1.0 - f64::from(at) / 1_000.0).powi(-2));
        let (evidence, tail) = observed(noise.chain([1e9; 3]).collect());
        let is_abnormal: Vec<bool> = (0..1_003).map(|tree| tree >= 1_000).collect();
        let p_values = evidence.p_values_within(&tail, &is_abnormal);
        for rate in [0.5, 0.1, 0.01, 0.001] {
            let as_rare = p_values[..1_000].iter().filter(|&&p| p <= rate).count();
            assert!(
                (as_rare.real() - 1_000.0 * rate).abs() <= 1.0,
                "{rate}: {as_rare}"
            );
        }
        assert!(
            p_values[1_000..]
                .iter()
                .all(|&p| p > 0.0 && p <= 1.0 / 1_001.0)
        );
    }

    #[test]
    fn two_tails_double_the_smaller_p_value() {
        let (evidence, quiet) = observed((0..500).map(|at| f64::from(at) / 500.0).collect());
        let (_, noisy) = observed((0..500).map(f64::from).collect());
        let alone = evidence.decision_ln_p(&[&quiet]);
        let both = evidence.decision_ln_p(&[&noisy, &quiet]);
        assert!(alone[499] < 0.0);
        assert!((both[499] - (alone[499] + 2.0_f64.ln()).min(0.0)).abs() < 1e-12);
    }
}
