//! Scores of all trees from an embedding and labels.

use callgrove_model::{Label, Progress, TreeIdx};

use super::correction::Correction;
use super::embedding::Embedding;
use super::params::LabelRule;
use crate::calibration::is_abnormal;
use crate::error::{MlError, Result};
use crate::ocsvm::{self, Trained, train_on_anchors};

/// Scores are ordered by multiples of this. Free support vectors all have score 0 up to rounding, so
/// without it their order would flicker.
const ORDER_STEP: f64 = 1e-9;

/// Trees from the most abnormal to the most normal by `scores`, shape `[n_trees]`; scores that are
/// equal up to rounding are ordered by tree.
pub fn order_by_score(scores: &[f64]) -> Vec<TreeIdx> {
    let mut order: Vec<TreeIdx> = (0..scores.len()).map(TreeIdx::from_index).collect();
    // Stable, so trees of equal score keep their order.
    order.sort_by(|a, b| {
        let step = |tree: &TreeIdx| order_step(scores[tree.index()]);
        step(a).total_cmp(&step(b))
    });
    order
}

/// What a score is ordered by: equal for scores that are equal up to rounding.
pub(crate) fn order_step(score: f64) -> f64 {
    (score / ORDER_STEP).round() + 0.0 // no negative zero
}

/// A detector trained on an embedding with labels.
#[derive(Clone, Debug)]
pub struct Detector {
    trained: Trained,
    correction: Correction,
    scale: f64,
    border: f64,
    scores: Vec<f64>,
    labels: Vec<Option<Label>>,
}

impl Detector {
    /// Trains on all trees of `embedding` with `labels`, as [`LabelRule`] says.
    ///
    /// `warm` is a detector of the same embedding with other labels; it makes training faster and
    /// changes nothing else.
    ///
    /// # Errors
    /// [`MlError::LengthMismatch`] if there is not one label (or none) per tree;
    /// [`MlError::NoPositiveWeight`] or [`MlError::Infeasible`] if too many trees are labelled
    /// abnormal; [`MlError::Cancelled`].
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
            LabelRule::Correction(_) => 1.0,
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
        let border = embedding.border();
        let scale = embedding.scale(&trained);
        let mut scores: Vec<f64> = trained
            .scores()
            .iter()
            .map(|score| scale * score - border)
            .collect();
        let correction = match rule {
            LabelRule::Weights { .. } => Correction::none(),
            LabelRule::Correction(params) => Correction::fit(
                rows,
                embedding.reach_of_labels(),
                &params,
                &scores,
                embedding.evidence(),
                labels,
                warm.map(|warm| &warm.correction),
            ),
        };
        correction.add_to(&mut scores);
        progress.at(1.0)?;
        Ok(Self {
            trained,
            correction,
            scale,
            border,
            scores,
            labels: labels.to_vec(),
        })
    }

    /// How rare each tree is: the share of normal trees that stand out as much or more, in (0, 1]; shape
    /// `[n_trees]`. `embedding` is the one it was trained on.
    pub fn p_values(&self, embedding: &Embedding) -> Vec<f64> {
        embedding.calibration().p_values(&self.scores, self.border)
    }

    /// What the scores of the one-class SVM were multiplied by, before the border was taken off.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// What was taken off the scores of the one-class SVM.
    pub fn border(&self) -> f64 {
        self.border
    }

    /// Score of each tree: negative = abnormal.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Whether a score means an anomaly: below 0 by more than rounding.
    pub fn is_abnormal(score: f64) -> bool {
        is_abnormal(score)
    }

    /// The labels it was trained with.
    pub fn labels(&self) -> &[Option<Label>] {
        &self.labels
    }

    /// What the labels added to the scores of the one-class SVM.
    pub fn correction(&self) -> &Correction {
        &self.correction
    }

    /// The one-class SVM.
    pub fn trained(&self) -> &Trained {
        &self.trained
    }
}
