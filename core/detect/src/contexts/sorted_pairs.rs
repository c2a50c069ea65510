//! A map of a few keys.

/// Keys with their values, in ascending order in one piece of memory: of the few that there are, most maps of a kind have
/// one, and many maps are made, sent and merged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SortedPairs<K, V>(Vec<(K, V)>);

impl<K, V> Default for SortedPairs<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + Copy, V> SortedPairs<K, V> {
    /// Of one key.
    pub(crate) fn of_one(key: K, value: V) -> Self {
        Self(vec![(key, value)])
    }

    /// The value of a key, or the place where one is missing.
    pub(crate) fn find(&mut self, key: K) -> Result<&mut V, VacantPlace<'_, K, V>> {
        match self.0.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) => Ok(&mut self.0[at].1),
            Err(at) => Err(VacantPlace {
                pairs: &mut self.0,
                at,
                key,
            }),
        }
    }

    /// The pair of a key goes.
    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        let at = self.0.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(self.0.remove(at).1)
    }

    /// The pair with the highest key goes.
    pub(crate) fn pop_last(&mut self) -> Option<(K, V)> {
        self.0.pop()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// In ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }
}

/// Where the value of a key is missing.
pub(crate) struct VacantPlace<'a, K, V> {
    pairs: &'a mut Vec<(K, V)>,
    at: usize,
    key: K,
}

impl<'a, K, V> VacantPlace<'a, K, V> {
    /// The key gets a value.
    pub(crate) fn insert(self, value: V) -> &'a mut V {
        // Most stay alone.
        if self.pairs.is_empty() {
            self.pairs.reserve_exact(1);
        }
        self.pairs.insert(self.at, (self.key, value));
        &mut self.pairs[self.at].1
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
