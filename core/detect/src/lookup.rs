//! Finds a bin by its index in a few steps.

use crate::histogram::Bin;

/// Largest number of entries of the table.
const MAX_SLOTS: u64 = 512;

/// Sorted bin indices, with a table of starting positions.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    indices: Vec<u64>,
    first: u64,
    /// Slot = (index − first) >> shift.
    shift: u32,
    /// Position of the first bin of each slot, shape `[num_slots + 1]`.
    starts: Vec<u32>,
}

impl Lookup {
    /// Returns a table for these bins, which ascend.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most MAX_SLOTS slots, and Params::MAX_BINS bins"
    )]
    pub(crate) fn new(bins: &[Bin]) -> Self {
        let indices: Vec<u64> = bins.iter().map(|bin| bin.index).collect();
        let first = indices.first().copied().unwrap_or(0);
        let span = indices.last().copied().unwrap_or(0) - first;
        let mut shift = 0;
        while span >> shift >= MAX_SLOTS {
            shift += 1;
        }
        let num_slots = (span >> shift) as usize + 1;
        let mut starts = Vec::with_capacity(num_slots + 1);
        for (position, index) in (0..).zip(&indices) {
            let slot = ((index - first) >> shift) as usize;
            if slot >= starts.len() {
                starts.resize(slot + 1, position);
            }
        }
        starts.push(indices.len() as u32);
        Self {
            indices,
            first,
            shift,
            starts,
        }
    }

    /// Returns the position of the bin with this index, or of the first one above it.
    #[inline]
    pub(crate) fn find(&self, index: u64) -> Result<usize, usize> {
        let Some(distance) = index.checked_sub(self.first) else {
            return Err(0);
        };
        let slot = usize::try_from(distance >> self.shift).unwrap_or(self.starts.len());
        let (Some(&start), Some(&end)) = (self.starts.get(slot), self.starts.get(slot + 1)) else {
            return Err(self.indices.len());
        };
        let (start, end) = (start as usize, end as usize);
        let found = self.indices[start..end].binary_search(&index);
        found.map(|at| start + at).map_err(|at| start + at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_table_finds_the_same_bins_as_a_binary_search(
            mut indices in prop::collection::vec((any::<u64>(), 0..64_u32), 0..300),
            wanted in any::<u64>(),
        ) {
            let mut indices: Vec<u64> = indices.drain(..).map(|(index, shift)| index >> shift).collect();
            indices.sort_unstable();
            indices.dedup();
            let bins: Vec<Bin> = indices.iter().map(|&index| Bin { index, count: 1 }).collect();
            let lookup = Lookup::new(&bins);
            for &known in &indices {
                for near in [known.saturating_sub(1), known, known.saturating_add(1)] {
                    prop_assert_eq!(lookup.find(near), indices.binary_search(&near));
                }
            }
            prop_assert_eq!(lookup.find(wanted), indices.binary_search(&wanted));
        }
    }
}
