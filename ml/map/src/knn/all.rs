//! The nearest neighbours of many rows at once.

use callgrove_model::Progress;
use ndarray::{Array2, s};
use rayon::prelude::*;

use super::candidates::Candidates;
use super::distance::squared_distance;
use super::packed::{Packed, PackedLayout, Postings};
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::fraction;

/// Number of queries of one task.
const TASK_QUERIES: usize = 256;
/// Number of rows that are compared with the queries in one product of matrices.
const TILE_ROWS: usize = 1_024;
/// Number of tasks between two reports of progress.
const WAVE_TASKS: usize = 32;

/// The nearest neighbours of each query: tables of shape [num_queries, k].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Neighbours {
    /// Number of neighbours of each query, at most one less than there are rows.
    pub k: usize,
    /// Rows, nearest first; equally near ones ascend.
    pub indices: Vec<u32>,
    /// Their Euclidean distances.
    pub distances: Vec<f64>,
}

impl Neighbours {
    /// Returns the number of queries; 0 if k is 0.
    pub fn len(&self) -> usize {
        self.indices.len().checked_div(self.k).unwrap_or(0)
    }

    /// Returns whether there are no neighbours.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Returns the neighbours of a query and their distances, nearest first.
    pub fn of(&self, query: usize) -> (&[u32], &[f64]) {
        let range = query * self.k..(query + 1) * self.k;
        (&self.indices[range.clone()], &self.distances[range])
    }
}

/// Returns the `k` rows nearest to each row, without the row itself: exactly the result of comparing all pairs in
/// double precision. With fewer than k + 1 rows, `k` is one less than their number.
///
/// Squared distances |x|² + |y|² − 2 x·y are computed in tiles, by products of matrices in single precision, of rows
/// shifted by their mean. A bound of their rounding error determines which rows may be among the nearest; for those
/// alone Σ (x − y)² is computed in double precision. So the result does not depend on the machine's matrix product,
/// nor on the number of threads. Equal rows are compared once. Columns that are zero in most sparse rows are
/// multiplied entry by entry.
///
/// Cost: rows² × columns multiplications at the speed of a matrix product; memory for the rows in
/// single precision and a tile of 1 MB per thread.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn all_nearest(rows: &Rows, k: usize, progress: Progress<'_>) -> Result<Neighbours> {
    let first = rows.first_equal();
    let distinct: Vec<usize> = (0..rows.len()).filter(|&row| first[row] == row).collect();
    if distinct.len() == rows.len() {
        return Search::new(rows, rows, true, k).run(progress);
    }
    let selected = rows.select(&distinct);
    // The k nearest others among the distinct rows represent k rows or more, and the first of each group of equal
    // rows represents the smallest index.
    let found = Search::new(&selected, &selected, true, k).run(progress)?;
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); rows.len()];
    for (row, &first) in (0..).zip(&first) {
        members[first].push(row);
    }
    let mut all = Neighbours {
        k: k.min(rows.len().saturating_sub(1)),
        ..Neighbours::default()
    };
    let mut place = vec![0; rows.len()];
    for (at, &row) in distinct.iter().enumerate() {
        place[row] = at;
    }
    let mut list: Vec<(f64, u32)> = Vec::new();
    for (row, &first) in first.iter().enumerate() {
        list.clear();
        let equal = members[first]
            .iter()
            .filter(|&&other| other as usize != row);
        list.extend(equal.take(k).map(|&other| (0.0, other)));
        if found.k > 0 {
            let (others, distances) = found.of(place[first]);
            let mut last = 0.0;
            for (&other, &distance) in others.iter().zip(distances) {
                if list.len() >= all.k && distance > last {
                    break;
                }
                last = distance;
                let members = &members[distinct[other as usize]];
                list.extend(members.iter().take(k).map(|&member| (distance, member)));
            }
        }
        list.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all.indices
            .extend(list[..all.k].iter().map(|&(_, row)| row));
        all.distances
            .extend(list[..all.k].iter().map(|&(distance, _)| distance));
    }
    Ok(all)
}

/// Returns the `k` of `rows` nearest to each of `queries`, which are other rows. Otherwise as [`all_nearest`];
/// columns that only one side has count as zero on the other.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn nearest_among(
    rows: &Rows,
    queries: &Rows,
    k: usize,
    progress: Progress<'_>,
) -> Result<Neighbours> {
    Search::new(rows, queries, false, k).run(progress)
}

/// The data that all tasks share.
struct Search<'a> {
    rows: &'a Rows,
    queries: &'a Rows,
    is_among_themselves: bool,
    k: usize,
    packed: Packed,
    packed_queries: Option<Packed>,
    postings: Postings,
    lower_norms: Vec<f32>,
    margins: Vec<f32>,
    query_margins: Vec<f32>,
}

impl<'a> Search<'a> {
    fn new(rows: &'a Rows, queries: &'a Rows, is_among_themselves: bool, k: usize) -> Self {
        let layout = PackedLayout::new(rows, queries);
        let packed = layout.pack(rows);
        let packed_queries = (!is_among_themselves).then(|| layout.pack(queries));
        let others = rows.len() - usize::from(is_among_themselves && !rows.is_empty());
        Self {
            rows,
            queries,
            is_among_themselves,
            k: k.min(others),
            postings: layout.postings(&packed),
            lower_norms: layout.lower_norms(&packed),
            margins: layout.margins(&packed),
            query_margins: layout.margins(packed_queries.as_ref().unwrap_or(&packed)),
            packed,
            packed_queries,
        }
    }

    fn run(&self, progress: Progress<'_>) -> Result<Neighbours> {
        let mut found = Neighbours {
            k: self.k,
            ..Neighbours::default()
        };
        let num_queries = if self.k == 0 { 0 } else { self.queries.len() };
        let starts: Vec<usize> = (0..num_queries).step_by(TASK_QUERIES).collect();
        for (wave, tasks) in starts.chunks(WAVE_TASKS).enumerate() {
            progress.at(fraction(wave * WAVE_TASKS, starts.len()))?;
            let lists: Vec<Vec<(f64, u32)>> = tasks
                .par_iter()
                .map(|&start| self.task(start, (start + TASK_QUERIES).min(num_queries)))
                .collect();
            for (distance, row) in lists.into_iter().flatten() {
                found.indices.push(row);
                found.distances.push(distance);
            }
        }
        progress.at(1.0)?;
        Ok(found)
    }

    /// Returns distances and rows of the nearest of some queries, one query after another.
    fn task(&self, start: usize, end: usize) -> Vec<(f64, u32)> {
        let queries = self.packed_queries.as_ref().unwrap_or(&self.packed);
        let wanted = queries.matrix.slice(s![start..end, ..]);
        let mut candidates: Vec<Candidates> = (start..end)
            .map(|query| Candidates::new(self.k, self.query_margins[query]))
            .collect();
        let mut tile = Array2::<f32>::zeros((end - start, TILE_ROWS.min(self.rows.len())));
        for first in (0..self.rows.len()).step_by(TILE_ROWS) {
            let last = (first + TILE_ROWS).min(self.rows.len());
            let lower_norms = &self.lower_norms[first..last];
            let mut tile = tile.slice_mut(s![.., ..last - first]);
            for mut bounds in tile.outer_iter_mut() {
                let bounds = bounds
                    .as_slice_mut()
                    .expect("rows of a tile are contiguous");
                bounds.copy_from_slice(lower_norms);
            }
            let matrix = self.packed.matrix.slice(s![first..last, ..]);
            ndarray::linalg::general_mat_mul(-2.0, &wanted, &matrix.t(), 1.0, &mut tile);
            for (place, mut bounds) in tile.outer_iter_mut().enumerate() {
                let bounds = bounds
                    .as_slice_mut()
                    .expect("rows of a tile are contiguous");
                let query = start + place;
                self.postings
                    .subtract_products(queries, query, first, bounds);
                if self.is_among_themselves && (first..last).contains(&query) {
                    bounds[query - first] = f32::INFINITY;
                }
                candidates[place].add(bounds, first, &self.margins);
            }
        }
        let mut found = Vec::with_capacity((end - start) * self.k);
        for (place, candidates) in candidates.into_iter().enumerate() {
            let query = self.queries.row(start + place);
            let mut exact: Vec<(f64, u32)> = candidates
                .finish(&self.margins)
                .map(|row| (squared_distance(query, self.rows.row(row as usize)), row))
                .collect();
            exact.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let nearest = exact.iter().take(self.k);
            found.extend(nearest.map(|&(squared, row)| (squared.sqrt(), row)));
        }
        found
    }
}
