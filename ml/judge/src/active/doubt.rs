//! Labels that contradict their neighbourhood.

use serde::{Deserialize, Serialize};

use callgrove_model::{Label, TreeIdx};

use crate::decision::prior;
use crate::detector::{Detector, Embedding};
use callgrove_map::knn::nearest;

/// Minimum probability of the other class for a doubtful label.
const MIN_OTHER_CLASS: f64 = 0.9;
/// Minimum lead of the other labels nearby that contradict a label over those that agree with it, in labels.
const MIN_LEAD: f64 = 0.5;
/// Minimum p-value of a tree that is as ordinary as half of them.
const ORDINARY: f64 = 0.5;

/// A label that contradicts nearby trees: a mistake, or a difference that the rows do not show.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Doubt {
    /// The labelled tree.
    pub tree: TreeIdx,
    /// Its label.
    pub label: Label,
    /// Probability that the other label is right, .9..=1.
    pub strength: f64,
    /// The nearest other tree that has the other label, or is classified as such.
    pub witness: TreeIdx,
}

/// Returns the labels that contradict their neighbourhood, the most doubtful first; equal ones by tree.
///
/// A label is doubtful if the p-value and the other labels nearby give the tree a probability of .9 to be of the
/// other class ([`crate::decision::LabelReach`], without the label itself), and the other labels alone contradict it: a
/// person labels what the model has wrong, so the model's word is no reason to doubt. The exception is a label
/// "abnormal" of a tree that is as ordinary as half of all. Each doubtful label costs the distances to n trees.
pub fn doubtful_labels(embedding: &Embedding, detector: &Detector) -> Vec<Doubt> {
    let labels = detector.labels();
    let decision = embedding.decision();
    let p_values = embedding.p_values();
    let doubt_of = |tree: usize| {
        let label = labels[tree]?;
        let prior = prior(decision.is_discovery[tree], decision.q_values[tree]);
        let abnormal = detector.reach().without_own(tree, prior);
        let strength = match label {
            Label::Abnormal => 1.0 - abnormal,
            Label::Normal => abnormal,
        };
        let [own, other] = detector.reach().others(tree);
        let is_ordinary = |p_values: &Vec<f64>| p_values[tree] >= ORDINARY;
        let is_slip = label == Label::Abnormal && p_values.as_ref().is_some_and(is_ordinary);
        let is_outvoted = other > own + MIN_LEAD;
        if strength <= MIN_OTHER_CLASS || !(is_outvoted || is_slip) {
            return None;
        }
        let other = |other: usize| {
            other != tree && detector.abnormal()[other] != (label == Label::Abnormal)
        };
        let witness = nearest(embedding.rows(), tree, 1, other)
            .into_iter()
            .next()?;
        Some(Doubt {
            tree: TreeIdx::from_index(tree),
            label,
            strength,
            witness: TreeIdx::from_index(witness.0),
        })
    };
    let mut doubts: Vec<Doubt> = (0..labels.len()).filter_map(doubt_of).collect();
    doubts.sort_by(|a, b| b.strength.total_cmp(&a.strength).then(a.tree.cmp(&b.tree)));
    doubts
}
