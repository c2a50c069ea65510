//! Classes of equal complete subtrees, with exact repeat counts.

use std::ops::Range;

use callgrove_model::{CsTree, FuncId};

use super::mixing::{MixedMap, chain, number_of};
use super::params::Siblings;

/// A class: a row of a [`ClassTable`].
pub(super) type ClassId = u32;

/// The missing class.
const NONE: u32 = u32::MAX;

/// Complete subtrees; children come before parents.
#[derive(Clone, Debug)]
pub(super) struct ClassTable {
    siblings: Siblings,
    func: Vec<FuncId>,
    height: Vec<u16>,
    /// The [`number_of`] of each class.
    number: Vec<u128>,
    child_start: Vec<usize>,
    children: Vec<(ClassId, u64)>,
    by_key: MixedMap<ClassKey, ClassId>,
    /// The class of each function without callees: most vertices call nothing.
    leaf_of_func: Vec<ClassId>,
}

/// The number and total time of a class in one tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassUse {
    pub(super) class: ClassId,
    /// The first vertex in pre-order.
    pub(super) vertex: u32,
    pub(super) count: u64,
    pub(super) inclusive_ns: i64,
}

/// The classes of some trees, one tree after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct UsesOfTrees {
    /// Class of each root.
    pub(super) roots: Vec<ClassId>,
    uses: Vec<ClassUse>,
    ends: Vec<usize>,
}

/// The function and one number for all children: the sum of a number for each child if siblings are unordered, else a
/// [`chain`] from the last to the first. Equal for equal children, and different otherwise, except with a probability
/// of about 2^-128.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct ClassKey {
    func: u32,
    children: u128,
}

/// Buffers that are reused from tree to tree.
#[derive(Debug, Default)]
pub(super) struct Classifier {
    /// Hash of the children by vertex, 0 when it is not in use.
    children: Vec<u128>,
    class_of: Vec<ClassId>,
    use_of_class: Vec<u32>,
    listed: Vec<ClassId>,
}

impl ClassTable {
    pub(super) fn new(siblings: Siblings) -> Self {
        Self {
            siblings,
            func: Vec::new(),
            height: Vec::new(),
            number: Vec::new(),
            child_start: Vec::new(),
            children: Vec::new(),
            by_key: MixedMap::default(),
            leaf_of_func: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.func.len()
    }

    /// Returns the classes, children before parents.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "MAX_LABELS, and those of a round"
    )]
    pub(super) fn ids(&self) -> Range<ClassId> {
        0..self.len() as ClassId
    }

    pub(super) fn func(&self, class: ClassId) -> FuncId {
        self.func[class as usize]
    }

    pub(super) fn height(&self, class: ClassId) -> u16 {
        self.height[class as usize]
    }

    /// Returns child classes with their repeat counts: each once in ascending order, or runs in order of entry.
    pub(super) fn children(&self, class: ClassId) -> &[(ClassId, u64)] {
        let class = class as usize;
        let end = self.child_start.get(class + 1).copied();
        &self.children[self.child_start[class]..end.unwrap_or(self.children.len())]
    }

    /// Adds the classes of `other`; returns the map from its ids to ids of this table.
    pub(super) fn join(&mut self, other: &Self) -> Vec<ClassId> {
        let mut map: Vec<ClassId> = Vec::with_capacity(other.len());
        let mut children: Vec<(ClassId, u64)> = Vec::new();
        for class in other.ids() {
            let func = other.func(class);
            children.clear();
            let others = other.children(class).iter();
            children.extend(others.map(|&(child, count)| (map[child as usize], count)));
            if children.is_empty() {
                map.push(self.leaf(func));
                continue;
            }
            let key = ClassKey {
                func: func.0,
                children: self.number_of_children(&children),
            };
            if self.siblings == Siblings::Unordered {
                children.sort_unstable();
            }
            let joined = self.by_key.get(&key).copied();
            map.push(joined.unwrap_or_else(|| self.add(key, &children)));
        }
        map
    }

    /// Returns the class of a function that calls nothing.
    fn leaf(&mut self, func: FuncId) -> ClassId {
        if self.leaf_of_func.len() <= func.index() {
            self.leaf_of_func.resize(func.index() + 1, NONE);
        }
        if self.leaf_of_func[func.index()] == NONE {
            self.leaf_of_func[func.index()] = self.push(func, &[]);
        }
        self.leaf_of_func[func.index()]
    }

    /// Returns the hash of all children, with `child` before those hashed in `state`.
    fn with_child(&self, state: u128, child: ClassId) -> u128 {
        let number = self.number[child as usize];
        match self.siblings {
            Siblings::Unordered => state.wrapping_add(number),
            Siblings::Ordered => chain(state, number),
        }
    }

    fn number_of_children(&self, children: &[(ClassId, u64)]) -> u128 {
        children.iter().rev().fold(0, |state, &(child, count)| {
            (0..count).fold(state, |state, _| self.with_child(state, child))
        })
    }

    fn add(&mut self, key: ClassKey, children: &[(ClassId, u64)]) -> ClassId {
        let class = self.push(FuncId(key.func), children);
        self.by_key.insert(key, class);
        class
    }

    fn push(&mut self, func: FuncId, children: &[(ClassId, u64)]) -> ClassId {
        let class = self.ids().end;
        let heights = children.iter().map(|&(child, _)| self.height(child));
        let height = heights.max().map_or(0, |height| height.saturating_add(1));
        self.func.push(func);
        self.height.push(height);
        self.number.push(number_of(class));
        self.child_start.push(self.children.len());
        self.children.extend_from_slice(children);
        class
    }
}

impl ClassUse {
    fn none(class: ClassId) -> Self {
        Self {
            class,
            vertex: NONE,
            count: 0,
            inclusive_ns: 0,
        }
    }

    /// Adds a vertex that comes before those that were added.
    fn add(&mut self, vertex: u32, inclusive_ns: i64) {
        self.vertex = vertex;
        self.count += 1;
        self.inclusive_ns = self.inclusive_ns.saturating_add(inclusive_ns);
    }
}

impl UsesOfTrees {
    /// Returns the class uses of each tree.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[ClassUse]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(&start, &end)| &self.uses[start..end])
    }

    /// Replaces the ids by those of a joined table.
    pub(super) fn rename(&mut self, class_of: &[ClassId]) {
        let of_uses = self.uses.iter_mut().map(|found| &mut found.class);
        for class in of_uses.chain(&mut self.roots) {
            *class = class_of[*class as usize];
        }
    }
}

impl Classifier {
    /// Assigns every vertex of `tree` its class and adds the uses of each class to `trees`. `ids` are the table's ids
    /// of the functions.
    pub(super) fn classify(
        &mut self,
        tree: CsTree<'_>,
        ids: &[FuncId],
        table: &mut ClassTable,
        trees: &mut UsesOfTrees,
    ) {
        let len = tree.len();
        if self.children.len() < len {
            self.children.resize(len, 0);
        }
        self.class_of.clear();
        self.class_of.resize(len, 0);
        let start = trees.uses.len();
        let (inclusive, funcs) = (tree.inclusive(), tree.funcs());
        // In pre-order every child comes after its parent, so the backward loop visits children first.
        for vertex in (0..len).rev() {
            let func = ids[funcs[vertex].index()];
            let class = if tree.subtree_end(vertex) == vertex + 1 {
                table.leaf(func)
            } else {
                let key = ClassKey {
                    func: func.0,
                    children: std::mem::take(&mut self.children[vertex]),
                };
                let known = table.by_key.get(&key).copied();
                known.unwrap_or_else(|| self.add_class(tree, vertex, key, table))
            };
            self.class_of[vertex] = class;
            if let Some(parent) = tree.parent(vertex) {
                self.children[parent] = table.with_child(self.children[parent], class);
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "vertices of a tree are rows of a lane"
            )]
            self.use_of(class, table.len(), &mut trees.uses, start)
                .add(vertex as u32, inclusive[vertex].0);
        }
        for found in &trees.uses[start..] {
            self.use_of_class[found.class as usize] = NONE;
        }
        trees.ends.push(trees.uses.len());
        trees.roots.push(self.class_of[0]);
    }

    /// Returns the use of a class in the tree whose uses begin at `start`.
    fn use_of<'a>(
        &mut self,
        class: ClassId,
        num_classes: usize,
        uses: &'a mut Vec<ClassUse>,
        start: usize,
    ) -> &'a mut ClassUse {
        if self.use_of_class.len() <= class as usize {
            self.use_of_class.resize(num_classes, NONE);
        }
        let slot = &mut self.use_of_class[class as usize];
        if *slot == NONE {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a tree has no more classes than vertices"
            )]
            let index = (uses.len() - start) as u32;
            *slot = index;
            uses.push(ClassUse::none(class));
        }
        &mut uses[start + *slot as usize]
    }

    /// Returns the class of each vertex of the tree that was classified last.
    pub(super) fn into_class_of(self) -> Vec<ClassId> {
        self.class_of
    }

    fn add_class(
        &mut self,
        tree: CsTree<'_>,
        vertex: usize,
        key: ClassKey,
        table: &mut ClassTable,
    ) -> ClassId {
        self.listed.clear();
        let classes = tree.children(vertex).map(|child| self.class_of[child]);
        self.listed.extend(classes);
        if table.siblings == Siblings::Unordered {
            self.listed.sort_unstable();
        }
        let runs: Vec<(ClassId, u64)> = self
            .listed
            .chunk_by(|a, b| a == b)
            .map(|run| (run[0], run.len() as u64))
            .collect();
        table.add(key, &runs)
    }
}
