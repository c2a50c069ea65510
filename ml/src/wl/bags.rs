//! Bags of subtrees: a sparse matrix with a row per tree.

use callgrove_model::TreeIdx;

use super::classes::ClassUse;
use super::vocabulary::SubtreeIdx;

/// The bags of all trees as a sparse matrix (compressed rows), shape [num_trees, num_subtrees].
///
/// Columns of a row are in ascending order. Times are sums over the vertices where the subtree is
/// rooted, in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bags {
    row_start: Vec<usize>,
    subtree: Vec<SubtreeIdx>,
    count: Vec<u64>,
    inclusive_ns: Vec<i64>,
    exclusive_ns: Vec<i64>,
    max_inclusive_ns: Vec<i64>,
    max_exclusive_ns: Vec<i64>,
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
    /// Exclusive time of the occurrence that has most of it.
    pub max_exclusive_ns: &'a [i64],
    /// The subtree of largest degree at the tree's root: its structure as a whole.
    pub root: SubtreeIdx,
    /// Duration of the tree's root.
    pub duration_ns: i64,
}

/// One entry of a bag.
#[derive(Clone, Copy, Debug)]
pub(super) struct BagEntry {
    pub(super) subtree: SubtreeIdx,
    /// The first vertex where it is rooted.
    pub(super) vertex: u32,
    count: u64,
    inclusive_ns: i64,
    exclusive_ns: i64,
    max_inclusive_ns: i64,
    max_exclusive_ns: i64,
}

impl BagEntry {
    pub(super) fn new(subtree: SubtreeIdx, found: &ClassUse) -> Self {
        Self {
            subtree,
            vertex: found.vertex,
            count: found.count,
            inclusive_ns: found.inclusive_ns,
            exclusive_ns: found.exclusive_ns,
            max_inclusive_ns: found.max_inclusive_ns,
            max_exclusive_ns: found.max_exclusive_ns,
        }
    }

    pub(super) fn add(&mut self, found: &ClassUse) {
        self.vertex = self.vertex.min(found.vertex);
        self.count += found.count;
        self.inclusive_ns = self.inclusive_ns.saturating_add(found.inclusive_ns);
        self.exclusive_ns = self.exclusive_ns.saturating_add(found.exclusive_ns);
        self.max_inclusive_ns = self.max_inclusive_ns.max(found.max_inclusive_ns);
        self.max_exclusive_ns = self.max_exclusive_ns.max(found.max_exclusive_ns);
    }
}

impl Default for Bags {
    /// No trees.
    fn default() -> Self {
        Self {
            row_start: vec![0],
            subtree: Vec::new(),
            count: Vec::new(),
            inclusive_ns: Vec::new(),
            exclusive_ns: Vec::new(),
            max_inclusive_ns: Vec::new(),
            max_exclusive_ns: Vec::new(),
            root: Vec::new(),
            duration_ns: Vec::new(),
        }
    }
}

impl Bags {
    /// Gives subtrees other numbers in the same order.
    pub(super) fn renumber(&mut self, number_of: &[SubtreeIdx]) {
        for subtree in self.subtree.iter_mut().chain(&mut self.root) {
            *subtree = number_of[subtree.index()];
        }
    }

    /// Adds the next tree; `entries` ascend.
    pub(super) fn push(&mut self, entries: &[BagEntry], root: SubtreeIdx, duration_ns: i64) {
        for entry in entries {
            self.subtree.push(entry.subtree);
            self.count.push(entry.count);
            self.inclusive_ns.push(entry.inclusive_ns);
            self.exclusive_ns.push(entry.exclusive_ns);
            self.max_inclusive_ns.push(entry.max_inclusive_ns);
            self.max_exclusive_ns.push(entry.max_exclusive_ns);
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
            max_inclusive_ns: &self.max_inclusive_ns[rows.clone()],
            max_exclusive_ns: &self.max_exclusive_ns[rows],
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
