//! All nearest neighbours compared with the result of all pairs.

use callgrove_map::knn::{Neighbours, all_nearest, nearest_among};
use callgrove_trees::Progress;
use callgrove_trees::dataset::{DenseRows, RowRef, Rows, SparseRow, SparseRows};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn squared_distance(a: RowRef<'_>, b: RowRef<'_>, num_columns: usize) -> f64 {
    let (a, b) = (a.to_dense(num_columns), b.to_dense(num_columns));
    a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum()
}

/// Compares with all pairs; `skip_self` is for rows among themselves.
fn check(rows: &Rows, queries: &Rows, found: &Neighbours, k: usize, skip_self: bool) {
    let others = rows.len().saturating_sub(usize::from(skip_self));
    assert_eq!(found.k, k.min(others));
    if found.k == 0 {
        assert!(found.is_empty());
        return;
    }
    assert_eq!(found.len(), queries.len());
    let num_columns = rows.num_columns().max(queries.num_columns());
    for query in 0..queries.len() {
        let mut all: Vec<(f64, u32)> = (0..rows.len())
            .filter(|&row| !skip_self || row != query)
            .map(|row| {
                let squared = squared_distance(queries.row(query), rows.row(row), num_columns);
                (squared, row as u32)
            })
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (indices, distances) = found.of(query);
        for (place, (&row, &distance)) in indices.iter().zip(distances).enumerate() {
            let wanted = all[place].0.sqrt();
            assert!(
                (distance - wanted).abs() <= 1e-12 * wanted,
                "{query} {place}"
            );
            let is_tie = all.iter().any(|&(squared, other)| {
                other != row && (squared.sqrt() - wanted).abs() <= 1e-12 * wanted && squared > 0.0
            });
            assert!(is_tie || row == all[place].1, "{query} {place}");
        }
    }
}

fn blobs(num_rows: usize, num_columns: usize, spread: f64, offset: f64, seed: u64) -> Rows {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let values = (0..num_rows * num_columns).map(|place| {
        offset + f64::from((place / num_columns % 3) as u32) + spread * rng.random::<f64>()
    });
    Rows::Dense(DenseRows::new(num_columns, values.collect()).expect("finite"))
}

#[test]
fn dense_neighbours_are_those_of_all_pairs() {
    // More than one tile; then points so near to each other, and so far from the origin, that single precision cannot
    // distinguish them.
    for (num_rows, num_columns, spread, offset) in [
        (2_300, 5, 1.0, 0.0),
        (300, 40, 1e-6, 0.0),
        (300, 3, 1e-3, 1e7),
        (150, 9, 1.0, 1e120),
    ] {
        let rows = blobs(num_rows, num_columns, spread, offset, 1);
        let found = all_nearest(&rows, 7, Progress::none()).unwrap();
        check(&rows, &rows, &found, 7, true);
    }
}

#[test]
fn a_distant_outlier_does_not_change_the_result() {
    let mut values = vec![1e9; 4];
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    values.extend((0..800).map(|_| rng.random::<f64>()));
    let rows = Rows::Dense(DenseRows::new(4, values).unwrap());
    check(
        &rows,
        &rows,
        &all_nearest(&rows, 5, Progress::none()).unwrap(),
        5,
        true,
    );
}

#[test]
fn sparse_and_dense_rows_have_the_same_neighbours() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    // Column 0 is common, the others are rare; many rows are equal.
    let list: Vec<SparseRow> = (0..400)
        .map(|_| {
            let rare = rng.random_range(1..90_u32);
            SparseRow {
                columns: vec![0, rare],
                values: vec![
                    f64::from(rng.random_range(0..3_u32)),
                    f64::from(rare % 4) * 0.3,
                ],
            }
        })
        .collect();
    let sparse = Rows::Sparse(SparseRows::new(90, list).unwrap());
    let values = (0..400)
        .flat_map(|row| sparse.row(row).to_dense(90))
        .collect();
    let dense = Rows::Dense(DenseRows::new(90, values).unwrap());
    let found = all_nearest(&sparse, 12, Progress::none()).unwrap();
    check(&sparse, &sparse, &found, 12, true);
    let from_dense = all_nearest(&dense, 12, Progress::none()).unwrap();
    check(&dense, &dense, &from_dense, 12, true);
    let few = sparse.select(&[3, 99, 250]);
    let among = nearest_among(&sparse, &few, 12, Progress::none()).unwrap();
    check(&sparse, &few, &among, 12, false);
    let among = nearest_among(&dense, &few, 3, Progress::none()).unwrap();
    check(&dense, &few, &among, 3, false);
}

#[test]
fn degenerate_rows_have_defined_neighbours() {
    let dense = |values: Vec<f64>| Rows::Dense(DenseRows::new(1, values).unwrap());
    let none = all_nearest(&dense(Vec::new()), 3, Progress::none()).unwrap();
    assert!(none.is_empty());
    let one = all_nearest(&dense(vec![2.0]), 3, Progress::none()).unwrap();
    assert_eq!(one.k, 0);
    let equal = all_nearest(&dense(vec![2.0; 5]), 2, Progress::none()).unwrap();
    assert_eq!(equal.indices, [1, 2, 0, 2, 0, 1, 0, 1, 0, 1]);
    assert_eq!(equal.distances, [0.0; 10]);
    let empty_rows = (0..3).map(|_| SparseRow::default());
    let empty_rows = Rows::Sparse(SparseRows::new(0, empty_rows).unwrap());
    let found = all_nearest(&empty_rows, 1, Progress::none()).unwrap();
    assert_eq!(found.indices, [1, 0, 0]);
}

#[test]
fn the_search_can_be_cancelled() {
    let stop = |_| std::ops::ControlFlow::Break(());
    let rows = blobs(10, 2, 1.0, 0.0, 1);
    let found = all_nearest(&rows, 2, Progress::new(&stop));
    assert_eq!(found, Err(callgrove_trees::MlError::Cancelled));
}

proptest! {
    #[test]
    fn small_integers_with_many_ties(
        values in proptest::collection::vec(-2_i8..3, 0..120),
        k in 0_usize..9,
    ) {
        let whole = values.len() / 2 * 2;
        let values: Vec<f64> = values[..whole].iter().map(|&value| f64::from(value)).collect();
        let rows = Rows::Dense(DenseRows::new(2, values).unwrap());
        let found = all_nearest(&rows, k, Progress::none()).unwrap();
        // Sums of squares of small integers are exact, so ties are too.
        for query in 0..found.len() {
            let mut all: Vec<(f64, u32)> = (0..rows.len())
                .filter(|&row| row != query)
                .map(|row| (squared_distance(rows.row(query), rows.row(row), 2), row as u32))
                .collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let wanted: Vec<u32> = all[..found.k].iter().map(|&(_, row)| row).collect();
            prop_assert_eq!(found.of(query).0, &wanted[..]);
        }
    }
}
