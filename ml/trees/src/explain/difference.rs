//! The differences of one tree from the usual tree of its kind.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use callgrove_model::{DifferenceKind, DurationNs, Forest, FuncId, TreeIdx};
use serde::{Deserialize, Serialize};

use super::compare::{Comparison, side_by_side};
use super::merge::{CallPath, Merger};
use super::order::ranked;
use super::paths::CallPaths;
use super::usual::UsualTrees;
use crate::real::Real;

/// The reasons why a tree is anomalous.
#[derive(Clone, PartialEq, Debug)]
pub struct TreeExplanation {
    /// The differences, the most important first.
    pub differences: Vec<Difference>,
    /// The tree of the forest in the centre of those it was compared with; `None` if these are a model's, or if there
    /// are none.
    pub usual: Option<TreeIdx>,
    /// Number of trees that it was compared with. If there is no other tree, this is 0, and the differences are
    /// between calls of the tree.
    pub num_usual: usize,
    /// True if these have the same paths as the tree, each about equally often.
    pub is_same_shape: bool,
}

/// One difference between a tree and the usual tree of its kind.
///
/// Times are exclusive, except for a path that is new or missing as a whole: its time includes everything below it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// The kind of difference.
    pub kind: DifferenceKind,
    /// The function, which is the last of the path.
    pub func: FuncId,
    /// The functions from the root of the tree.
    pub path: Vec<FuncId>,
    /// Number of calls in the tree.
    pub count: u64,
    /// Usual number of calls (a median).
    pub usual_count: u64,
    /// Time in the tree, of all calls together.
    pub time: DurationNs,
    /// Usual time (a median).
    pub usual_time: DurationNs,
    /// time − usual time.
    pub excess: DurationNs,
    /// Share of the compared trees that have the path.
    pub share: f64,
    /// Importance, 0..=1; the first difference has 1. The larger of the share of all excess time and of the rarity of
    /// the structure.
    pub importance: f64,
    /// The vertices of the tree on this path, the longest first; empty if the path is missing.
    pub vertices: Vec<u32>,
}

/// Explains how `tree` differs from usual trees. `paths` are of `forest`, and `usual` too, or both are those stored
/// in a model with the paths of `forest` ([`super::UsualArtifact::of_forest`]). The cost is linear in the vertices of
/// the tree and the paths of its kind; if its shape is rare, all candidate shapes are examined, some thousand at
/// most.
pub fn explain(
    forest: &Forest,
    paths: &CallPaths,
    usual: &UsualTrees,
    tree: TreeIdx,
) -> TreeExplanation {
    let mut merger = Merger::default();
    let kind = usual.of_kind(forest, paths, &mut merger, tree);
    let cs_tree = forest.tree(tree);
    let both = side_by_side(paths, paths.merge(&mut merger, cs_tree), &kind);
    let odd = if kind.is_same_shape {
        BTreeMap::new()
    } else {
        usual.calls.odd(paths, &merger, cs_tree)
    };
    let comparison = Comparison {
        paths,
        usual,
        kind: &kind,
        both: &both,
        odd: &odd,
    };
    let slower_ns = cs_tree.duration().0 - kind.duration_ns;
    let is_slower = slower_ns.real() > comparison.min_difference_ns(1);
    let found = ranked(comparison.differences(), is_slower);
    let times = cs_tree.inclusive();
    let mut vertices: Vec<Vec<(Reverse<DurationNs>, u32)>> = vec![Vec::new(); found.len()];
    let mut place_of_path: Vec<(CallPath, usize)> = found
        .iter()
        .enumerate()
        .map(|(index, found)| (found.path, index))
        .collect();
    place_of_path.sort_unstable();
    for ((vertex, path), &time) in (0..).zip(merger.path_of_vertex()).zip(times) {
        if let Ok(at) = place_of_path.binary_search_by_key(path, |entry| entry.0) {
            vertices[place_of_path[at].1].push((Reverse(time), vertex));
        }
    }
    let differences = found.iter().zip(vertices).map(|(found, mut vertices)| {
        vertices.sort_unstable();
        Difference {
            kind: found.kind,
            func: paths.func(found.path),
            path: paths.funcs(found.path),
            count: found.count,
            usual_count: found.usual_count,
            time: DurationNs(found.time_ns),
            usual_time: DurationNs(found.usual_ns),
            excess: DurationNs(found.excess_ns()),
            share: found.share,
            importance: found.importance,
            vertices: vertices.into_iter().map(|vertex| vertex.1).collect(),
        }
    });
    TreeExplanation {
        differences: differences.collect(),
        usual: kind.middle,
        num_usual: kind.num_trees,
        is_same_shape: kind.is_same_shape,
    }
}
