//! Importance of the subtrees of one tree.

use std::collections::BTreeMap;

use callgrove_model::{DurationNs, Forest, TreeIdx};

use super::params::NeighbourPool;
use crate::detector::{Detector, Embedding, Features};
use crate::error::Result;
use crate::knn::nearest;
use crate::wl::{SubtreeIdx, label_tree};

/// Why a tree stands out.
#[derive(Clone, PartialEq, Debug)]
pub struct TreeExplanation {
    /// Subtrees that the tree has, the most important first; equal ones in order of vocabulary. Of
    /// subtrees that are rooted at the same vertices only the largest stands here.
    pub subtrees: Vec<SubtreeImportance>,
    /// The trees it was compared with, the nearest first.
    pub neighbours: Vec<TreeIdx>,
    /// Number of trees with the same structure, this one included.
    pub num_trees_like: usize,
}

/// What one subtree contributes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SubtreeImportance {
    /// The subtree.
    pub subtree: SubtreeIdx,
    /// Its importance, 0..=1: 1 is the most important of the tree.
    pub importance: f64,
    /// Occurrences in the tree.
    pub count: u64,
    /// Its total time in the tree.
    pub total: DurationNs,
    /// Its usual total time in a tree of this structure (a median).
    pub usual: DurationNs,
    /// total − usual: how much longer it took.
    pub difference: DurationNs,
    /// total / usual; `None` if usual is 0.
    pub ratio: Option<f64>,
    /// The vertex where its longest occurrence is rooted.
    pub vertex: u32,
}

/// Explains a tree of `forest`, which `embedding` and `detector` were made of.
///
/// In the paper, f_j = Σ |x_j − y_j| over the nearest neighbours y of x, and f then goes through the
/// output layer to become importance of subtrees. With excess times the components are subtrees
/// themselves, so f is the answer; the rarity of the whole structure counts for the subtree of largest
/// degree at the root. With stack2vec, x and y go through the output layer first and their
/// predictions are subtracted then, Σ |predict(x)_s − predict(y)_s|: sizes of differences have lost the
/// signs that the layer's weights need.
///
/// # Errors
/// None at present but those of reading an embedding of another forest, which is the caller's error.
pub fn explain(
    forest: &Forest,
    embedding: &Embedding,
    detector: &Detector,
    tree: TreeIdx,
) -> Result<TreeExplanation> {
    let settings = embedding.params().get();
    let scores = detector.scores();
    let is_candidate = |row: usize| match settings.explain.neighbours {
        NeighbourPool::All => true,
        NeighbourPool::Normal => {
            let is_labelled = detector.labels()[row] == Some(crate::detector::Label::Abnormal);
            !is_labelled && !Detector::is_abnormal(scores[row])
        }
    };
    let num_neighbours = settings.explain.num_neighbours;
    let neighbours = nearest(embedding.rows(), tree.index(), num_neighbours, is_candidate);
    let neighbours: Vec<TreeIdx> = neighbours
        .into_iter()
        .map(|(row, _)| TreeIdx::from_index(row))
        .collect();
    let importance = importance_of_subtrees(embedding, tree, &neighbours);
    let bag = embedding.subtrees().bags.bag(tree);
    let vertices = longest_occurrences(forest, embedding, tree)?;
    let subtrees = bag
        .subtree
        .iter()
        .enumerate()
        .map(|(place, &subtree)| {
            let usual = embedding.reference().usual(bag.root, subtree).total_ns;
            let total = bag.inclusive_ns[place];
            SubtreeImportance {
                subtree,
                importance: importance[subtree.index()],
                count: bag.count[place],
                total: DurationNs(total),
                usual: DurationNs::nearest(usual),
                difference: DurationNs(total) - DurationNs::nearest(usual),
                ratio: (usual > 0.0).then(|| total as f64 / usual),
                vertex: vertices[place],
            }
        })
        .collect();
    Ok(TreeExplanation {
        subtrees: in_order(merge_degrees(subtrees)),
        neighbours,
        num_trees_like: embedding.reference().num_trees_like(bag.root),
    })
}

/// Keeps one of several subtrees that are rooted at the same vertices: the largest, which says most,
/// with the largest importance. `subtrees` come in order of vocabulary, so by ascending degree.
fn merge_degrees(subtrees: Vec<SubtreeImportance>) -> Vec<SubtreeImportance> {
    // One function's subtrees with the same longest occurrence, number and total are rooted alike:
    // those of larger degree are among those of smaller.
    let mut kept: BTreeMap<(u32, u64), SubtreeImportance> = BTreeMap::new();
    for subtree in subtrees {
        kept.entry((subtree.vertex, subtree.count))
            .and_modify(|kept| {
                let importance = kept.importance.max(subtree.importance);
                *kept = SubtreeImportance {
                    importance,
                    ..subtree
                };
            })
            .or_insert(subtree);
    }
    kept.into_values().collect()
}

/// Scales importance to 1 and sorts.
fn in_order(mut subtrees: Vec<SubtreeImportance>) -> Vec<SubtreeImportance> {
    let largest = subtrees
        .iter()
        .map(|subtree| subtree.importance)
        .fold(0.0, f64::max);
    if largest > 0.0 {
        for subtree in &mut subtrees {
            subtree.importance /= largest;
        }
    }
    subtrees.sort_by(|a, b| {
        let by_importance = b.importance.total_cmp(&a.importance);
        by_importance.then(a.subtree.cmp(&b.subtree))
    });
    subtrees
}

fn importance_of_subtrees(
    embedding: &Embedding,
    tree: TreeIdx,
    neighbours: &[TreeIdx],
) -> Vec<f64> {
    let rows = embedding.rows();
    let num_columns = rows.num_columns();
    let own = rows.row(tree.index()).to_dense(num_columns);
    let mut importance = vec![0.0; embedding.subtrees().vocabulary.len()];
    match embedding.features() {
        Features::Excess(model) => {
            for neighbour in neighbours {
                let other = rows.row(neighbour.index()).to_dense(num_columns);
                for (column, (x, y)) in own.iter().zip(&other).enumerate() {
                    importance[model.subtree_of_column(column).index()] += (x - y).abs();
                }
            }
        }
        Features::Context(model) => {
            let vocabulary = &embedding.subtrees().vocabulary;
            for neighbour in neighbours {
                let other = rows.row(neighbour.index()).to_dense(num_columns);
                let by_function = model.by_function(&own, &other);
                for (subtree, found) in vocabulary.iter().filter(|(_, found)| found.degree == 0) {
                    let function = by_function.iter().find(|entry| *entry.0 == *found.name);
                    importance[subtree.index()] += function.map_or(0.0, |entry| entry.1);
                }
            }
        }
        Features::Stack2vec(network) => {
            let own = network.output.predict(&own);
            for neighbour in neighbours {
                let other = rows.row(neighbour.index()).to_dense(num_columns);
                let other = network.output.predict(&other);
                for (importance, (x, y)) in importance.iter_mut().zip(own.iter().zip(&other)) {
                    *importance += (x - y).abs();
                }
            }
        }
    }
    importance
}

/// For each entry of the tree's bag the vertex of the longest occurrence; the first of equals.
fn longest_occurrences(forest: &Forest, embedding: &Embedding, tree: TreeIdx) -> Result<Vec<u32>> {
    let labels = label_tree(forest, tree, embedding.params().get().wl.check()?);
    let bag = embedding.subtrees().bags.bag(tree);
    let view = forest.tree(tree);
    let mut longest: Vec<Option<usize>> = vec![None; bag.subtree.len()];
    for vertex in 0..view.len() {
        for &hash in labels.of_vertex(vertex) {
            let subtree = embedding.subtrees().vocabulary.find(hash);
            let Some(place) = subtree.and_then(|subtree| bag.place_of(subtree)) else {
                continue;
            };
            let is_longer =
                longest[place].is_none_or(|best| view.inclusive()[vertex] > view.inclusive()[best]);
            if is_longer {
                longest[place] = Some(vertex);
            }
        }
    }
    Ok(longest
        .into_iter()
        .map(|vertex| vertex.unwrap_or(0) as u32)
        .collect())
}
