//! The origin of a forest, as recorded in models.

use std::collections::BTreeSet;

use callgrove_model::{Forest, Label, TimeNs, TreeIdx};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The origin of a forest.
pub(super) struct Origin {
    /// Names of the programs' files, ascending; empty if the trace does not name them.
    pub(super) programs: Vec<String>,
    /// Names of the root functions.
    pub(super) functions: Vec<String>,
    pub(super) num_ranks: usize,
    /// Median duration of the trees, nanoseconds.
    pub(super) median_duration_ns: i64,
}

impl Origin {
    pub(super) fn of(forest: &Forest) -> Self {
        let trace = forest.trace();
        let programs = trace.identity.executables().into_iter();
        let programs = programs.map(str::to_owned);
        let names = forest
            .functions()
            .iter()
            .map(|&func| trace.names.name(func));
        let trees = (0..forest.len()).map(TreeIdx::from_index);
        let ranks: BTreeSet<_> = trees
            .clone()
            .map(|tree| forest.lane_of(tree))
            .map(|lane| (lane.program, lane.rank))
            .collect();
        let mut durations: Vec<i64> = trees.map(|tree| forest.tree(tree).duration().0).collect();
        durations.sort_unstable();
        Self {
            programs: programs.collect(),
            functions: names.map(str::to_owned).collect(),
            num_ranks: ranks.len(),
            median_duration_ns: durations.get(durations.len() / 2).copied().unwrap_or(0),
        }
    }
}

/// Digest of the labels that a model was trained with: two models with one hash learned from the same labels.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelDigest {
    /// Number of trees labelled normal.
    pub num_normal: usize,
    /// Number of trees labelled abnormal.
    pub num_abnormal: usize,
    /// The first half of the SHA-256 of a line for each labelled tree, sorted: program, event label of the root, label.
    pub hash: String,
    /// Entry of the newest labelled tree; `None` without labels.
    pub newest: Option<TimeNs>,
}

impl LabelDigest {
    /// Returns the digest of the labels of a forest, shape `[n_trees]`.
    pub(super) fn of(forest: &Forest, labels: &[Option<Label>]) -> Self {
        let mut digest = Self::default();
        let mut lines: Vec<String> = Vec::new();
        for (tree, label) in (0..forest.len()).map(TreeIdx::from_index).zip(labels) {
            let Some(label) = label else { continue };
            let (lane, root) = (forest.lane_of(tree), forest.trees()[tree.index()].root);
            let event = forest.trace().label(root);
            lines.push(format!("{} {event} {}\n", lane.program, label.name()));
            digest.num_normal += usize::from(*label == Label::Normal);
            digest.num_abnormal += usize::from(*label == Label::Abnormal);
            let entry = forest.tree(tree).entry()[0];
            digest.newest = digest.newest.max(Some(entry));
        }
        lines.sort_unstable();
        let hash = Sha256::digest(lines.concat());
        let half = hash.iter().take(16);
        let half = half.fold(0, |half: u128, &byte| half << 8 | u128::from(byte));
        digest.hash = format!("{half:032x}");
        digest
    }

    /// Returns whether it can be the digest of `num_trees` trees.
    pub(super) fn is_of(&self, num_trees: usize) -> bool {
        let num_labels = self.num_normal.checked_add(self.num_abnormal);
        let is_hash = self.hash.len() == 32 && self.hash.bytes().all(|it| it.is_ascii_hexdigit());
        is_hash
            && num_labels.is_some_and(|num| num <= num_trees)
            && (num_labels == Some(0)) == self.newest.is_none()
    }
}
