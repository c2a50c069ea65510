//! The nearest neighbours of one row, by brute force.

use callgrove_trees::dataset::Rows;

/// Returns the `k` rows nearest to row `from`, without itself, nearest first; equally near rows in order of index.
/// Only rows for which `is_candidate` is true count; there may be fewer than `k`.
///
/// The result holds rows and Euclidean distances.
pub fn nearest(
    rows: &Rows,
    from: usize,
    k: usize,
    is_candidate: impl Fn(usize) -> bool,
) -> Vec<(usize, f64)> {
    let distances = rows.squared_distances(rows.row(from));
    let mut candidates: Vec<usize> = (0..rows.len())
        .filter(|&row| row != from && is_candidate(row))
        .collect();
    let nearer = |a: &usize, b: &usize| distances[*a].total_cmp(&distances[*b]).then(a.cmp(b));
    if k > 0 && candidates.len() > k {
        candidates.select_nth_unstable_by(k - 1, nearer);
    }
    candidates.truncate(k);
    candidates.sort_unstable_by(nearer);
    candidates
        .into_iter()
        .map(|row| (row, distances[row].sqrt()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgrove_trees::dataset::DenseRows;

    #[test]
    fn the_nearest_come_first_and_ties_in_order_of_index() {
        let rows = Rows::Dense(DenseRows::new(1, vec![0.0, 3.0, -1.0, 1.0, 9.0]).unwrap());
        assert_eq!(
            nearest(&rows, 0, 3, |_| true),
            [(2, 1.0), (3, 1.0), (1, 3.0)]
        );
        assert_eq!(nearest(&rows, 0, 1, |row| row != 2), [(3, 1.0)]);
        assert_eq!(nearest(&rows, 0, 9, |_| true).len(), 4);
        assert!(nearest(&rows, 0, 0, |_| true).is_empty());
    }
}
