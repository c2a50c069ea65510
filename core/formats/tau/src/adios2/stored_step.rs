//! The contents of a step that a folder's metadata describes without ADIOS2.

use super::decode::ARRAYS;
use super::schema::COUNTS;

/// The contents of a step that are known from its metadata. ADIOS2's reader of BP4 would search for each scalar from
/// the first step on, so that the time for many small steps grows with their square. Both of its readers copy rows once
/// more.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct StoredStep {
    /// The blocks of each array, in the order of [`ARRAYS`]; empty if the array is compressed or has unknown
    /// properties. If several ranks write one array, each has a block, and the blocks may overlap.
    pub(super) arrays: [Vec<StoredArray>; ARRAYS.len()],
    /// The number of rows of each array; `None` if it differs from TAU's form.
    pub(super) num_rows: [Option<u64>; ARRAYS.len()],
    /// The counts in the order of [`COUNTS`]; `None` as in [`StoredStep::num_rows`].
    pub(super) counts: [Option<u32>; COUNTS.len()],
    /// True if the step has no variables.
    pub(super) is_empty: bool,
    /// End of the step's data in `data.0` of BP5, in bytes; 0 if it has none.
    pub(super) data_end: Option<u64>,
}

/// An uncompressed array of two dimensions, stored row by row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StoredArray {
    /// Start of the array in `data.0`, in bytes.
    pub(super) offset: u64,
    pub(super) num_rows: u64,
    pub(super) num_columns: u64,
}

impl StoredStep {
    /// Returns a step without variables and data.
    pub(super) fn empty() -> Self {
        Self {
            is_empty: true,
            data_end: Some(0),
            ..Self::default()
        }
    }

    /// Returns whether the step can be read without ADIOS2.
    pub(super) fn is_complete(&self) -> bool {
        let has_rows = |(array, count): (usize, &Option<u64>)| {
            count.is_some_and(|num_rows| {
                (num_rows == 0 && self.arrays[array].len() < 2) || self.has(array, num_rows)
            })
        };
        let has_all_rows = self.num_rows.iter().enumerate().all(has_rows);
        self.is_empty || has_all_rows && self.counts.iter().all(Option::is_some)
    }

    /// Returns whether the data file stores an array uncompressed, with this number of rows unless it has several
    /// blocks.
    pub(super) fn has(&self, array: usize, num_rows: u64) -> bool {
        let num_columns = ARRAYS[array].2 as u64;
        match self.arrays[array].as_slice() {
            [] => false,
            [only] => (only.num_rows, only.num_columns) == (num_rows, num_columns),
            blocks => blocks.iter().all(|it| it.num_columns == num_columns),
        }
    }

    /// Returns the number of rows of an array of several blocks, which saturates.
    pub(super) fn num_rows_of_blocks(&self, array: usize) -> Option<u64> {
        let blocks = &self.arrays[array];
        let sum = |rows: u64, block: &StoredArray| rows.saturating_add(block.num_rows);
        (blocks.len() > 1).then(|| blocks.iter().fold(0, sum))
    }
}

impl StoredArray {
    /// Returns an array that starts at `offset` in `data.0`; `None` if its end overflows.
    pub(super) fn at(offset: u64, num_rows: u64, num_columns: u64) -> Option<Self> {
        let size_bytes = num_rows.checked_mul(num_columns)?.checked_mul(8)?;
        offset.checked_add(size_bytes)?;
        Some(Self {
            offset,
            num_rows,
            num_columns,
        })
    }
}
