//! Rows as the tiles need them: shifted, scaled, in single precision, with rare columns stored separately.

use ndarray::Array2;

use callgrove_trees::dataset::{RowRef, Rows};
use callgrove_trees::real::Real;

/// A column is rare if fewer than one row in this many has a number other than zero there.
const ROWS_PER_RARE_VALUE: usize = 16;

/// Largest absolute error by underflow, with norms of at most 1.
const UNDERFLOW: f32 = 1e-30;

/// The common layout of two sets of rows: the columns that are multiplied as a matrix, the ones that are multiplied
/// one by one, and the shift and scale with which no norm is above 1.
pub(super) struct PackedLayout {
    /// Index of each column among the matrix columns or the rare columns.
    columns: Vec<ColumnSlot>,
    /// The mean of each matrix column, which is subtracted: this makes norms and so errors smaller.
    shift: Vec<f64>,
    num_rare: usize,
    scale: f64,
    /// Relative error of a squared distance, as a share of the sum of the two squared norms.
    error: f32,
}

#[derive(Clone, Copy)]
enum ColumnSlot {
    Matrix(usize),
    Rare(usize),
}

/// Rows in the common layout.
pub(super) struct Packed {
    /// Shape [num_rows, num_matrix_columns].
    pub(super) matrix: Array2<f32>,
    /// Entries of rare columns: rare column and value, row after row.
    rare: Vec<(u32, f32)>,
    rare_start: Vec<usize>,
    /// Squared norms.
    norms: Vec<f32>,
}

/// For each rare column the rows that have a value there, in ascending order.
pub(super) struct Postings(Vec<Vec<(u32, f32)>>);

impl PackedLayout {
    pub(super) fn new(rows: &Rows, queries: &Rows) -> Self {
        let num_columns = rows.num_columns().max(queries.num_columns());
        let mut counts = vec![0_usize; num_columns];
        let mut sums = vec![0.0; num_columns];
        for row in 0..rows.len() {
            for (column, value) in rows.row(row).entries() {
                counts[column] += usize::from(value != 0.0);
                sums[column] += value / rows.len().real();
            }
        }
        let is_sparse = matches!(rows, Rows::Sparse(_)) && matches!(queries, Rows::Sparse(_));
        let (mut shift, mut num_rare) = (Vec::new(), 0);
        let columns = counts.iter().zip(&sums).map(|(&count, &sum)| {
            if is_sparse && count < rows.len().div_ceil(ROWS_PER_RARE_VALUE) {
                num_rare += 1;
                ColumnSlot::Rare(num_rare - 1)
            } else {
                shift.push(sum);
                ColumnSlot::Matrix(shift.len() - 1)
            }
        });
        let mut layout = Self {
            columns: columns.collect(),
            shift,
            num_rare,
            scale: 1.0,
            error: 0.0,
        };
        let (base_norm, base_terms) = layout.largest(rows);
        let (query_norm, query_terms) = layout.largest(queries);
        let norm = base_norm.max(query_norm);
        layout.scale = if norm > 0.0 { 1.0 / norm } else { 1.0 };
        // Rounding of each value (4), of the norms and differences (4), and of each product and sum.
        let num_terms = layout.shift.len() + base_terms.max(query_terms);
        #[expect(clippy::cast_precision_loss, reason = "a bound has digits enough")]
        let num_roundings = (num_terms + 16) as f32;
        layout.error = num_roundings * 0.5 * f32::EPSILON;
        layout
    }

    /// Returns the largest norm of the shifted rows, and the largest number of rare values of a row.
    fn largest(&self, rows: &Rows) -> (f64, usize) {
        let (mut norm, mut num_rare) = (0.0_f64, 0);
        let mut values = vec![0.0; self.shift.len()];
        for row in 0..rows.len() {
            let mut rare = Vec::new();
            self.scale_row(rows.row(row), &mut values, &mut rare);
            // Scaled twice, so that the squares of large numbers do not overflow.
            let all = || values.iter().chain(rare.iter().map(|(_, value)| value));
            let largest = all().fold(0.0_f64, |largest, value| largest.max(value.abs()));
            if largest > 0.0 {
                let sum: f64 = all().map(|value| (value / largest).powi(2)).sum();
                norm = norm.max(largest * sum.sqrt());
            }
            num_rare = num_rare.max(rare.len());
        }
        (norm, num_rare)
    }

    /// Computes the shifted and scaled values of a row.
    fn scale_row(&self, row: RowRef<'_>, values: &mut [f64], rare: &mut Vec<(usize, f64)>) {
        for (value, shift) in values.iter_mut().zip(&self.shift) {
            *value = -shift * self.scale;
        }
        for (column, value) in row.entries() {
            match self.columns[column] {
                ColumnSlot::Matrix(index) => {
                    values[index] = (value - self.shift[index]) * self.scale;
                }
                ColumnSlot::Rare(index) if value != 0.0 => rare.push((index, value * self.scale)),
                ColumnSlot::Rare(_) => {}
            }
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "values are in single precision, columns counted in 32 bits"
    )]
    pub(super) fn pack(&self, rows: &Rows) -> Packed {
        let mut matrix = Array2::zeros((rows.len(), self.shift.len()));
        let mut packed = (Vec::new(), vec![0], Vec::new());
        let mut values = vec![0.0; self.shift.len()];
        for (row, mut target) in matrix.outer_iter_mut().enumerate() {
            let mut rare = Vec::new();
            self.scale_row(rows.row(row), &mut values, &mut rare);
            let all = values.iter().chain(rare.iter().map(|(_, value)| value));
            let norm: f64 = all.map(|&value| f64::from(value as f32).powi(2)).sum();
            packed.2.push(norm as f32);
            for (target, value) in target.iter_mut().zip(&values) {
                *target = *value as f32;
            }
            let rare = rare
                .into_iter()
                .map(|(index, value)| (index as u32, value as f32));
            packed.0.extend(rare);
            packed.1.push(packed.0.len());
        }
        Packed {
            matrix,
            rare: packed.0,
            rare_start: packed.1,
            norms: packed.2,
        }
    }

    pub(super) fn postings(&self, packed: &Packed) -> Postings {
        let mut postings = vec![Vec::new(); self.num_rare];
        for (row, number) in (0..packed.norms.len()).zip(0..) {
            for &(column, value) in packed.rare_of(row) {
                postings[column as usize].push((number, value));
            }
        }
        Postings(postings)
    }

    /// Returns the part of a lower bound of each row's squared distance that depends on the row's norm; the part that
    /// depends on the query is left out.
    pub(super) fn lower_norms(&self, packed: &Packed) -> Vec<f32> {
        let lower = |&norm: &f32| norm * (1.0 - self.error) - UNDERFLOW;
        packed.norms.iter().map(lower).collect()
    }

    /// Returns each row's share of the difference between the upper and the lower bound of a squared distance; the
    /// query's margin is the other share.
    pub(super) fn margins(&self, packed: &Packed) -> Vec<f32> {
        let margin = |&norm: &f32| 2.0 * (self.error * norm + UNDERFLOW);
        packed.norms.iter().map(margin).collect()
    }
}

impl Packed {
    fn rare_of(&self, row: usize) -> &[(u32, f32)] {
        &self.rare[self.rare_start[row]..self.rare_start[row + 1]]
    }
}

impl Postings {
    /// Subtracts twice the products with the rare values of a query from `tile`, which holds the rows from `first`
    /// on.
    pub(super) fn subtract_products(
        &self,
        queries: &Packed,
        query: usize,
        first: usize,
        tile: &mut [f32],
    ) {
        for &(column, value) in queries.rare_of(query) {
            let postings = &self.0[column as usize];
            let start = postings.partition_point(|&(row, _)| (row as usize) < first);
            for &(row, other) in &postings[start..] {
                let Some(sum) = tile.get_mut(row as usize - first) else {
                    break;
                };
                *sum -= 2.0 * value * other;
            }
        }
    }
}
