//! Call sets: the call paths of structures, without their counts.

use std::collections::BTreeMap;

use callgrove_model::{CsTree, Forest, FuncId, TreeIdx};

use callgrove_trees::wl::mixing::chain;
use callgrove_trees::wl::{SubtreeHash, SubtreeIdx, Vocabulary};

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
