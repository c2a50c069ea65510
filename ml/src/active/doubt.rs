//! Labels that disagree with their neighbourhood.

use callgrove_model::{Label, TreeIdx};

use crate::detector::Embedding;
use crate::ocsvm::exp_of_negative;

/// Labels that are compared with all others at most; of more, evenly spaced ones stand for all.
const MAX_WITNESSES: usize = 1_000;
/// Weight of having no neighbours at all, in kernels: one close neighbour alone is half a proof.
const PRIOR: f64 = 0.5;
/// How far the neighbourhood must lean to the other side, 0..=1.
const DOUBTFUL: f64 = 0.3;

/// A label that trees nearby contradict: a slip, or a difference that the rows do not show.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Doubt {
    /// The labelled tree.
    pub tree: TreeIdx,
    /// Its label.
    pub label: Label,
    /// How strongly the other labels lean to the other side, 0.3..=1.
    pub strength: f64,
    /// The nearest tree with the other label.
    pub witness: TreeIdx,
}

/// Labels that their neighbourhood contradicts, the most doubtful first; equal ones by tree.
///
/// For the label y_i = ±1 of a tree the other labels vote with their kernels (leave-one-out kernel
/// smoothing, Nadaraya 1964): v_i = Σ k_ij y_j / (Σ k_ij + 1/2). It is doubtful if −y_i v_i > 0.3.
/// `labels` has shape `[n_trees]`; L labels cost L min(L, 1000) distances.
pub fn doubtful_labels(embedding: &Embedding, labels: &[Option<Label>]) -> Vec<Doubt> {
    let labelled: Vec<(usize, Label)> = labels
        .iter()
        .enumerate()
        .filter_map(|(tree, label)| Some((tree, (*label)?)))
        .collect();
    let step = labelled.len().div_ceil(MAX_WITNESSES).max(1);
    let witnesses: Vec<(usize, Label)> = labelled.iter().copied().step_by(step).collect();
    let places: Vec<usize> = witnesses.iter().map(|witness| witness.0).collect();
    let rows = embedding.rows().select(&places);
    let gamma = embedding.reach_of_labels();
    let mut doubts: Vec<Doubt> = labelled
        .iter()
        .filter_map(|&(tree, label)| {
            let distances = rows.squared_distances(embedding.rows().row(tree));
            let others = || {
                let all = witnesses.iter().zip(&distances);
                all.filter(|((other, _), _)| *other != tree)
            };
            let (mut votes, mut weight) = (0.0, PRIOR);
            for ((_, other), distance) in others() {
                let kernel = exp_of_negative(-gamma * distance);
                votes += kernel * if *other == label { 1.0 } else { -1.0 };
                weight += kernel;
            }
            let strength = -votes / weight;
            let (nearest, _) = others()
                .filter(|((_, other), _)| *other != label)
                .min_by(|a, b| a.1.total_cmp(b.1))?;
            (strength > DOUBTFUL).then_some(Doubt {
                tree: TreeIdx::from_index(tree),
                label,
                strength,
                witness: TreeIdx::from_index(nearest.0),
            })
        })
        .collect();
    doubts.sort_by(|a, b| b.strength.total_cmp(&a.strength).then(a.tree.cmp(&b.tree)));
    doubts
}
