//! The causes of a forest's trees.

use callgrove_causes::{CauseKind, DelayCause, DelayRole};
use callgrove_model::{Forest, TreeIdx};

use super::RunCauses;

/// The role of a tree in a delay. [`RunCauses::of`] computes the path to its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeCause {
    /// Root, victim, undecided, or on time.
    pub role: DelayRole,
    /// The kind of its root.
    pub kind: CauseKind,
    /// Index of its root in [`RunCauses::roots`].
    pub root: Option<u32>,
    /// Index of its incident in [`RunCauses::incidents`].
    pub incident: Option<u32>,
}

/// The causes of the trees of one forest.
#[derive(Debug, Default)]
pub struct TreeCauses {
    causes: Vec<TreeCause>,
    /// Trees by incident, then in ascending order.
    by_incident: Vec<(u32, TreeIdx)>,
}

impl TreeCauses {
    /// Computes the roles of all trees of a forest of the same trace.
    pub fn new(causes: &RunCauses, forest: &Forest) -> Self {
        let trees = (0..forest.len()).map(TreeIdx::from_index);
        let of_trees: Vec<TreeCause> = trees
            .map(|tree| TreeCause::from(&causes.of_tree(forest, tree)))
            .collect();
        let numbered = of_trees.iter().enumerate();
        let mut by_incident: Vec<(u32, TreeIdx)> = numbered
            .filter_map(|(tree, cause)| Some((cause.incident?, TreeIdx::from_index(tree))))
            .collect();
        by_incident.sort_unstable();
        Self {
            causes: of_trees,
            by_incident,
        }
    }

    /// Returns the role of a tree.
    pub fn of(&self, tree: TreeIdx) -> Option<TreeCause> {
        self.causes.get(tree.index()).copied()
    }

    /// Returns the incident that all of some trees belong to.
    pub fn common_incident(&self, trees: &[TreeIdx]) -> Option<u32> {
        let incident = |tree: &TreeIdx| self.of(*tree)?.incident;
        let first = trees.first().and_then(incident)?;
        trees
            .iter()
            .all(|tree| incident(tree) == Some(first))
            .then_some(first)
    }

    /// Returns the first of some trees that is the root of its delay.
    pub fn root_among(&self, trees: &[TreeIdx]) -> Option<TreeIdx> {
        let is_root =
            |tree: &&TreeIdx| self.of(**tree).is_some_and(|it| it.role == DelayRole::Root);
        trees.iter().find(is_root).copied()
    }

    /// Returns the trees of an incident, in ascending order.
    pub fn of_incident(&self, incident: usize) -> impl Iterator<Item = TreeIdx> + '_ {
        let number = u32::try_from(incident).unwrap_or(u32::MAX);
        let from = self.by_incident.partition_point(|&(at, _)| at < number);
        let members = self.by_incident[from..].iter();
        members
            .take_while(move |&&(at, _)| at == number)
            .map(|&(_, tree)| tree)
    }
}

impl From<&DelayCause> for TreeCause {
    fn from(cause: &DelayCause) -> Self {
        let number = |index: usize| u32::try_from(index).ok();
        Self {
            role: cause.role,
            kind: cause.kind,
            root: cause.root.and_then(number),
            incident: cause.incident.and_then(number),
        }
    }
}
