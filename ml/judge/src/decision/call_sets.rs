//! Call sets: the call paths of structures, without their counts.

use std::collections::BTreeMap;

use callgrove_model::{CsTree, Forest, FuncId, TreeIdx};

use super::placement::Placement;
use callgrove_trees::real::Real;
use callgrove_trees::wl::mixing::chain;
use callgrove_trees::wl::{SubtreeHash, SubtreeIdx, Vocabulary};

/// Minimum share of the trees of a common structure.
const COMMON_SHARE: f64 = 0.02;
/// Minimum number of trees of a common structure.
const COMMON_TREES: f64 = 8.0;

/// The call paths of each structure of a forest as one hash: the same in every run and process for structures that
/// differ only in how often paths are taken.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct CallSets {
    of_root: BTreeMap<SubtreeIdx, SubtreeHash>,
}

impl CallSets {
    /// Computes the call sets of the trees of a forest with these structures. One tree of each structure is read.
    pub(crate) fn of(forest: &Forest, roots: &[SubtreeIdx], vocabulary: &Vocabulary) -> Self {
        // Functions are identified by their labels, which are the same in all runs.
        let functions = vocabulary.iter().filter(|(_, it)| it.degree == 0);
        let label_of: BTreeMap<_, u128> = functions.map(|(_, it)| (it.func, it.hash.0)).collect();
        let mut of_root = BTreeMap::new();
        for (tree, &root) in roots.iter().enumerate() {
            of_root.entry(root).or_insert_with(|| {
                let tree = forest.tree(TreeIdx::from_index(tree));
                call_set(tree, |func| {
                    label_of.get(&func).copied().unwrap_or_default()
                })
            });
        }
        Self { of_root }
    }

    /// Creates call sets from structures by number.
    #[cfg(test)]
    pub(super) fn new(of_root: impl IntoIterator<Item = (u32, u128)>) -> Self {
        let of_root = of_root.into_iter();
        Self {
            of_root: of_root
                .map(|(root, set)| (SubtreeIdx(root), SubtreeHash(set)))
                .collect(),
        }
    }

    /// Returns the call set of a structure.
    pub(crate) fn get(&self, root: SubtreeIdx) -> SubtreeHash {
        self.of_root.get(&root).copied().unwrap_or(SubtreeHash(0))
    }

    /// Returns the call sets with varying counts, ascending: on the lanes that have them more than a few trees are of
    /// another structure than most of that lane.
    pub(super) fn varied(
        &self,
        trees_of: &BTreeMap<SubtreeIdx, Vec<usize>>,
        placement: &Placement,
    ) -> Vec<SubtreeHash> {
        /// Trees of a lane with one call set: all, and those of its most frequent structure.
        type Counts = (usize, usize);
        let mut counts: BTreeMap<SubtreeHash, BTreeMap<usize, Counts>> = BTreeMap::new();
        for (&root, trees) in trees_of {
            let mut of_lane: BTreeMap<usize, usize> = BTreeMap::new();
            for &tree in trees {
                *of_lane.entry(placement.places[tree].lane).or_default() += 1;
            }
            let lanes = counts.entry(self.get(root)).or_default();
            for (lane, num) in of_lane {
                let (all, most) = lanes.entry(lane).or_default();
                *all += num;
                *most = num.max(*most);
            }
        }
        let is_varied = |(_, lanes): &(SubtreeHash, BTreeMap<usize, Counts>)| {
            let all: usize = lanes.values().map(|counts| counts.0).sum();
            let most: usize = lanes.values().map(|counts| counts.1).sum();
            (all - most).real() >= least_common(all)
        };
        let varied = counts.into_iter().filter(is_varied);
        varied.map(|(call_set, _)| call_set).collect()
    }
}

/// Returns the minimum number of trees of a common structure.
pub(super) fn least_common(num_trees: usize) -> f64 {
    (COMMON_SHARE * num_trees.real()).max(COMMON_TREES)
}

fn call_set(tree: CsTree<'_>, label_of: impl Fn(FuncId) -> u128) -> SubtreeHash {
    let mut path_of_vertex: Vec<u128> = Vec::with_capacity(tree.funcs().len());
    for (vertex, &func) in tree.funcs().iter().enumerate() {
        let caller = tree
            .parent(vertex)
            .map_or(0, |caller| path_of_vertex[caller]);
        path_of_vertex.push(chain(caller, label_of(func)));
    }
    path_of_vertex.sort_unstable();
    path_of_vertex.dedup();
    let whole = path_of_vertex.into_iter().fold(0, chain);
    SubtreeHash(whole)
}
