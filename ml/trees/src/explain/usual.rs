//! The usual trees: usual counts and times along each path of a kind of tree.

use callgrove_model::{Forest, TreeIdx};
use serde::{Deserialize, Serialize};

use super::calls::UsualCalls;
use super::merge::{CallPath, Merger, PathTotal};
use super::paths::CallPaths;
use crate::real::Real;

/// Minimum number of normal trees of a shape that is a kind of its own.
const MIN_TREES_OF_KIND: usize = 8;
/// Maximum number of trees of a kind whose medians are taken, spread evenly over the run.
const MAX_SAMPLED: usize = 128;
/// Maximum number of kinds, the most common first, and trees of rarer shapes that are compared with a tree.
const MAX_CANDIDATES: usize = 1_024;
/// Share of the normal trees below which a path is rare.
const RARE_SHARE: f64 = 0.1;
/// Number of nearest trees that replace a missing kind.
const NUM_NEAREST: usize = 12;

/// The usual trees of a forest, computed from the trees that are assumed to be normal.
#[derive(Clone, Debug)]
pub struct UsualTrees {
    pub(super) num_trees: usize,
    /// Number of normal trees that have each path; 0 for paths beyond the end.
    pub(super) num_with_path: Vec<usize>,
    /// Number of normal trees that have each pair of caller's function and function; 0 beyond the end.
    pub(super) num_with_edge: Vec<usize>,
    /// Usual times and callees of single calls.
    pub(super) calls: UsualCalls,
    /// Kinds of trees, the most common first.
    pub(super) kinds: Vec<UsualKind>,
    /// Index in `kinds` of each shape that is a kind; `None` beyond the end.
    pub(super) kind_of_shape: Vec<Option<usize>>,
    /// Trees of other shapes.
    pub(super) others: Vec<MergedTree>,
}

#[derive(Clone, Debug)]
pub(super) struct UsualKind {
    pub(super) shape: usize,
    pub(super) usual: UsualTree,
}

/// A normal tree, path by path.
#[derive(Clone, Debug)]
pub(super) struct MergedTree {
    /// The tree, in a forest that is loaded.
    pub(super) tree: Option<TreeIdx>,
    pub(super) shape: usize,
    pub(super) duration_ns: i64,
    /// Totals in order of path.
    pub(super) totals: Vec<PathTotal>,
}

/// The medians of some trees.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct UsualTree {
    /// All paths that any of the trees has, ascending.
    pub(super) paths: Vec<UsualPath>,
    /// The tree whose duration is nearest to the median, in a forest that is loaded.
    pub(super) middle: Option<TreeIdx>,
    pub(super) duration_ns: i64,
    /// Number of trees that it represents; 0 if it is the tree itself, since there is no other.
    pub(super) num_trees: usize,
    /// True if it has the same shape as the tree that it is compared with.
    pub(super) is_same_shape: bool,
    /// True if the trees are of one shape.
    pub(super) is_kind: bool,
}

/// Usual counts and times along a path; trees without the path count as zeros.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsualPath {
    pub(super) path: CallPath,
    /// Share of the trees that have it.
    pub(super) share: f64,
    /// Quartiles of the number of calls.
    pub(super) count: [u64; 3],
    /// Quartiles of the exclusive time.
    pub(super) exclusive_ns: [i64; 3],
}

impl UsualTrees {
    /// Returns the tree in the centre of the commonest kind; `None` if no kind is common.
    pub fn commonest(&self) -> Option<TreeIdx> {
        self.kinds.first()?.usual.middle
    }

    /// Computes the usual trees of `forest`, whose paths are `paths`. `is_normal` has shape `[n_trees]`.
    ///
    /// A shape counts only if more than a third of its trees are normal, as in `callgrove_judge::decision::Locations`.
    /// If no tree is left, all are used.
    pub fn of(forest: &Forest, paths: &CallPaths, is_normal: &[bool]) -> Self {
        let shapes = &paths.shapes;
        let normal = |tree: usize| is_normal.get(tree).copied().unwrap_or(true);
        let mut count_of_shape = vec![(0_usize, 0_usize); shapes.len()];
        for (tree, &shape) in shapes.of_trees().iter().enumerate() {
            let count = &mut count_of_shape[shape];
            count.0 += usize::from(normal(tree));
            count.1 += 1;
        }
        let is_usual = |shape: usize| {
            let (num_normal, num_trees) = count_of_shape[shape];
            3 * num_normal > num_trees
        };
        let of_trees = shapes.of_trees().iter().enumerate();
        let taken = of_trees.filter(|&(tree, &shape)| is_usual(shape) && normal(tree));
        let mut taken: Vec<usize> = taken.map(|(tree, _)| tree).collect();
        if taken.is_empty() {
            taken = (0..shapes.of_trees().len()).collect();
        }
        Self::of_taken(forest, paths, &taken)
    }

    fn of_taken(forest: &Forest, paths: &CallPaths, taken: &[usize]) -> Self {
        let shapes = &paths.shapes;
        let mut trees_of_shape: Vec<Vec<TreeIdx>> = vec![Vec::new(); shapes.len()];
        for &tree in taken {
            let shape = shapes.of_trees()[tree];
            trees_of_shape[shape].push(TreeIdx::from_index(tree));
        }
        let mut num_with_path = vec![0; paths.len()];
        let mut num_with_edge = vec![0; paths.num_edges()];
        let mut edges: Vec<usize> = Vec::new();
        for (shape, trees) in trees_of_shape.iter().enumerate() {
            if trees.is_empty() {
                continue;
            }
            let entries = shapes.entries(shape);
            edges.clear();
            edges.extend(entries.iter().map(|entry| paths.edge(entry.path)));
            edges.sort_unstable();
            edges.dedup();
            for entry in entries {
                num_with_path[entry.path] += trees.len();
            }
            for &edge in &edges {
                num_with_edge[edge] += trees.len();
            }
        }
        let mut common: Vec<usize> = (0..trees_of_shape.len())
            .filter(|&shape| trees_of_shape[shape].len() >= MIN_TREES_OF_KIND)
            .collect();
        common.sort_by_key(|&shape| (std::cmp::Reverse(trees_of_shape[shape].len()), shape));
        common.truncate(MAX_CANDIDATES);
        let mut kind_of_shape = vec![None; shapes.len()];
        let mut merger = Merger::default();
        let mut samples = Vec::new();
        let mut kinds = Vec::with_capacity(common.len());
        for &shape in &common {
            kind_of_shape[shape] = Some(kinds.len());
            let trees = &trees_of_shape[shape];
            let sampled = spread(trees, MAX_SAMPLED);
            let sampled = MergedTree::of_trees(forest, paths, &mut merger, &sampled);
            samples.extend(spread(trees, MIN_TREES_OF_KIND));
            kinds.push(UsualKind {
                shape,
                usual: UsualTree {
                    num_trees: trees.len(),
                    is_same_shape: true,
                    is_kind: true,
                    ..UsualTree::of(sampled.iter())
                },
            });
        }
        let others: Vec<TreeIdx> = taken
            .iter()
            .map(|&tree| TreeIdx::from_index(tree))
            .filter(|tree| kind_of_shape[shapes.of_trees()[tree.index()]].is_none())
            .collect();
        let others = spread(&others, MAX_CANDIDATES);
        samples.extend_from_slice(&others);
        Self {
            num_trees: taken.len(),
            num_with_path,
            num_with_edge,
            calls: UsualCalls::of(forest, paths, &mut merger, &samples),
            kinds,
            kind_of_shape,
            others: MergedTree::of_trees(forest, paths, &mut merger, &others),
        }
    }

    /// Returns the usual tree of the kind of `tree`.
    pub(super) fn of_kind(
        &self,
        forest: &Forest,
        paths: &CallPaths,
        merger: &mut Merger,
        tree: TreeIdx,
    ) -> UsualTree {
        let shapes = &paths.shapes;
        let shape = shapes.of_trees()[tree.index()];
        if let Some(kind) = self.kind_of_shape.get(shape).copied().flatten() {
            return self.kinds[kind].usual.clone();
        }
        let cost = |num_trees: usize, distance: f64| {
            (self.num_trees.real() / num_trees.real()).ln() + distance
        };
        let mut best: Option<(f64, &UsualKind)> = None;
        for kind in &self.kinds {
            let distance = shapes.distance(shape, kind.shape);
            let cost = cost(kind.usual.num_trees, distance);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, kind));
            }
        }
        let mut nearest: Vec<(f64, &MergedTree)> = self
            .others
            .iter()
            .filter(|other| other.tree != Some(tree))
            .map(|other| (shapes.distance(shape, other.shape), other))
            .collect();
        // Stable: among equally near ones the first.
        nearest.sort_by(|a, b| a.0.total_cmp(&b.0));
        nearest.truncate(NUM_NEAREST);
        let num_nearest = nearest.len();
        let mean = nearest.iter().map(|near| near.0).sum::<f64>() / num_nearest.max(1).real();
        let is_enough = num_nearest >= MIN_TREES_OF_KIND.min(self.num_trees);
        match best {
            Some((least, kind)) if !is_enough || least <= cost(num_nearest, mean) => UsualTree {
                is_same_shape: false,
                ..kind.usual.clone()
            },
            _ if nearest.is_empty() => {
                let own = MergedTree::of_trees(forest, paths, merger, &[tree]);
                UsualTree {
                    middle: None,
                    num_trees: 0,
                    ..UsualTree::of(own.iter())
                }
            }
            _ => UsualTree::of(nearest.into_iter().map(|near| near.1)),
        }
    }

    /// Returns the rarity of a path in normal trees, from 0 (all have it) to 1 (none has), by logarithms of shares.
    /// Most of it is that of the pair of caller and function: if recursion is deeper than ever before, only the path
    /// is new.
    pub(super) fn rarity(&self, paths: &CallPaths, path: CallPath) -> f64 {
        let (edge, path) = self.num_with(paths, path);
        0.75 * self.rareness(edge) + 0.25 * self.rareness(path)
    }

    /// Returns the rarity of normal trees without a path, as [`Self::rarity`].
    pub(super) fn rarity_of_absence(&self, paths: &CallPaths, path: CallPath) -> f64 {
        let (edge, path) = self.num_with(paths, path);
        let without = |with: usize| self.rareness(self.num_trees - with);
        0.75 * without(edge) + 0.25 * without(path)
    }

    /// Returns whether hardly any normal tree has the pair of caller's function and function.
    pub(super) fn is_rare(&self, paths: &CallPaths, path: CallPath) -> bool {
        let (edge, _) = self.num_with(paths, path);
        edge.real() < RARE_SHARE * self.num_trees.real()
    }

    fn num_with(&self, paths: &CallPaths, path: CallPath) -> (usize, usize) {
        let num = |counts: &[usize], at: usize| counts.get(at).copied().unwrap_or(0);
        let edge = num(&self.num_with_edge, paths.edge(path));
        (edge, num(&self.num_with_path, path))
    }

    fn rareness(&self, num_trees: usize) -> f64 {
        let all = (self.num_trees + 1).real();
        (all / (num_trees + 1).real()).ln() / all.ln()
    }
}

impl MergedTree {
    fn of_trees(
        forest: &Forest,
        paths: &CallPaths,
        merger: &mut Merger,
        trees: &[TreeIdx],
    ) -> Vec<Self> {
        let merged = trees.iter().map(|&tree| {
            let cs_tree = forest.tree(tree);
            Self {
                tree: Some(tree),
                shape: paths.shapes.of_trees()[tree.index()],
                duration_ns: cs_tree.duration().0,
                totals: paths.merge(merger, cs_tree).to_vec(),
            }
        });
        merged.collect()
    }
}

impl UsualTree {
    /// Computes the medians of `trees`, of which there is at least one.
    fn of<'a>(trees: impl Iterator<Item = &'a MergedTree>) -> Self {
        let mut totals: Vec<PathTotal> = Vec::new();
        let mut durations: Vec<(i64, Option<TreeIdx>)> = Vec::new();
        for tree in trees {
            durations.push((tree.duration_ns, tree.tree));
            totals.extend_from_slice(&tree.totals);
        }
        durations.sort_unstable();
        let num_trees = durations.len();
        let (duration_ns, middle) = durations[(num_trees - 1) / 2];
        totals.sort_unstable_by_key(|total| total.path);
        let paths = totals.chunk_by(|a, b| a.path == b.path).map(|totals| {
            let mut counts: Vec<u64> = totals.iter().map(|total| total.count).collect();
            let mut times: Vec<i64> = totals.iter().map(|total| total.exclusive_ns).collect();
            counts.sort_unstable();
            times.sort_unstable();
            UsualPath {
                path: totals[0].path,
                share: totals.len().real() / num_trees.real(),
                count: [1, 2, 3].map(|quarter| quartile(&counts, num_trees, quarter)),
                exclusive_ns: [1, 2, 3].map(|quarter| quartile(&times, num_trees, quarter)),
            }
        });
        Self {
            paths: paths.collect(),
            middle,
            duration_ns,
            num_trees,
            is_same_shape: false,
            is_kind: false,
        }
    }

    /// Returns the medians of a path, if any of these trees has it.
    pub(super) fn path(&self, path: CallPath) -> Option<&UsualPath> {
        let index = self.paths.binary_search_by_key(&path, |usual| usual.path);
        index.ok().map(|index| &self.paths[index])
    }
}

/// Returns a quartile (of two values the lower one) of sorted values and as many zeros as make `num` values.
fn quartile<T: Copy + Default>(sorted: &[T], num: usize, quarter: usize) -> T {
    let index = (num - 1) * quarter / 4;
    let num_zeros = num - sorted.len();
    index
        .checked_sub(num_zeros)
        .map_or_else(T::default, |index| sorted[index])
}

/// Returns up to `most` of some trees, spread evenly.
pub(super) fn spread<T: Copy>(trees: &[T], most: usize) -> Vec<T> {
    let num = trees.len().min(most);
    (0..num)
        .map(|index| trees[index * trees.len() / num])
        .collect()
}
