//! The focused tree, which the tree and timeline views show.

use std::sync::Arc;

use callgrove_model::{CsTree, TreeIdx};
use callgrove_session::{Analysis, Snapshot};

/// The focused tree with its forest.
#[derive(Clone)]
pub struct Focus {
    /// The forest and its map.
    pub analysis: Arc<Analysis>,
    /// The tree.
    pub tree: TreeIdx,
}

impl Focus {
    /// Returns the focused tree of a snapshot, if there is one.
    pub fn of(snapshot: &Snapshot) -> Option<Self> {
        let tree = snapshot.focus()?;
        let analysis = snapshot.analysis()?;
        (tree.index() < analysis.forest.len()).then(|| Self {
            analysis: Arc::clone(analysis),
            tree,
        })
    }

    /// Returns whether both belong to the same forest.
    pub fn is_same_forest(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.analysis, &other.analysis)
    }

    /// Returns whether both are the same tree.
    pub fn is_same_tree(&self, other: &Self) -> bool {
        self.is_same_forest(other) && self.tree == other.tree
    }

    /// Returns the execution: its tree, of which only the root is present if the calls are remote.
    pub fn root(&self) -> CsTree<'_> {
        self.analysis.forest.tree(self.tree)
    }

    /// Returns the name of the tree.
    pub fn name(&self) -> String {
        self.analysis.tree_name(self.tree)
    }
}
