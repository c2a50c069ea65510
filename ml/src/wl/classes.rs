//! Classes of equal whole subtrees, with exact repeat counts.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use callgrove_model::{CsTree, FuncId};

/// A class: a row of a [`ClassTable`].
pub(super) type ClassId = u32;

/// Whole subtrees in order of first occurrence; children stand before parents.
#[derive(Debug, Default)]
pub(super) struct ClassTable {
    func: Vec<FuncId>,
    height: Vec<u16>,
    child_start: Vec<usize>,
    children: Vec<(ClassId, u64)>,
    by_key: HashMap<ClassKey, ClassId, BuildHasherDefault<MixedHasher>>,
}

/// How often a class occurs in one tree, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassUse {
    pub(super) class: ClassId,
    pub(super) count: u64,
    pub(super) inclusive_ns: i64,
    pub(super) exclusive_ns: i64,
    pub(super) max_inclusive_ns: i64,
    /// The first vertex in pre-order.
    pub(super) vertex: u32,
}

/// The function and the sum of one 128-bit number for each child: equal for equal multisets of
/// children in any order, and different otherwise but for a chance of 2^-128.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct ClassKey {
    func: u32,
    children: u128,
}

/// Work space that is kept from tree to tree.
#[derive(Debug, Default)]
pub(super) struct Classifier {
    children_sum: Vec<u128>,
    class_of: Vec<ClassId>,
    use_of_class: Vec<Option<u32>>,
    sorted_children: Vec<ClassId>,
}

impl ClassTable {
    pub(super) fn len(&self) -> usize {
        self.func.len()
    }

    pub(super) fn func(&self, class: ClassId) -> FuncId {
        self.func[class as usize]
    }

    pub(super) fn height(&self, class: ClassId) -> u16 {
        self.height[class as usize]
    }

    /// Child classes in ascending order with their repeat counts.
    pub(super) fn children(&self, class: ClassId) -> &[(ClassId, u64)] {
        let class = class as usize;
        let end = self.child_start.get(class + 1).copied();
        &self.children[self.child_start[class]..end.unwrap_or(self.children.len())]
    }

    /// Adds the classes of `other`; the answer maps its ids to ids of this table.
    pub(super) fn join(&mut self, other: &Self) -> Vec<ClassId> {
        let mut map: Vec<ClassId> = Vec::with_capacity(other.len());
        for class in 0..other.len() as ClassId {
            let mut children: Vec<(ClassId, u64)> = other
                .children(class)
                .iter()
                .map(|&(child, count)| (map[child as usize], count))
                .collect();
            let sum = children.iter().fold(0_u128, |sum, &(child, count)| {
                sum.wrapping_add(number_of(child).wrapping_mul(u128::from(count)))
            });
            let key = ClassKey {
                func: other.func(class).0,
                children: sum,
            };
            let joined = self.by_key.get(&key).copied();
            map.push(joined.unwrap_or_else(|| {
                children.sort_unstable();
                self.add(key, &children)
            }));
        }
        map
    }

    fn add(&mut self, key: ClassKey, children: &[(ClassId, u64)]) -> ClassId {
        let class = self.len() as ClassId;
        let height = children
            .iter()
            .map(|&(child, _)| self.height(child).saturating_add(1))
            .max();
        self.func.push(FuncId(key.func));
        self.height.push(height.unwrap_or(0));
        self.child_start.push(self.children.len());
        self.children.extend_from_slice(children);
        self.by_key.insert(key, class);
        class
    }
}

impl Classifier {
    /// Gives every vertex of `tree` its class and sums up how each class occurs.
    pub(super) fn classify(&mut self, tree: CsTree<'_>, table: &mut ClassTable) -> Vec<ClassUse> {
        self.assign_classes(tree, table);
        self.use_of_class.resize(table.len(), None);
        let (inclusive, exclusive) = (tree.inclusive(), tree.exclusive());
        let mut uses: Vec<ClassUse> = Vec::new();
        for (vertex, &class) in self.class_of.iter().enumerate() {
            let inclusive_ns = inclusive[vertex].0;
            let slot = &mut self.use_of_class[class as usize];
            let Some(found) = *slot else {
                *slot = Some(uses.len() as u32);
                uses.push(ClassUse {
                    class,
                    count: 1,
                    inclusive_ns,
                    exclusive_ns: exclusive[vertex].0,
                    max_inclusive_ns: inclusive_ns,
                    vertex: vertex as u32,
                });
                continue;
            };
            let found = &mut uses[found as usize];
            found.count += 1;
            found.inclusive_ns = found.inclusive_ns.saturating_add(inclusive_ns);
            found.exclusive_ns = found.exclusive_ns.saturating_add(exclusive[vertex].0);
            found.max_inclusive_ns = found.max_inclusive_ns.max(inclusive_ns);
        }
        for found in &uses {
            self.use_of_class[found.class as usize] = None;
        }
        uses
    }

    /// The class of each vertex of the tree that was classified last.
    pub(super) fn class_of(&self) -> &[ClassId] {
        &self.class_of
    }

    fn assign_classes(&mut self, tree: CsTree<'_>, table: &mut ClassTable) {
        let funcs = tree.funcs();
        self.children_sum.clear();
        self.children_sum.resize(tree.len(), 0);
        self.class_of.clear();
        self.class_of.resize(tree.len(), 0);
        // In pre-order every child stands after its parent, so going back meets children first.
        for vertex in (0..tree.len()).rev() {
            let key = ClassKey {
                func: funcs[vertex].0,
                children: self.children_sum[vertex],
            };
            let class = match table.by_key.get(&key) {
                Some(&class) => class,
                None => self.add_class(tree, vertex, key, table),
            };
            self.class_of[vertex] = class;
            if let Some(parent) = tree.parent(vertex) {
                let sum = &mut self.children_sum[parent];
                *sum = sum.wrapping_add(number_of(class));
            }
        }
    }

    fn add_class(
        &mut self,
        tree: CsTree<'_>,
        vertex: usize,
        key: ClassKey,
        table: &mut ClassTable,
    ) -> ClassId {
        self.sorted_children.clear();
        let classes = tree.children(vertex).map(|child| self.class_of[child]);
        self.sorted_children.extend(classes);
        self.sorted_children.sort_unstable();
        let runs: Vec<(ClassId, u64)> = self
            .sorted_children
            .chunk_by(|a, b| a == b)
            .map(|run| (run[0], run.len() as u64))
            .collect();
        table.add(key, &runs)
    }
}

/// A fixed pseudo-random 128-bit number for a class (SplitMix64 twice, Steele et al. 2014).
fn number_of(class: ClassId) -> u128 {
    let split_mix = |seed: u64| {
        let mut z = u64::from(class).wrapping_add(seed).wrapping_add(1);
        z = z.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    (u128::from(split_mix(0)) << 64) | u128::from(split_mix(1 << 40))
}

/// Hashes keys whose bits are mixed already: one multiplication a word.
#[derive(Clone, Copy, Default, Debug)]
struct MixedHasher(u64);

impl Hasher for MixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let mixed = (self.0.rotate_left(26) ^ word).wrapping_mul(ODD);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }
}
