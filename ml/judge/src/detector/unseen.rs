//! The parts of trees that a model has not been trained on.

use callgrove_model::TreeIdx;
use serde::{Deserialize, Serialize};

use callgrove_learn::features::Translation;
use callgrove_trees::real::Real;
use callgrove_trees::wl::{SubtreeIdx, Subtrees};

/// The part of a tree that was not in the training of a model. Its score reflects this, too: all time of such parts
/// is excess, and such a structure is rarer than all others.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Unseen {
    /// Share of its time in functions that no tree of the training called, 0..=1.
    pub time_share: f64,
    /// True if no tree of the training had its structure.
    pub is_new_structure: bool,
}

/// Returns the subtrees that are single functions.
pub(super) fn functions_of(subtrees: &Subtrees) -> impl Iterator<Item = SubtreeIdx> {
    let all = subtrees.vocabulary.iter();
    all.filter(|(_, subtree)| subtree.degree == 0)
        .map(|(idx, _)| idx)
}

/// Returns the part of each tree that is unknown to a model with this translation.
pub(super) fn unseen(subtrees: &Subtrees, translation: &Translation) -> Vec<Unseen> {
    let is_new = |&subtree: &SubtreeIdx| !translation.is_known(subtree);
    let new_functions: Vec<SubtreeIdx> = functions_of(subtrees).filter(is_new).collect();
    let of_tree = |tree| {
        let bag = subtrees.bags.bag(TreeIdx::from_index(tree));
        let times = bag.subtree.iter().zip(bag.inclusive_ns);
        let of_new = times.filter(|(subtree, _)| new_functions.binary_search(subtree).is_ok());
        let time: i64 = of_new.map(|(_, &time)| time).sum();
        Unseen {
            // Calls between new functions count twice.
            time_share: (time.real() / bag.duration_ns.max(1).real()).clamp(0.0, 1.0),
            is_new_structure: is_new(&bag.root),
        }
    };
    (0..subtrees.bags.len()).map(of_tree).collect()
}
