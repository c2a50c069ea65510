//! The result of relabelling a forest.

use super::bags::Bags;
use super::vocabulary::Vocabulary;

/// The subtree corpus of a forest and the bag of each tree.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Subtrees {
    /// Every different subtree.
    pub vocabulary: Vocabulary,
    /// A row per tree.
    pub bags: Bags,
    /// Largest degree of subtrees: that of the settings, or a smaller one if there would be more than
    /// [`super::MAX_SUBTREES`].
    pub max_degree: Option<u16>,
}
