//! Scores of all trees from an embedding and labels.

use callgrove_model::{Label, Progress, TreeIdx};

use super::embedding::Embedding;
use super::params::{DecisionRule, LabelRule};
use super::run_evidence::is_below_zero;
use crate::decision::{LabelReach, Votes, prior};
use callgrove_learn::ocsvm::{self, Trained, train_on_anchors};
use callgrove_trees::error::{MlError, Result};

/// Resolution of scores for their order. Free support vectors all have score 0 up to rounding, so without it their
/// order would be random.
const ORDER_STEP: f64 = 1e-9;
/// Returns trees from the most abnormal to the most normal by `scores`, shape `[n_trees]`; scores that are equal up
/// to rounding are ordered by tree.
pub fn order_by_score(scores: &[f64]) -> Vec<TreeIdx> {
    let mut order: Vec<TreeIdx> = (0..scores.len()).map(TreeIdx::from_index).collect();
    // Stable, so trees of equal score keep their order.
    order.sort_by(|a, b| {
        let step = |tree: &TreeIdx| order_step(scores[tree.index()]);
        step(a).total_cmp(&step(b))
    });
    order
}

/// Returns the sort key of a score, which is equal for scores that are equal up to rounding.
pub fn order_step(score: f64) -> f64 {
    (score / ORDER_STEP).round() + 0.0 // no negative zero
}

/// A detector trained on an embedding with labels.
#[derive(Clone, Debug)]
pub struct Detector {
    trained: Trained,
    reach: LabelReach,
    scale: f64,
    scores: Vec<f64>,
    abnormal: Vec<bool>,
    threshold: f64,
    labels: Vec<Option<Label>>,
}

impl Detector {
    /// Trains on all trees of `embedding` with `labels`, by the [`LabelRule`].
    ///
    /// `warm` is a detector of the same embedding with other labels; it makes training faster and does not change the
    /// result.
    ///
    /// # Errors
    /// [`MlError::LengthMismatch`] if there is not one entry per tree in `labels`; [`MlError::NoPositiveWeight`] or
    /// [`MlError::Infeasible`] if too many trees are labelled abnormal; [`MlError::Cancelled`].
    pub fn train(
        embedding: &Embedding,
        labels: &[Option<Label>],
        warm: Option<&Self>,
        progress: Progress<'_>,
    ) -> Result<Self> {
        if labels.len() != embedding.num_trees() {
            return Err(MlError::LengthMismatch {
                what: "labels",
                expected: embedding.num_trees(),
                found: labels.len(),
            });
        }
        let rule = embedding.params().get().labels;
        let normal = match rule {
            LabelRule::Weights { normal } => normal * embedding.ocsvm().c(),
            LabelRule::Reach => 1.0,
        };
        let weights: Vec<f64> = labels
            .iter()
            .zip(embedding.prior())
            .map(|(label, &prior)| match label {
                Some(Label::Normal) => normal,
                Some(Label::Abnormal) => 0.0,
                None => prior,
            })
            .collect();
        let rows = embedding.rows();
        let (ocsvm, progress_of_svm) = (embedding.ocsvm(), progress.part(0.0, 0.9));
        let known = Some(warm.map_or(embedding.unlabelled(), |warm| &warm.trained));
        let trained = match embedding.anchors() {
            None => ocsvm::train(rows, &weights, ocsvm, known, progress_of_svm),
            Some(anchors) => {
                let labelled = |tree: &usize| labels[*tree].is_some();
                let apart: Vec<usize> = (0..labels.len()).filter(labelled).collect();
                train_on_anchors(
                    rows,
                    &weights,
                    anchors,
                    &apart,
                    ocsvm,
                    known,
                    progress_of_svm,
                )
            }
        }?;
        let scale = embedding.scale(&trained);
        let svm: Vec<f64> = trained.scores().iter().map(|score| scale * score).collect();
        let gamma = embedding.label_gamma();
        let reach = LabelReach::new(rows, gamma, labels, warm.map(|warm| &warm.reach));
        let Decided {
            scores,
            abnormal,
            threshold,
        } = Decided::new(embedding, svm, &reach, labels);
        progress.at(1.0)?;
        Ok(Self {
            trained,
            reach,
            scale,
            scores,
            abnormal,
            threshold,
            labels: labels.to_vec(),
        })
    }

    /// Returns the factor of the scores of the one-class SVM.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Returns the score of each tree, the smallest the most abnormal, shape `[n_trees]`: ln of a p-value, or with
    /// [`DecisionRule::Rho`] that of the one-class SVM. It orders trees; [`Detector::abnormal`] holds the decisions.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Returns whether each tree is abnormal, shape `[n_trees]`. For a labelled tree the label decides.
    pub fn abnormal(&self) -> &[bool] {
        &self.abnormal
    }

    /// Returns whether the label of each tree decided, or labels of others made it normal, shape `[n_trees]`.
    pub fn is_by_label(&self, embedding: &Embedding) -> Vec<bool> {
        let before = &embedding.decision().is_discovery;
        let trees = self.labels.iter().zip(before).zip(&self.abnormal);
        trees
            .map(|((label, was_abnormal), is_abnormal)| {
                label.is_some() || (*was_abnormal && !is_abnormal)
            })
            .collect()
    }

    /// Returns the score near which decisions are uncertain.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns the labels it was trained with.
    pub fn labels(&self) -> &[Option<Label>] {
        &self.labels
    }

    /// Returns the effect of the labels on the trees around them.
    pub fn reach(&self) -> &LabelReach {
        &self.reach
    }

    /// Returns the one-class SVM.
    pub fn trained(&self) -> &Trained {
        &self.trained
    }
}

/// Scores and decisions.
struct Decided {
    scores: Vec<f64>,
    abnormal: Vec<bool>,
    threshold: f64,
}

impl Decided {
    /// Computes scores and decisions from the scores `svm` of the one-class SVM and labels.
    fn new(
        embedding: &Embedding,
        svm: Vec<f64>,
        reach: &LabelReach,
        labels: &[Option<Label>],
    ) -> Self {
        let params = embedding.params().get();
        let (mut scores, mut abnormal, threshold) = match params.decision {
            DecisionRule::Rho => {
                let abnormal = svm.iter().map(|&score| is_below_zero(score)).collect();
                (svm, abnormal, 0.0)
            }
            DecisionRule::FalseDiscovery(_) => {
                let evidence = embedding.evidence_of_model();
                let svm_ln_p = svm.iter().map(|&score| embedding.svm_tail().ln_p(score));
                let scores =
                    evidence.scores(embedding.tail_of_model(), &svm_ln_p.collect::<Vec<_>>());
                let decision = embedding.decision();
                (scores, decision.is_discovery.clone(), decision.ln_threshold)
            }
        };
        if params.labels == LabelRule::Reach && labels.iter().any(Option::is_some) {
            let q_values = &embedding.decision().q_values;
            apply_labels(&mut scores, &mut abnormal, q_values, &reach.votes());
            pin_labelled(&mut scores, &mut abnormal, labels);
        }
        Self {
            scores,
            abnormal,
            threshold,
        }
    }
}

/// Adjusts scores and decisions by the labels; `q_values` are those of the decisions. All have shape `[n_trees]`.
pub(super) fn apply_labels(
    scores: &mut [f64],
    abnormal: &mut [bool],
    q_values: &[f64],
    votes: &[Votes],
) {
    let trees = scores.iter_mut().zip(abnormal);
    for (((score, is_called), &q_value), votes) in trees.zip(q_values).zip(votes) {
        *score -= votes.log_odds();
        *is_called = votes.probability(prior(*is_called, q_value)) > 0.5;
    }
}

/// Sets labelled trees to their label, and first or last in order.
fn pin_labelled(scores: &mut [f64], abnormal: &mut [bool], labels: &[Option<Label>]) {
    let first = scores.iter().copied().fold(f64::INFINITY, f64::min) - 1.0;
    let last = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 1.0;
    for ((score, is_called), label) in scores.iter_mut().zip(abnormal).zip(labels) {
        match label {
            None => {}
            Some(Label::Abnormal) => (*score, *is_called) = (first, true),
            Some(Label::Normal) => (*score, *is_called) = (last, false),
        }
    }
}
