//! Feature matrices: one row per tree, dense or sparse, with squared distances between rows.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::{MlError, Result};
use crate::real::Real;

/// A matrix of shape [num_rows, num_columns], row by row.
#[derive(Clone, PartialEq, Debug)]
pub enum Rows {
    /// Every number is stored.
    Dense(DenseRows),
    /// Only numbers other than zero are stored.
    Sparse(SparseRows),
}

/// Dense rows: every number is stored.
#[derive(Clone, PartialEq, Debug)]
pub struct DenseRows {
    num_columns: usize,
    values: Vec<f64>,
    squared_norms: Vec<f64>,
}

/// Compressed rows: the columns of a row ascend, and no stored value is zero. Many rows have their values in the same
/// columns, so equal lists of columns are stored once.
#[derive(Clone, Debug)]
pub struct SparseRows {
    num_columns: usize,
    row_start: Vec<usize>,
    /// Start of the columns of each row.
    column_start: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    squared_norms: Vec<f64>,
}

/// One sparse row that owns its numbers: columns ascend.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SparseRow {
    /// Columns in ascending order.
    pub columns: Vec<u32>,
    /// The values there.
    pub values: Vec<f64>,
}

/// One row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RowRef<'a> {
    /// Every number.
    Dense(&'a [f64]),
    /// Columns in ascending order and the values there.
    Sparse(&'a [u32], &'a [f64]),
}

impl DenseRows {
    /// Creates a matrix from its numbers, row by row.
    ///
    /// # Errors
    /// [`MlError::LengthMismatch`] if the numbers do not fill complete rows, [`MlError::BadNumber`] if one is NaN or
    /// infinite.
    pub fn new(num_columns: usize, values: Vec<f64>) -> Result<Self> {
        let num_rows = values.len().checked_div(num_columns).unwrap_or(0);
        if num_rows * num_columns != values.len() {
            return Err(MlError::LengthMismatch {
                what: "numbers",
                expected: num_rows * num_columns,
                found: values.len(),
            });
        }
        let squared_norms = (0..num_rows)
            .map(|row| sum_of_squares(&values[row * num_columns..(row + 1) * num_columns]))
            .collect::<Vec<_>>();
        check_norms(&squared_norms)?;
        Ok(Self {
            num_columns,
            values,
            squared_norms,
        })
    }

    /// Returns a row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.num_columns..(row + 1) * self.num_columns]
    }
}

impl SparseRows {
    /// Creates a matrix of given rows; zeros are left out.
    ///
    /// # Errors
    /// [`MlError::BadNumber`] if a value is NaN or infinite.
    pub fn new(num_columns: usize, rows: impl IntoIterator<Item = SparseRow>) -> Result<Self> {
        let mut built = Self::empty(num_columns);
        let mut lists = ColumnLists::default();
        for row in rows {
            let SparseRow {
                mut columns,
                mut values,
            } = row;
            if values.contains(&0.0) {
                let is_kept: Vec<bool> = values.iter().map(|&value| value != 0.0).collect();
                let mut kept = is_kept.iter();
                columns.retain(|_| kept.next() == Some(&true));
                values.retain(|&value| value != 0.0);
            }
            let squared_norm = sum_of_squares(&values);
            let start = lists.start_of(&columns, &mut built.columns);
            built.push(start, &values, squared_norm);
        }
        check_norms(&built.squared_norms)?;
        Ok(built)
    }

    fn empty(num_columns: usize) -> Self {
        Self {
            num_columns,
            row_start: vec![0],
            column_start: Vec::new(),
            columns: Vec::new(),
            values: Vec::new(),
            squared_norms: Vec::new(),
        }
    }

    fn push(&mut self, column_start: usize, values: &[f64], squared_norm: f64) {
        self.column_start.push(column_start);
        self.values.extend_from_slice(values);
        self.row_start.push(self.values.len());
        self.squared_norms.push(squared_norm);
    }

    fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let values = &self.values[self.row_start[row]..self.row_start[row + 1]];
        let start = self.column_start[row];
        (&self.columns[start..start + values.len()], values)
    }
}

impl PartialEq for SparseRows {
    fn eq(&self, other: &Self) -> bool {
        let rows = || (0..self.squared_norms.len()).map(|row| self.row(row));
        let others = (0..other.squared_norms.len()).map(|row| other.row(row));
        self.num_columns == other.num_columns && rows().eq(others)
    }
}

/// Finds equal lists of columns that are stored already.
#[derive(Default)]
struct ColumnLists {
    start_of_list: HashMap<Box<[u32]>, usize>,
}

impl ColumnLists {
    /// Returns the start of `list` in `columns`, to which it is appended if it is new.
    fn start_of(&mut self, list: &[u32], columns: &mut Vec<u32>) -> usize {
        if let Some(&start) = self.start_of_list.get(list) {
            return start;
        }
        let start = columns.len();
        columns.extend_from_slice(list);
        self.start_of_list.insert(list.into(), start);
        start
    }
}

impl Rows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.squared_norms().len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of columns.
    pub fn num_columns(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.num_columns,
            Self::Sparse(rows) => rows.num_columns,
        }
    }

    /// Returns the squared Euclidean norm of each row.
    pub fn squared_norms(&self) -> &[f64] {
        match self {
            Self::Dense(rows) => &rows.squared_norms,
            Self::Sparse(rows) => &rows.squared_norms,
        }
    }

    /// Returns the Euclidean norm of each row.
    pub fn norms(&self) -> Vec<f64> {
        let squared = self.squared_norms().iter();
        squared.map(|norm| norm.sqrt()).collect()
    }

    /// Returns a row.
    pub fn row(&self, row: usize) -> RowRef<'_> {
        match self {
            Self::Dense(rows) => RowRef::Dense(rows.row(row)),
            Self::Sparse(rows) => {
                let (columns, values) = rows.row(row);
                RowRef::Sparse(columns, values)
            }
        }
    }

    /// Returns some of the rows, in the order of `wanted`.
    #[must_use]
    pub fn select(&self, wanted: &[usize]) -> Self {
        match self {
            Self::Dense(rows) => {
                let values = wanted.iter().flat_map(|&row| rows.row(row).iter().copied());
                Self::Dense(DenseRows {
                    num_columns: rows.num_columns,
                    values: values.collect(),
                    squared_norms: wanted.iter().map(|&row| rows.squared_norms[row]).collect(),
                })
            }
            Self::Sparse(rows) => {
                let mut selected = SparseRows::empty(rows.num_columns);
                let mut lists = ColumnLists::default();
                for &row in wanted {
                    let (columns, values) = rows.row(row);
                    let start = lists.start_of(columns, &mut selected.columns);
                    selected.push(start, values, rows.squared_norms[row]);
                }
                Self::Sparse(selected)
            }
        }
    }

    /// Returns the rows restricted to the columns that have a number in `place_of_column`, renumbered and ascending
    /// as before. Norms stay those of the complete rows.
    #[must_use]
    pub fn within(&self, place_of_column: &[Option<u32>]) -> Self {
        let num_columns = place_of_column.iter().flatten().count();
        let rows = match self {
            Self::Dense(rows) => {
                let indices = place_of_column.iter().cycle();
                let kept = rows.values.iter().zip(indices);
                return Self::Dense(DenseRows {
                    num_columns,
                    values: kept
                        .filter_map(|(&value, index)| index.and(Some(value)))
                        .collect(),
                    squared_norms: rows.squared_norms.clone(),
                });
            }
            Self::Sparse(rows) => rows,
        };
        let mut within = SparseRows::empty(num_columns);
        let mut lists = ColumnLists::default();
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (row, &squared_norm) in rows.squared_norms.iter().enumerate() {
            columns.clear();
            values.clear();
            let (of_row, values_of_row) = rows.row(row);
            for (&column, &value) in of_row.iter().zip(values_of_row) {
                if let Some(&Some(index)) = place_of_column.get(column as usize) {
                    columns.push(index);
                    values.push(value);
                }
            }
            let start = lists.start_of(&columns, &mut within.columns);
            within.push(start, &values, squared_norm);
        }
        Self::Sparse(within)
    }

    /// Returns the mean of the squared distances over all ordered pairs of rows: 2 (mean |x|² − |mean x|²).
    pub fn mean_squared_distance(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let num_rows = self.len().real();
        let mut mean = vec![0.0; self.num_columns()];
        for row in 0..self.len() {
            for (column, value) in self.row(row).entries() {
                mean[column] += value / num_rows;
            }
        }
        let mean_norm = self.squared_norms().iter().sum::<f64>() / num_rows;
        (2.0 * (mean_norm - dot(&mean, &mean))).max(0.0)
    }

    /// Returns for each row the first row that equals it.
    pub fn first_equal(&self) -> Vec<usize> {
        // Equal rows have equal norms, which distinguish most other rows.
        let norms = self.squared_norms();
        let compare = |a: usize, b: usize| {
            let rows = || self.row(a).compare(self.row(b));
            norms[a].total_cmp(&norms[b]).then_with(rows)
        };
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
        let mut first: Vec<usize> = (0..self.len()).collect();
        for pair in order.windows(2) {
            if compare(pair[0], pair[1]) == Ordering::Equal {
                first[pair[1]] = first[pair[0]];
            }
        }
        first
    }
}

impl<'a> RowRef<'a> {
    /// Returns columns and values in ascending order; a dense row includes its zeros.
    pub fn entries(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        let (columns, values) = match self {
            Self::Dense(values) => (None, values),
            Self::Sparse(columns, values) => (Some(columns), values),
        };
        values.iter().enumerate().map(move |(index, &value)| {
            let column = columns.map_or(index, |columns| columns[index] as usize);
            (column, value)
        })
    }

    /// Returns the squared Euclidean norm.
    pub fn squared_norm(self) -> f64 {
        match self {
            Self::Dense(values) | Self::Sparse(_, values) => sum_of_squares(values),
        }
    }

    /// Returns the row as `num_columns` numbers; columns beyond are left out.
    pub fn to_dense(self, num_columns: usize) -> Vec<f64> {
        let mut dense = vec![0.0; num_columns];
        for (column, value) in self.entries() {
            if let Some(index) = dense.get_mut(column) {
                *index = value;
            }
        }
        dense
    }

    /// Returns the row as a sparse row without zeros.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "columns are counted in 32 bits"
    )]
    pub fn to_sparse(self) -> SparseRow {
        let (columns, values) = self
            .entries()
            .filter(|&(_, value)| value != 0.0)
            .map(|(column, value)| (column as u32, value))
            .unzip();
        SparseRow { columns, values }
    }

    fn compare(self, other: RowRef<'_>) -> Ordering {
        let compare_values = |a: &[f64], b: &[f64]| {
            a.iter()
                .zip(b)
                .map(|(a, b)| a.partial_cmp(b).unwrap_or(Ordering::Equal))
                .find(|&order| order != Ordering::Equal)
                .unwrap_or_else(|| a.len().cmp(&b.len()))
        };
        match (self, other) {
            (Self::Sparse(columns, values), RowRef::Sparse(other_columns, other_values)) => columns
                .cmp(other_columns)
                .then_with(|| compare_values(values, other_values)),
            (Self::Dense(values), RowRef::Dense(other)) => compare_values(values, other),
            (Self::Dense(_), RowRef::Sparse(..)) => Ordering::Less,
            (Self::Sparse(..), RowRef::Dense(_)) => Ordering::Greater,
        }
    }
}

impl SparseRow {
    /// Returns a reference to the row.
    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef::Sparse(&self.columns, &self.values)
    }
}

/// Returns the scalar product, from eight partial sums that are added in a fixed order.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f64 = a_chunks
        .remainder()
        .iter()
        .zip(b_chunks.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + tail
}

/// Returns the sum of squares, added column by column exactly as in the products of distances, so that a row is at
/// distance 0 from itself.
fn sum_of_squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// Checks that every squared norm is finite.
///
/// # Errors
/// [`MlError::BadNumber`] with the first row that is not.
pub fn check_norms(squared_norms: &[f64]) -> Result<()> {
    match squared_norms.iter().position(|norm| !norm.is_finite()) {
        Some(row) => Err(MlError::BadNumber {
            what: "a feature",
            row,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(rows: &[(&[u32], &[f64])]) -> Rows {
        let rows = rows.iter().map(|(columns, values)| SparseRow {
            columns: columns.to_vec(),
            values: values.to_vec(),
        });
        Rows::Sparse(SparseRows::new(4, rows).unwrap())
    }

    #[test]
    fn dense_and_sparse_rows_have_the_same_distances() {
        let dense =
            Rows::Dense(DenseRows::new(4, vec![1.0, 0.0, 2.0, 0.0, 0.0, -3.0, 0.0, 0.5]).unwrap());
        let sparse = sparse(&[(&[0, 2], &[1.0, 2.0]), (&[1, 3], &[-3.0, 0.5])]);
        for row in 0..2 {
            assert_eq!(
                dense.squared_distances(dense.row(row)),
                sparse.squared_distances(sparse.row(row))
            );
        }
        assert!((dense.mean_squared_distance() - 7.125).abs() < 1e-12);
        assert!((sparse.mean_squared_distance() - 7.125).abs() < 1e-12);
    }

    #[test]
    fn distances_from_several_rows_are_those_from_each() {
        let values: Vec<f64> = (0..60).map(|index| f64::from(index).sin()).collect();
        let rows = Rows::Dense(DenseRows::new(6, values).unwrap());
        let together = rows.squared_distances_from([7, 2, 9].map(|row| rows.row(row)));
        let alone = [7, 2, 9].map(|row| rows.squared_distances(rows.row(row)));
        assert_eq!(together, alone);
        let selected = rows.select(&[7, 2]);
        assert_eq!(selected.row(1), rows.row(2));
        assert_eq!(
            selected.squared_norms()[0].to_bits(),
            rows.squared_norms()[7].to_bits()
        );
    }

    #[test]
    fn columns_that_the_matrix_lacks_add_to_the_distance() {
        let rows = sparse(&[(&[0], &[1.0])]);
        let new = RowRef::Sparse(&[0, 9], &[1.0, 2.0]);
        assert_eq!(rows.squared_distances(new), [4.0]);
    }

    #[test]
    fn equal_rows_point_to_the_first_of_them() {
        let rows = sparse(&[
            (&[0], &[1.0]),
            (&[1], &[1.0]),
            (&[0], &[1.0]),
            (&[0, 1], &[1.0, 0.0]),
        ]);
        assert_eq!(rows.first_equal(), [0, 1, 0, 0]);
    }

    #[test]
    fn refuses_numbers_that_are_not_finite() {
        let found = DenseRows::new(1, vec![0.0, f64::NAN]);
        assert_eq!(
            found.unwrap_err(),
            MlError::BadNumber {
                what: "a feature",
                row: 1
            }
        );
    }
}
