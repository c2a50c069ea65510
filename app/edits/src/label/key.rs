//! Keys of labels: identifiers of trees and executions that are valid in every session.

use std::fmt;

use callgrove_model::{Forest, ProgramId, RankId, TreeCode, TreeIdx};
use callgrove_query::EventKey;
use serde::{Deserialize, Serialize};

/// Identifies a tree in every session with the same trace and root function: the index-th
/// execution of the root function on a rank, counted from 0 in order of entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TreeKey {
    /// Program; omitted in files of runs with one program.
    #[serde(default)]
    pub program: ProgramId,
    /// Rank.
    pub rank: RankId,
    /// Invocation number on the rank.
    pub index: u32,
}

impl TreeKey {
    /// Returns the key of a tree.
    pub fn of(forest: &Forest, tree: TreeIdx) -> Self {
        let code = forest.code(tree);
        Self {
            program: forest.lane_of(tree).program,
            rank: code.rank,
            index: code.index,
        }
    }
}

/// The tree or execution that a label is given to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LabelKey {
    /// A tree of a forest.
    Tree(TreeKey),
    /// An execution that was seen as a record, without a forest.
    Event(EventKey),
}

impl LabelKey {
    /// Returns the key of a tree: its number, or its event label if the trace holds only a selection of the run, whose
    /// numbers differ from those of the run.
    pub fn of(forest: &Forest, tree: TreeIdx) -> Self {
        if forest.trace().is_selection {
            EventKey::of(forest, tree).into()
        } else {
            TreeKey::of(forest, tree).into()
        }
    }

    /// Returns the program whose rank it is of.
    pub fn program(&self) -> &ProgramId {
        match self {
            Self::Tree(key) => &key.program,
            Self::Event(key) => &key.program,
        }
    }
}

impl From<TreeKey> for LabelKey {
    fn from(key: TreeKey) -> Self {
        Self::Tree(key)
    }
}

impl From<EventKey> for LabelKey {
    fn from(key: EventKey) -> Self {
        Self::Event(key)
    }
}

impl fmt::Display for LabelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(TreeKey { rank, index, .. }) => TreeCode {
                rank: *rank,
                index: *index,
            }
            .fmt(f),
            Self::Event(key) => key.event.fmt(f),
        }
    }
}
