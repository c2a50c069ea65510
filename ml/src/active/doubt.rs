//! Labels that disagree with their neighbourhood.

use serde::{Deserialize, Serialize};

use callgrove_model::{Label, TreeIdx};

use crate::detector::{Detector, Embedding};
use crate::ocsvm::exp_of_negative;
use crate::real::Real;

/// Labels that are compared with all others at most; of more, evenly spaced ones stand for all.
const MAX_WITNESSES: usize = 1_000;
/// Weight of having no neighbours at all, in kernels: one close neighbour alone is half a proof.
const PRIOR: f64 = 0.5;
/// Unlabelled trees that are looked at at most; of more, evenly spaced ones stand for all.
const MAX_SAMPLED: usize = 4_000;
/// Weight of an unlabelled tree in labels: what it is called is only a guess.
const GUESS: f64 = 0.05;
/// How far the neighbourhood must lean to the other side, 0..=1.
const DOUBTFUL: f64 = 0.3;

/// A label that trees nearby contradict: a slip, or a difference that the rows do not show.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Doubt {
    /// The labelled tree.
    pub tree: TreeIdx,
    /// Its label.
    pub label: Label,
    /// How strongly the neighbourhood leans to the other side, 0.3..=1.
    pub strength: f64,
    /// The nearest tree that has the other label or is called that.
    pub witness: TreeIdx,
}

/// Labels that their neighbourhood contradicts, the most doubtful first; equal ones by tree.
///
/// Other labels vote for the label y_i = ±1 of a tree with their kernels (leave-one-out kernel smoothing,
/// Nadaraya 1964), and so do unlabelled trees with what the detector calls them, with 1/20 of the
/// weight: v_i = Σ w_j k_ij y_j / (Σ w_j k_ij + 1/2). A label is doubtful if −y_i v_i > 0.3. So one
/// that contradicts a crowd is doubted at once. L labels of n trees cost L min(n, 5000) distances.
///
/// `labels` and `scores`, those of the last training, have shape `[n_trees]`.
pub fn doubtful_labels(
    embedding: &Embedding,
    labels: &[Option<Label>],
    scores: &[f64],
) -> Vec<Doubt> {
    let called = |tree: usize| {
        if Detector::is_abnormal(scores[tree]) {
            Label::Abnormal
        } else {
            Label::Normal
        }
    };
    let with_label = |wanted: bool| {
        let trees = 0..labels.len();
        trees
            .filter(move |&tree| labels[tree].is_some() == wanted)
            .collect::<Vec<_>>()
    };
    let labelled = with_label(true);
    let mut witnesses = Vec::new();
    let mut add = |trees: &[usize], most: usize, weight: f64| {
        let step = trees.len().div_ceil(most).max(1);
        let taken = trees.iter().step_by(step);
        witnesses.extend(taken.map(|&tree| {
            (
                tree,
                labels[tree].unwrap_or(called(tree)),
                weight * step.real(),
            )
        }));
    };
    add(&labelled, MAX_WITNESSES, 1.0);
    add(&with_label(false), MAX_SAMPLED, GUESS);
    let places: Vec<usize> = witnesses.iter().map(|witness| witness.0).collect();
    let rows = embedding.rows().select(&places);
    let gamma = embedding.reach_of_labels();
    let doubt_of = |tree: usize| {
        let label = labels[tree]?;
        let distances = rows.squared_distances(embedding.rows().row(tree));
        let (mut votes, mut weight) = (0.0, PRIOR);
        let mut nearest: Option<(f64, usize)> = None;
        for (&(other, called, share), &distance) in witnesses.iter().zip(&distances) {
            if other == tree {
                continue;
            }
            let kernel = share * exp_of_negative(-gamma * distance);
            votes += kernel * if called == label { 1.0 } else { -1.0 };
            weight += kernel;
            if called != label && nearest.is_none_or(|nearest| distance < nearest.0) {
                nearest = Some((distance, other));
            }
        }
        let strength = -votes / weight;
        let (_, witness) = nearest.filter(|_| strength > DOUBTFUL)?;
        Some(Doubt {
            tree: TreeIdx::from_index(tree),
            label,
            strength,
            witness: TreeIdx::from_index(witness),
        })
    };
    let mut doubts: Vec<Doubt> = labelled.iter().filter_map(|&tree| doubt_of(tree)).collect();
    doubts.sort_by(|a, b| b.strength.total_cmp(&a.strength).then(a.tree.cmp(&b.tree)));
    doubts
}
