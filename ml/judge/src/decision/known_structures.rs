//! The structures that a model knows, as a reference for other runs.

use serde::{Deserialize, Serialize};

use callgrove_trees::wl::{SubtreeHash, SubtreeIdx};

/// The structures that a model knows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownStructures {
    /// Structures that are odd in the training, each with the ln of its p-value; ordered.
    pub(super) odd: Vec<(SubtreeIdx, f64)>,
    /// Call sets with varying counts in the training, ascending.
    pub(super) varied: Vec<SubtreeHash>,
    /// ln of the p-value of a structure that the training lacks: such structures are as likely as those that it has
    /// once (Good, Biometrika 1953).
    pub(super) unknown_ln_p: f64,
}

impl KnownStructures {
    /// Returns ln of the p-value of a structure of the training, or of an unknown one with this call set.
    pub(crate) fn ln_p(&self, root: Option<SubtreeIdx>, call_set: Option<SubtreeHash>) -> f64 {
        let Some(root) = root else {
            let is_varied = call_set.is_some_and(|it| self.varied.binary_search(&it).is_ok());
            return if is_varied { 0.0 } else { self.unknown_ln_p };
        };
        let found = self.odd.binary_search_by_key(&root, |odd| odd.0);
        found.map_or(0.0, |place| self.odd[place].1)
    }

    /// Returns ln of the p-value of a structure that the training lacks.
    pub(crate) fn unknown_ln_p(&self) -> f64 {
        self.unknown_ln_p
    }

    /// Returns whether its numbers can be those of a training.
    pub fn is_valid(&self) -> bool {
        let ln_p = self.odd.iter().map(|odd| odd.1);
        let is_ln_p = |ln_p: f64| ln_p.is_finite() && ln_p <= 0.0;
        self.odd.is_sorted_by(|a, b| a.0 < b.0)
            && self.varied.is_sorted_by(|a, b| a < b)
            && ln_p.chain([self.unknown_ln_p]).all(is_ln_p)
    }
}

/// The structures of a training, as a reference for another run.
pub(crate) struct StructureReference<'a> {
    pub(crate) structures: &'a KnownStructures,
    /// Returns the number of a structure in the training.
    pub(crate) known: &'a dyn Fn(SubtreeIdx) -> Option<SubtreeIdx>,
}

impl StructureReference<'_> {
    /// Returns whether a structure is known there as not odd.
    pub(super) fn has(&self, root: SubtreeIdx, call_set: SubtreeHash) -> bool {
        let ln_p = self.structures.ln_p((self.known)(root), Some(call_set));
        ln_p >= 0.0
    }
}
