//! The evidence of a forest about its own trees before any label, its tail distribution, and the usual trees.

use callgrove_model::Forest;

use super::params::DecisionRule;
use crate::decision::{
    ByDesign, CallSets, Discoveries, Expectation, KnownStructures, Locations, NormalRanks,
    NullTail, Placement, Structures, SvmTail, TreeEvidence, gamma_of_labels, normal_norm,
    observations,
};
use callgrove_learn::cause::WriteShare;
use callgrove_trees::dataset::Rows;
use callgrove_trees::wl::Subtrees;

/// Scores of the one-class SVM between this and 0 are rounding errors of 0, and so not anomalies.
const BELOW_ZERO: f64 = -1e-6;
/// Quantile of the norms of normal rows that is their scale.
const SCALE_OF_NORMAL: f64 = 0.99;
/// p-value of the excess above which a row is certainly normal.
const SURELY_NORMAL: f64 = 0.05;

/// The trees from which usual times are learned: those of the sample that the tracer's writes do not explain.
#[derive(Clone, Debug)]
pub(super) struct Usual {
    /// True for each tree of the sample, shape `[n_trees]`.
    pub(super) sample: Vec<bool>,
    /// The share of each tree that writes explain, shape `[n_trees]`.
    pub(super) write_shares: Vec<Option<WriteShare>>,
}

impl Usual {
    /// Returns whether each tree is usual; all trees of the sample if writes explain all of them. Shape `[n_trees]`.
    fn flags(&self) -> Vec<bool> {
        let explained = self.explained().into_iter();
        let flags = self.sample.iter().zip(explained);
        let flags: Vec<bool> = flags.map(|(own, explained)| *own && !explained).collect();
        if flags.contains(&true) {
            flags
        } else {
            self.sample.clone()
        }
    }

    /// Returns whether the tracer's writes explain each tree, shape `[n_trees]`.
    fn explained(&self) -> Vec<bool> {
        explained(&self.write_shares)
    }

    /// Returns weights for unlabelled trees: 0 for those that are not in the sample.
    pub(super) fn weigh(&self, mut weights: Vec<f64>) -> Vec<f64> {
        for (weight, is_sampled) in weights.iter_mut().zip(&self.sample) {
            if !is_sampled {
                *weight = 0.0;
            }
        }
        weights
    }
}

/// Returns whether the tracer's writes explain each tree.
pub(super) fn explained(shares: &[Option<WriteShare>]) -> Vec<bool> {
    let shares = shares.iter();
    shares
        .map(|share| share.is_some_and(|share| share.explains()))
        .collect()
}

/// The evidence of a forest about its own trees.
#[derive(Clone, Debug)]
pub(super) struct RunEvidence {
    placement: Placement,
    is_usual: Vec<bool>,
    pub(super) expected: Expectation,
    pub(super) structures: KnownStructures,
    pub(super) evidence: TreeEvidence,
    /// The evidence as a model of this run computes it for any run: without the parts that need the complete run.
    pub(super) of_model: TreeEvidence,
    pub(super) tail: NullTail,
    pub(super) tail_of_model: NullTail,
}

impl RunEvidence {
    /// Computes the evidence of the trees of a forest with their rows; `tick_ns` is the tick of the clock.
    /// `is_varied` is true if nearly every tree has its own structure.
    pub(super) fn fit(
        forest: &Forest,
        subtrees: &Subtrees,
        rows: &Rows,
        usual: &Usual,
        tick_ns: f64,
        is_varied: bool,
    ) -> Self {
        let bags = &subtrees.bags;
        let (placement, is_usual) = (Placement::of(forest), usual.flags());
        let expected = if is_varied {
            Expectation::of_norms(selected(&rows.norms(), &is_usual))
        } else {
            let locations = Locations::fit(bags, &placement, &usual.sample, tick_ns);
            Expectation::Times(Box::new(locations))
        };
        let times = expected.evidence(bags, &placement, rows, Some);
        let (structures, design) = if expected.has_structures() {
            let (roots, call_sets) = (
                bags.roots(),
                CallSets::of(forest, bags.roots(), &subtrees.vocabulary),
            );
            let found = Structures::of(roots, &call_sets, &placement, &times.total_shares, None);
            let design = times.design(roots, &found, &placement);
            (found, design)
        } else {
            (Structures::none(bags.len()), ByDesign::default())
        };
        let known = structures.known(bags.roots());
        let mut evidence = times.evidence;
        if expected.has_structures() {
            evidence.add_structures(structures, design);
        }
        let kept = expected.stored();
        let mut of_model = if kept == expected {
            evidence.clone()
        } else {
            kept.evidence(bags, &placement, rows, Some).evidence
        };
        if expected.has_structures() {
            let ln_p_of = |&root| known.ln_p(Some(root), None);
            of_model.structure_ln_p = bags.roots().iter().map(ln_p_of).collect();
            of_model.structure_decision_ln_p = of_model.structure_ln_p.clone();
        }
        // Explained trees are included here: slow phases that writes explain in part occur without writes, too.
        let tail_of =
            |it: &TreeEvidence| NullTail::fit(&it.observations(&placement, &usual.sample));
        let tail = tail_of(&evidence);
        let tail_of_model = if of_model.statistics == evidence.statistics {
            tail.clone()
        } else {
            tail_of(&of_model)
        };
        Self {
            placement,
            is_usual,
            expected: kept,
            structures: known,
            evidence,
            of_model,
            tail,
            tail_of_model,
        }
    }

    /// Returns the p-value of each tree before any label, shape `[n_trees]`; `None` if there are too few trees to judge
    /// any.
    pub(super) fn p_values(&self, decision: &Discoveries) -> Option<Vec<f64>> {
        let within = || {
            self.evidence
                .p_values_within(&self.tail, &decision.is_discovery)
        };
        (!self.tail.is_too_small()).then(within)
    }

    /// Returns the ranks of the normal trees of a sample: by the evidence of the complete run, and as a model of this
    /// run computes it.
    pub(super) fn normal_ranks(
        &self,
        sample: &[bool],
        decision: &Discoveries,
    ) -> (NormalRanks, NormalRanks) {
        let trees = sample.iter().zip(&decision.is_discovery);
        let is_normal: Vec<bool> = trees.map(|(own, is_found)| *own && !is_found).collect();
        let ranks = |evidence: &TreeEvidence, tail| {
            evidence.normal_ranks(tail, &self.placement, &is_normal)
        };
        (
            ranks(&self.evidence, &self.tail),
            ranks(&self.of_model, &self.tail_of_model),
        )
    }

    /// Returns the norm that nearly all normal rows do not exceed.
    pub(super) fn normal_norm(&self, norms: &[f64]) -> f64 {
        let ln_p = self.evidence.excess_ln_p(&self.tail);
        let norms = selected(norms, &self.is_usual);
        normal_norm(&norms, &selected(&ln_p, &self.is_usual), SCALE_OF_NORMAL)
    }

    /// Returns γ of the kernel that relates labels to their neighbours.
    pub(super) fn gamma_of_labels(&self, rows: &Rows) -> f64 {
        let ln_p = self.evidence.excess_ln_p(&self.tail);
        let is_normal = |tree: &usize| self.is_usual[*tree] && ln_p[*tree] > SURELY_NORMAL.ln();
        let normal: Vec<usize> = (0..rows.len()).filter(is_normal).collect();
        gamma_of_labels(rows, &normal)
    }

    /// Returns the tail distribution of scores of the one-class SVM.
    pub(super) fn svm_tail(&self, scores: &[f64]) -> SvmTail {
        SvmTail::fit(&observations(scores, &self.placement, &self.is_usual))
    }

    /// Returns the decision before any label, with the scores of the one-class SVM. Trees that the tracer's writes
    /// explain are not part of the set, but are classified as abnormal if they would be discoveries.
    pub(super) fn decide(&self, rule: DecisionRule, usual: &Usual, svm: &[f64]) -> Discoveries {
        match rule {
            DecisionRule::Rho => by_svm(svm),
            DecisionRule::FalseDiscovery(rate) => {
                self.evidence
                    .decide(&[&self.tail], &usual.explained(), rate)
            }
        }
    }
}

/// Returns whether a score of the one-class SVM is negative by more than rounding.
pub(super) fn is_below_zero(score: f64) -> bool {
    score < BELOW_ZERO
}

/// Returns the decision of the one-class SVM alone.
pub(super) fn by_svm(scores: &[f64]) -> Discoveries {
    Discoveries {
        is_discovery: scores.iter().map(|&score| is_below_zero(score)).collect(),
        q_values: vec![0.5; scores.len()],
        ln_threshold: 0.0,
    }
}

/// Returns the selected values.
fn selected(values: &[f64], is_wanted: &[bool]) -> Vec<f64> {
    let wanted = values.iter().zip(is_wanted).filter(|(_, wanted)| **wanted);
    wanted.map(|(&value, _)| value).collect()
}
