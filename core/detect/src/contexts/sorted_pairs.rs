//! A map with few keys.

use std::{mem, slice};

/// Keys with their values, in ascending order. Most maps have a single key, which needs no heap memory, because many
/// maps are created, sent and merged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SortedPairs<K, V> {
    One((K, V)),
    /// Any other number of keys.
    Many(Vec<(K, V)>),
}

impl<K, V> Default for SortedPairs<K, V> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<K: Ord + Copy, V> SortedPairs<K, V> {
    /// Returns a map of one key.
    pub(crate) fn of_one(key: K, value: V) -> Self {
        Self::One((key, value))
    }

    /// Returns the value of a key, or the vacant position of a missing key.
    pub(crate) fn find(&mut self, key: K) -> Result<&mut V, VacantPair<'_, K, V>> {
        match self.position(key) {
            Ok(at) => Ok(&mut self.as_mut_slice()[at].1),
            Err(at) => Err(VacantPair {
                pairs: self,
                at,
                key,
            }),
        }
    }

    /// Removes a key. Returns its value.
    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        let at = self.position(key).ok()?;
        self.change(|pairs| Some(pairs.remove(at).1))
    }

    /// Removes the highest key. Returns it with its value.
    pub(crate) fn pop_last(&mut self) -> Option<(K, V)> {
        self.change(Vec::pop)
    }

    pub(crate) fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Returns the pairs in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.as_slice().iter().map(|(key, value)| (*key, value))
    }

    fn position(&self, key: K) -> Result<usize, usize> {
        let pairs = self.as_slice();
        pairs.binary_search_by_key(&key, |(key, _)| *key)
    }

    fn as_slice(&self) -> &[(K, V)] {
        match self {
            Self::One(pair) => slice::from_ref(pair),
            Self::Many(pairs) => pairs,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [(K, V)] {
        match self {
            Self::One(pair) => slice::from_mut(pair),
            Self::Many(pairs) => pairs,
        }
    }

    /// Changes the number of pairs.
    fn change<T>(&mut self, change: impl FnOnce(&mut Vec<(K, V)>) -> T) -> T {
        let mut pairs = match mem::take(self) {
            Self::One(pair) => vec![pair],
            Self::Many(pairs) => pairs,
        };
        let result = change(&mut pairs);
        *self = match pairs.pop() {
            Some(pair) if pairs.is_empty() => Self::One(pair),
            last => {
                pairs.extend(last);
                Self::Many(pairs)
            }
        };
        result
    }
}

/// The vacant position of a missing key.
pub(crate) struct VacantPair<'a, K, V> {
    pairs: &'a mut SortedPairs<K, V>,
    at: usize,
    key: K,
}

impl<'a, K: Ord + Copy, V> VacantPair<'a, K, V> {
    /// Inserts the key with a value.
    pub(crate) fn insert(self, value: V) -> &'a mut V {
        let Self { pairs, at, key } = self;
        if pairs.len() == 0 {
            *pairs = SortedPairs::of_one(key, value);
        } else {
            pairs.change(|pairs| pairs.insert(at, (key, value)));
        }
        &mut pairs.as_mut_slice()[at].1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn pairs_are_found_added_and_removed_as_in_a_map() {
        let (mut pairs, mut map) = (SortedPairs::default(), BTreeMap::new());
        for step in 0..200_u32 {
            let key = step * 7919 % 31;
            match pairs.find(key) {
                Ok(value) => *value += step,
                Err(missing) => assert_eq!(*missing.insert(step), step),
            }
            *map.entry(key).or_insert(0) += step;
            match step % 9 {
                0 => assert_eq!(pairs.remove(key / 2), map.remove(&(key / 2))),
                1 => assert_eq!(pairs.pop_last(), map.pop_last()),
                _ => {}
            }
            assert!(
                pairs
                    .iter()
                    .eq(map.iter().map(|(key, value)| (*key, value)))
            );
            assert_eq!(pairs.len(), map.len());
        }
    }
}
