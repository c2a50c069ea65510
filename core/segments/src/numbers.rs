//! Numbers of equal things, in order of appearance.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use callgrove_model::ExecIdx;

/// Returns a 32-bit number as an index.
pub const fn index(number: u32) -> usize {
    ExecIdx(number).index()
}

/// Returns an index as a 32-bit number; every list has fewer than 2^32 items.
pub const fn number(index: usize) -> u32 {
    ExecIdx::from_index(index).0
}

/// The numbers of equal items, in order of appearance. A program repeats itself, so that what comes after an item is
/// mostly what came after it before; only otherwise the item is looked up in the hash map.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    known: FxHashMap<T, u32>,
    items: Vec<T>,
    /// For each item, the one that came after it the last time.
    after: Vec<u32>,
    last: u32,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            known: FxHashMap::default(),
            items: Vec::new(),
            after: Vec::new(),
            last: 0,
        }
    }
}

impl<T: Copy + Eq + Hash> Numbered<T> {
    /// Returns the number of an item, which is numbered if it is new.
    pub(crate) fn number(&mut self, item: T) -> u32 {
        let last = index(self.last);
        let guess = self.after.get(last).copied().unwrap_or_default();
        if self.items.get(index(guess)) == Some(&item) {
            self.last = guess;
            return guess;
        }
        let next = number(self.items.len());
        let known = *self.known.entry(item).or_insert(next);
        if known == next {
            self.items.push(item);
            self.after.push(next);
        }
        self.after[last] = known;
        self.last = known;
        known
    }

    /// Returns the number of an item, if it has one.
    pub(crate) fn get(&self, item: T) -> Option<u32> {
        self.known.get(&item).copied()
    }

    /// Returns the items, by number.
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }
}
