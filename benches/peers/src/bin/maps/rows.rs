//! Rows to map: stack2vec vectors of a forest.

#[path = "../../../../../ml/tests/support/mod.rs"]
mod support;

use callgrove_trees::Progress;
use callgrove_trees::dataset::{DenseRows, RowRef, Rows};
use callgrove_learn::stack2vec::{self, Corpus, Stack2vecParams};
use callgrove_trees::wl::{WlParams, relabel};

/// Returns the vectors of a forest in the JSON-lines format of the fixtures, each `copies` times; all but the first get
/// noise of 5 % of a column's standard deviation.
pub(crate) fn stack2vec_rows(
    path: &str,
    copies: usize,
) -> Result<Rows, Box<dyn std::error::Error>> {
    let (names, trees) = support::read_forest(path);
    let forest = support::forest(&names, &trees);
    let subtrees = relabel(&forest, WlParams::paper().check()?, Progress::none())?;
    let len = subtrees.vocabulary.len();
    let corpus = Corpus::from_bags(&subtrees.bags, len, |subtree| subtree.0);
    let params = Stack2vecParams::default().check()?;
    let rows = stack2vec::train(&corpus, &params, 1, Progress::none())?.rows()?;
    let rows = Rows::Dense(rows);
    if copies <= 1 {
        return Ok(rows);
    }
    Ok(Rows::Dense(shaken_copies(&rows, copies)?))
}

fn shaken_copies(rows: &Rows, copies: usize) -> Result<DenseRows, Box<dyn std::error::Error>> {
    let num_columns = rows.num_columns();
    let mut squares = vec![0.0; num_columns];
    let mut means = vec![0.0; num_columns];
    for row in 0..rows.len() {
        for (column, value) in rows.row(row).entries() {
            means[column] += value / rows.len() as f64;
            squares[column] += value * value / rows.len() as f64;
        }
    }
    let mut state = 1_u64;
    let mut values = Vec::new();
    for copy in 0..copies {
        for row in 0..rows.len() {
            let RowRef::Dense(row) = rows.row(row) else {
                return Err("stack2vec rows are dense".into());
            };
            for (column, value) in row.iter().enumerate() {
                // A linear congruential generator is good enough for uniform noise here.
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let noise = (state >> 33) as f64 / (1_u64 << 30) as f64 - 1.0;
                let deviation = (squares[column] - means[column] * means[column])
                    .max(0.0)
                    .sqrt();
                let size = if copy == 0 {
                    0.0
                } else {
                    0.05 * 1.73 * deviation
                };
                values.push(value + size * noise);
            }
        }
    }
    Ok(DenseRows::new(num_columns, values)?)
}
