//! The subtree corpus of a forest.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use callgrove_model::{FuncId, TreeIdx};
use serde::{Deserialize, Serialize};

/// The label of a subtree: a 128-bit content hash, the same in every process and run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubtreeHash(pub u128);

/// A subtree of a [`Vocabulary`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubtreeIdx(pub u32);

/// One subtree of the corpus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subtree {
    /// Its label.
    pub hash: SubtreeHash,
    /// Depth of the structure in edges: 0 is the function alone.
    pub degree: u16,
    /// Function of the subtree's root, an id of the forest's own trace (of the first, if trees of several joined).
    pub func: FuncId,
    /// Name of that function.
    pub name: Arc<str>,
    /// The first tree that has it.
    pub example_tree: TreeIdx,
    /// The first vertex of that tree where it is rooted.
    pub example_vertex: u32,
    /// Number of trees that have it.
    pub num_trees: u32,
}

/// The subtree corpus: every different subtree once, ordered by degree, name of the function, hash.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Vocabulary {
    subtrees: Vec<Subtree>,
    by_hash: HashMap<SubtreeHash, SubtreeIdx>,
}

impl SubtreeIdx {
    /// Returns the subtree as a column.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the subtree of a column; vocabularies hold fewer than 2^32.
    #[expect(clippy::cast_possible_truncation, reason = "as said above")]
    pub const fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
}

impl Vocabulary {
    /// Adds new subtrees, each once and in any order. Returns a map from the previous numbers, followed by those of
    /// the new ones in their order, to numbers of the vocabulary; the order of the previous ones stays.
    pub(super) fn insert(&mut self, fresh: Vec<Subtree>) -> Vec<SubtreeIdx> {
        let mut subtrees: Vec<(usize, Subtree)> = std::mem::take(&mut self.subtrees)
            .into_iter()
            .chain(fresh)
            .enumerate()
            .collect();
        subtrees.sort_by(|(_, a), (_, b)| {
            (a.degree, &a.name, a.hash).cmp(&(b.degree, &b.name, b.hash))
        });
        let mut place = vec![SubtreeIdx(0); subtrees.len()];
        for (rank, (number, subtree)) in subtrees.into_iter().enumerate() {
            place[number] = SubtreeIdx::from_index(rank);
            self.by_hash.insert(subtree.hash, place[number]);
            self.subtrees.push(subtree);
        }
        place
    }

    /// Removes subtrees of larger degree, which are the last ones.
    pub(super) fn truncate(&mut self, max_degree: u16) {
        let is_kept = |subtree: &Subtree| subtree.degree <= max_degree;
        let len = self.subtrees.partition_point(is_kept);
        for subtree in self.subtrees.drain(len..) {
            self.by_hash.remove(&subtree.hash);
        }
        self.subtrees.shrink_to_fit();
    }

    /// Counts one more tree that has a subtree.
    pub(super) fn count_tree(&mut self, subtree: SubtreeIdx) {
        self.subtrees[subtree.index()].num_trees += 1;
    }

    /// Returns the number of subtrees.
    pub fn len(&self) -> usize {
        self.subtrees.len()
    }

    /// Returns whether there are no subtrees.
    pub fn is_empty(&self) -> bool {
        self.subtrees.is_empty()
    }

    /// Returns a subtree.
    pub fn get(&self, subtree: SubtreeIdx) -> &Subtree {
        &self.subtrees[subtree.index()]
    }

    /// Returns the subtree with a label.
    pub fn find(&self, hash: SubtreeHash) -> Option<SubtreeIdx> {
        self.by_hash.get(&hash).copied()
    }

    /// Returns the subtrees in order.
    pub fn iter(&self) -> impl Iterator<Item = (SubtreeIdx, &Subtree)> {
        self.subtrees
            .iter()
            .enumerate()
            .map(|(index, subtree)| (SubtreeIdx::from_index(index), subtree))
    }
}

impl fmt::Display for SubtreeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for SubtreeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Serialised as 32 hexadecimal digits, since JSON numbers are exact only up to 2^53.
impl Serialize for SubtreeHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SubtreeHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        u128::from_str_radix(&digits, 16)
            .map(Self)
            .map_err(|_error| serde::de::Error::custom("a subtree hash has 32 hexadecimal digits"))
    }
}
