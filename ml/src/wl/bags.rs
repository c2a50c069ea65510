//! Bags of subtrees: a sparse matrix with a row per tree.

use callgrove_model::TreeIdx;

use super::vocabulary::SubtreeIdx;

/// The bags of all trees as a sparse matrix (compressed rows), shape [num_trees, num_subtrees].
///
/// Columns of a row are in ascending order. Times are sums over the vertices where the subtree is
/// rooted, in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bags {
    row_start: Vec<usize>,
    subtree: Vec<SubtreeIdx>,
    count: Vec<u64>,
    inclusive_ns: Vec<i64>,
    exclusive_ns: Vec<i64>,
    max_inclusive_ns: Vec<i64>,
    root: Vec<SubtreeIdx>,
    duration_ns: Vec<i64>,
}

/// The bag of one tree: columns of one length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bag<'a> {
    /// Subtrees in ascending order.
    pub subtree: &'a [SubtreeIdx],
    /// Occurrences.
    pub count: &'a [u64],
    /// Total inclusive time: the paper's aggregated weight.
    pub inclusive_ns: &'a [i64],
    /// Total exclusive time of the subtree's root function.
    pub exclusive_ns: &'a [i64],
    /// Inclusive time of the longest occurrence.
    pub max_inclusive_ns: &'a [i64],
    /// The subtree of largest degree at the tree's root: its structure as a whole.
    pub root: SubtreeIdx,
    /// Duration of the tree's root.
    pub duration_ns: i64,
}

/// One entry of a bag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) subtree: SubtreeIdx,
    pub(super) count: u64,
    pub(super) inclusive_ns: i64,
    pub(super) exclusive_ns: i64,
    pub(super) max_inclusive_ns: i64,
}

impl Bags {
    /// No rows yet.
    pub(super) fn with_capacity(num_trees: usize) -> Self {
        let mut row_start = Vec::with_capacity(num_trees + 1);
        row_start.push(0);
        Self {
            row_start,
            ..Self::default()
        }
    }

    /// Adds the next tree; `entries` ascend.
    pub(super) fn push(&mut self, entries: &[Entry], root: SubtreeIdx, duration_ns: i64) {
        for entry in entries {
            self.subtree.push(entry.subtree);
            self.count.push(entry.count);
            self.inclusive_ns.push(entry.inclusive_ns);
            self.exclusive_ns.push(entry.exclusive_ns);
            self.max_inclusive_ns.push(entry.max_inclusive_ns);
        }
        self.row_start.push(self.subtree.len());
        self.root.push(root);
        self.duration_ns.push(duration_ns);
    }

    /// Number of trees.
    pub fn len(&self) -> usize {
        self.root.len()
    }

    /// Whether there are no trees.
    pub fn is_empty(&self) -> bool {
        self.root.is_empty()
    }

    /// Number of entries of all rows together.
    pub fn num_entries(&self) -> usize {
        self.subtree.len()
    }

    /// The structure of each tree as a whole.
    pub fn roots(&self) -> &[SubtreeIdx] {
        &self.root
    }

    /// The bag of a tree.
    pub fn bag(&self, tree: TreeIdx) -> Bag<'_> {
        let rows = self.row_start[tree.index()]..self.row_start[tree.index() + 1];
        Bag {
            subtree: &self.subtree[rows.clone()],
            count: &self.count[rows.clone()],
            inclusive_ns: &self.inclusive_ns[rows.clone()],
            exclusive_ns: &self.exclusive_ns[rows.clone()],
            max_inclusive_ns: &self.max_inclusive_ns[rows],
            root: self.root[tree.index()],
            duration_ns: self.duration_ns[tree.index()],
        }
    }

    /// Bags of all trees in order.
    pub fn iter(&self) -> impl Iterator<Item = Bag<'_>> {
        (0..self.len()).map(|index| self.bag(TreeIdx::from_index(index)))
    }
}

impl Bag<'_> {
    /// Place of a subtree in the columns of this bag.
    pub fn place_of(&self, subtree: SubtreeIdx) -> Option<usize> {
        self.subtree.binary_search(&subtree).ok()
    }
}
