//! The rows that the paper calls "Time": the properties of an execution without its call stacks.

use callgrove_model::{ExecIdx, Forest, TreeIdx};

use callgrove_trees::dataset::{DenseRows, Rows};
use callgrove_trees::error::Result;
use callgrove_trees::real::Real;

/// Number of columns.
const NUM_COLUMNS: usize = 4;

/// Returns duration, time of exit, number of messages (sent and received within the execution) and rank of each tree,
/// section 6.4.1 of the paper; shape [num_trees, 4].
///
/// Each column is standardised: mean 0 and (population) standard deviation 1. A constant column is 0.
///
/// # Errors
/// [`callgrove_trees::MlError::EmptyForest`].
pub fn time_rows(forest: &Forest) -> Result<Rows> {
    if forest.is_empty() {
        return Err(callgrove_trees::MlError::EmptyForest);
    }
    let messages = message_counts(forest);
    let trees = || (0..forest.len()).map(TreeIdx::from_index);
    // Nanoseconds since 1970 would lose their last digits as floating-point numbers.
    let first_exit = trees().map(|tree| forest.tree(tree).exit()).min();
    let mut values: Vec<f64> = Vec::with_capacity(forest.len() * NUM_COLUMNS);
    for tree in trees() {
        let shape = forest.tree(tree);
        let exit = first_exit.map_or(0, |first| shape.exit().since(first).0);
        values.extend([
            shape.duration().0.real(),
            exit.real(),
            messages[tree.index()].real(),
            f64::from(forest.code(tree).rank.0),
        ]);
    }
    standardise(&mut values, NUM_COLUMNS);
    Ok(Rows::Dense(DenseRows::new(NUM_COLUMNS, values)?))
}

/// Returns the number of messages within each tree.
fn message_counts(forest: &Forest) -> Vec<u64> {
    // Prefix sums of the messages of each lane, computed at the first tree of the lane.
    let mut before: Vec<Vec<u64>> = vec![Vec::new(); forest.trace().lanes.len()];
    let trees = forest.trees().iter().enumerate();
    trees
        .map(|(index, tree)| {
            let before = &mut before[tree.root.lane.index()];
            if before.is_empty() {
                let lane = forest.trace().lane(tree.root.lane);
                before.resize(lane.executions.len() + 1, 0);
                for exec in lane.comms.exec.iter().flatten() {
                    before[ExecIdx::from(*exec).index() + 1] += 1;
                }
                for row in 1..before.len() {
                    before[row] += before[row - 1];
                }
            }
            let rows = forest.tree(TreeIdx::from_index(index)).rows();
            before[rows.end] - before[rows.start]
        })
        .collect()
}

fn standardise(values: &mut [f64], num_columns: usize) {
    let count = (values.len() / num_columns).real();
    for column in 0..num_columns {
        let each = || values.iter().skip(column).step_by(num_columns);
        let mean = each().sum::<f64>() / count;
        let deviation = (each().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        for value in values.iter_mut().skip(column).step_by(num_columns) {
            *value = if deviation > 0.0 {
                (*value - mean) / deviation
            } else {
                0.0
            };
        }
    }
}
