//! Bags of subtrees: a sparse matrix with a row per tree.

use callgrove_model::TreeIdx;

use super::classes::ClassUse;
use super::mixing::{MixedMap, chain, number_of};
use super::vocabulary::SubtreeIdx;

/// The bags of all trees as a sparse matrix, shape [num_trees, num_subtrees].
///
/// Columns of a row are in ascending order. Times are sums over the vertices where the subtree is rooted, in
/// nanoseconds. Most trees have the same subtrees equally often as another tree: such lists are stored once, so an
/// entry costs the 8 bytes of its time.
#[derive(Clone, Debug)]
pub struct Bags {
    lists: Lists,
    /// The list of each tree.
    list_of: Vec<u32>,
    row_start: Vec<usize>,
    inclusive_ns: Vec<i64>,
    root: Vec<SubtreeIdx>,
    duration_ns: Vec<i64>,
}

/// Different lists of subtrees and their counts, in order of appearance.
#[derive(Clone, Debug)]
struct Lists {
    start: Vec<usize>,
    subtree: Vec<SubtreeIdx>,
    count: Vec<u64>,
    by_content: MixedMap<u128, u32>,
}

/// The bag of one tree: columns of equal length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bag<'a> {
    /// Subtrees in ascending order.
    pub subtree: &'a [SubtreeIdx],
    /// Number of occurrences.
    pub count: &'a [u64],
    /// Total inclusive time: the paper's aggregated weight.
    pub inclusive_ns: &'a [i64],
    /// The subtree of largest degree at the tree's root: the tree's complete structure.
    pub root: SubtreeIdx,
    /// Duration of the tree's root.
    pub duration_ns: i64,
}

/// One entry of a bag.
#[derive(Clone, Copy, Debug)]
pub(super) struct BagEntry {
    pub(super) subtree: SubtreeIdx,
    /// The first vertex at which it is rooted.
    pub(super) vertex: u32,
    count: u64,
    inclusive_ns: i64,
}

impl BagEntry {
    pub(super) fn new(subtree: SubtreeIdx, found: &ClassUse) -> Self {
        Self {
            subtree,
            vertex: found.vertex,
            count: found.count,
            inclusive_ns: found.inclusive_ns,
        }
    }

    pub(super) fn add(&mut self, found: &ClassUse) {
        self.vertex = self.vertex.min(found.vertex);
        self.count += found.count;
        self.inclusive_ns = self.inclusive_ns.saturating_add(found.inclusive_ns);
    }
}

impl Default for Bags {
    /// Returns bags of no trees.
    fn default() -> Self {
        Self {
            lists: Lists::default(),
            list_of: Vec::new(),
            row_start: vec![0],
            inclusive_ns: Vec::new(),
            root: Vec::new(),
            duration_ns: Vec::new(),
        }
    }
}

impl PartialEq for Bags {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Bags {
    /// Renumbers subtrees; their order stays.
    pub(super) fn renumber(&mut self, number_of: &[SubtreeIdx]) {
        for subtree in self.lists.subtree.iter_mut().chain(&mut self.root) {
            *subtree = number_of[subtree.index()];
        }
        self.lists.rebuild_table();
    }

    /// Removes all subtrees but the first `num_subtrees`; trees get other `roots`.
    pub(super) fn truncate(&mut self, num_subtrees: usize, roots: Vec<SubtreeIdx>) {
        let mut cut = Self {
            root: roots,
            duration_ns: std::mem::take(&mut self.duration_ns),
            ..Self::default()
        };
        for tree in 0..self.list_of.len() {
            let (subtree, count) = self.lists.get(self.list_of[tree]);
            let len = subtree.partition_point(|subtree| subtree.index() < num_subtrees);
            cut.list_of
                .push(cut.lists.add(&subtree[..len], &count[..len]));
            let start = self.row_start[tree];
            cut.inclusive_ns
                .extend(&self.inclusive_ns[start..start + len]);
            cut.row_start.push(cut.inclusive_ns.len());
        }
        *self = cut;
    }

    /// Returns the bags of some trees, in their order.
    #[must_use]
    pub fn selected(&self, is_wanted: &[bool]) -> Self {
        let mut selected = Self::default();
        for (tree, _) in is_wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            let bag = self.bag(TreeIdx::from_index(tree));
            let list = selected.lists.add(bag.subtree, bag.count);
            selected.list_of.push(list);
            selected.inclusive_ns.extend(bag.inclusive_ns);
            selected.row_start.push(selected.inclusive_ns.len());
            selected.root.push(bag.root);
            selected.duration_ns.push(bag.duration_ns);
        }
        selected
    }

    /// Adds the next tree; `entries` ascend.
    pub(super) fn push(&mut self, entries: &[BagEntry], root: SubtreeIdx, duration_ns: i64) {
        let subtrees = entries.iter().map(|entry| entry.subtree);
        let counts = entries.iter().map(|entry| entry.count);
        self.list_of.push(self.lists.add_from(subtrees, counts));
        self.inclusive_ns
            .extend(entries.iter().map(|entry| entry.inclusive_ns));
        self.row_start.push(self.inclusive_ns.len());
        self.root.push(root);
        self.duration_ns.push(duration_ns);
    }

    /// Returns the number of trees.
    pub fn len(&self) -> usize {
        self.root.len()
    }

    /// Returns whether there are no trees.
    pub fn is_empty(&self) -> bool {
        self.root.is_empty()
    }

    /// Returns the number of entries of all rows together.
    pub fn num_entries(&self) -> usize {
        self.inclusive_ns.len()
    }

    /// Returns the complete structure of each tree.
    pub fn roots(&self) -> &[SubtreeIdx] {
        &self.root
    }

    /// Returns the bag of a tree.
    pub fn bag(&self, tree: TreeIdx) -> Bag<'_> {
        let tree = tree.index();
        let (subtree, count) = self.lists.get(self.list_of[tree]);
        Bag {
            subtree,
            count,
            inclusive_ns: &self.inclusive_ns[self.row_start[tree]..self.row_start[tree + 1]],
            root: self.root[tree],
            duration_ns: self.duration_ns[tree],
        }
    }

    /// Returns the bags of all trees in order.
    pub fn iter(&self) -> impl Iterator<Item = Bag<'_>> {
        (0..self.len()).map(|index| self.bag(TreeIdx::from_index(index)))
    }
}

impl Bag<'_> {
    /// Returns the index of a subtree in the columns of this bag.
    pub fn place_of(&self, subtree: SubtreeIdx) -> Option<usize> {
        self.subtree.binary_search(&subtree).ok()
    }
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            start: vec![0],
            subtree: Vec::new(),
            count: Vec::new(),
            by_content: MixedMap::default(),
        }
    }
}

impl Lists {
    fn get(&self, list: u32) -> (&[SubtreeIdx], &[u64]) {
        let range = self.start[list as usize]..self.start[list as usize + 1];
        (&self.subtree[range.clone()], &self.count[range])
    }

    fn add(&mut self, subtrees: &[SubtreeIdx], counts: &[u64]) -> u32 {
        self.add_from(subtrees.iter().copied(), counts.iter().copied())
    }

    /// Returns the number of a list, which is added if it is new.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "lists are counted in 32 bits"
    )]
    fn add_from(
        &mut self,
        subtrees: impl Iterator<Item = SubtreeIdx> + Clone,
        counts: impl Iterator<Item = u64> + Clone,
    ) -> u32 {
        let next = self.start.len() as u32 - 1;
        let content = content(subtrees.clone().zip(counts.clone()));
        let list = *self.by_content.entry(content).or_insert(next);
        if list == next {
            self.subtree.extend(subtrees);
            self.count.extend(counts);
            self.start.push(self.subtree.len());
        }
        list
    }

    /// Rebuilds the table of lists after their content changed.
    fn rebuild_table(&mut self) {
        self.by_content.clear();
        for list in (0..).take(self.start.len() - 1) {
            let (subtrees, counts) = self.get(list);
            let entries = subtrees.iter().copied().zip(counts.iter().copied());
            let content = content(entries);
            self.by_content.insert(content, list);
        }
    }
}

/// Returns a hash of a list; different lists get different hashes except with a probability of about 2^-128.
fn content(entries: impl Iterator<Item = (SubtreeIdx, u64)>) -> u128 {
    entries.fold(0, |state, (subtree, count)| {
        let number = number_of(subtree.0).wrapping_mul((u128::from(count) << 1) | 1);
        chain(state, number)
    })
}
