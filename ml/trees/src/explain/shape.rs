//! Shapes: the paths of a tree, and about how often each is called.

use super::merge::{CallPath, PathTotal};
use crate::real::Real;
use crate::wl::mixing::{MixedMap, chain};

/// Cost of a difference by a doubling in the number of calls of a path, relative to a path that only one of two
/// shapes has.
const LEVEL_COST: f64 = 0.25;

/// The shapes of a forest, numbered by first appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    of_tree: Vec<usize>,
    /// End of each shape in `entries`.
    ends: Vec<usize>,
    entries: Vec<ShapeEntry>,
    known: MixedMap<u128, usize>,
}

/// A path of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ShapeEntry {
    pub(super) path: CallPath,
    /// Level of the number of calls: counts from one power of two to the next are one level.
    level: u32,
}

impl Shapes {
    /// Adds the next tree.
    pub(super) fn push(&mut self, totals: &[PathTotal]) {
        let shape = self.intern(totals.iter().map(|total| (total.path, total.count)));
        self.of_tree.push(shape);
    }

    /// Returns the shape of paths, in ascending order, with the number of their calls.
    pub(super) fn intern(
        &mut self,
        counts: impl Iterator<Item = (CallPath, u64)> + Clone,
    ) -> usize {
        let entries = counts.map(|(path, count)| ShapeEntry {
            path,
            level: level(count),
        });
        let key = entries.clone().fold(0, |state, entry| {
            let path = u64::try_from(entry.path).unwrap_or(u64::MAX);
            let number = u128::from(path) << 8 | u128::from(entry.level);
            chain(state, number + 1)
        });
        let next = self.ends.len();
        let shape = *self.known.entry(key).or_insert(next);
        if shape == next {
            self.entries.extend(entries);
            self.ends.push(self.entries.len());
        }
        shape
    }

    /// Returns the number of shapes.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the shape of each tree.
    pub(super) fn of_trees(&self) -> &[usize] {
        &self.of_tree
    }

    /// Returns the paths of a shape in ascending order.
    pub(super) fn entries(&self, shape: usize) -> &[ShapeEntry] {
        let start = shape.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.entries[start..self.ends[shape]]
    }

    /// Returns the distance of two shapes: the number of paths that only one has, and a small cost for each doubling
    /// of the number of calls of the others.
    pub(super) fn distance(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (self.entries(a), self.entries(b));
        let (mut at, mut other) = (0, 0);
        let (mut num_common, mut num_levels) = (0, 0_u32);
        while at < a.len() && other < b.len() {
            let (mine, theirs) = (a[at], b[other]);
            at += usize::from(mine.path <= theirs.path);
            other += usize::from(theirs.path <= mine.path);
            if mine.path == theirs.path {
                num_common += 1;
                num_levels += mine.level.abs_diff(theirs.level);
            }
        }
        let num_apart = a.len() + b.len() - 2 * num_common;
        num_apart.real() + LEVEL_COST * f64::from(num_levels)
    }
}

fn level(count: u64) -> u32 {
    u64::BITS - count.leading_zeros()
}
