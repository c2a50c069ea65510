//! What a folder's metadata tells of a step without ADIOS2.

use super::decode::ARRAYS;
use super::schema::COUNTS;

/// What is known of a step from its metadata. ADIOS2's reader of BP4 would look for each scalar from the first step on, so
/// that many small steps take a time that grows with their square, and both of its readers copy rows one more time.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct StoredStep {
    /// The blocks of each array, in the order of [`ARRAYS`]; none of what is compressed, or says of itself what is not
    /// known here. Where several ranks write one array, each has a block, and they may lie one over the other in it.
    pub(super) arrays: [Vec<StoredArray>; ARRAYS.len()],
    /// How many rows each has; none of what is not as TAU writes it.
    pub(super) num_rows: [Option<u64>; ARRAYS.len()],
    /// In the order of [`COUNTS`], likewise.
    pub(super) counts: [Option<u32>; COUNTS.len()],
    /// Whether no variable was put, so that there is nothing to know.
    pub(super) is_empty: bool,
    /// BP5: where the data of the step ends in `data.0`; 0 if it has none.
    pub(super) data_end: Option<u64>,
}

/// An array of two dimensions that is stored as it is, row by row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StoredArray {
    /// Where it starts in `data.0`.
    pub(super) offset: u64,
    pub(super) num_rows: u64,
    pub(super) num_columns: u64,
}

impl StoredStep {
    /// One without variables and data.
    pub(super) fn empty() -> Self {
        Self {
            is_empty: true,
            data_end: Some(0),
            ..Self::default()
        }
    }

    /// Whether nothing has to be asked of ADIOS2.
    pub(super) fn is_complete(&self) -> bool {
        let has_rows = |(array, count): (usize, &Option<u64>)| {
            count.is_some_and(|num_rows| {
                (num_rows == 0 && self.arrays[array].len() < 2) || self.has(array, num_rows)
            })
        };
        let has_all_rows = self.num_rows.iter().enumerate().all(has_rows);
        self.is_empty || has_all_rows && self.counts.iter().all(Option::is_some)
    }

    /// Whether an array lies in the data file as it is: of so many rows, unless it has several blocks.
    pub(super) fn has(&self, array: usize, num_rows: u64) -> bool {
        let num_columns = ARRAYS[array].2 as u64;
        match self.arrays[array].as_slice() {
            [] => false,
            [only] => (only.num_rows, only.num_columns) == (num_rows, num_columns),
            blocks => blocks.iter().all(|it| it.num_columns == num_columns),
        }
    }

    /// The rows of an array of several blocks; the end of numbers if they are more.
    pub(super) fn num_rows_of_blocks(&self, array: usize) -> Option<u64> {
        let blocks = &self.arrays[array];
        let sum = |rows: u64, block: &StoredArray| rows.saturating_add(block.num_rows);
        (blocks.len() > 1).then(|| blocks.iter().fold(0, sum))
    }
}

impl StoredArray {
    /// One that starts at a place in `data.0`; `None` if its end has no number.
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
