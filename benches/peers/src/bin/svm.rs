//! The one-class SVM without weights: CPU time compared with libsvm-rs, and the difference of the scores.

use callgrove_benches::clustered_rows;
use callgrove_trees::Progress;
use callgrove_trees::dataset::{RowRef, Rows};
use callgrove_learn::ocsvm::{OcsvmParams, train};
use cpu_time::ProcessTime;
use libsvm_rs::predict::predict_values;
use libsvm_rs::train::svm_train;
use libsvm_rs::{KernelType, SvmNode, SvmParameter, SvmProblem, SvmType};

const NU: f64 = 0.02;
/// Number of rows whose scores are compared.
const NUM_COMPARED: usize = 500;

fn main() {
    for (num_rows, num_columns) in [(5_792, 24), (5_792, 128), (20_000, 128)] {
        let rows = clustered_rows(num_rows, num_columns, 1).expect("drawn numbers are finite");
        compare(&rows);
    }
}

fn compare(rows: &Rows) {
    let num_rows = rows.len();
    let c = NU * num_rows as f64;
    let gamma = 1.0 / rows.mean_squared_distance();
    let params = OcsvmParams::new(gamma, c).check().expect("they are valid");
    let start = ProcessTime::now();
    let ours = train(rows, &vec![1.0; num_rows], &params, None, Progress::none());
    let our_time = start.elapsed();
    let ours = ours.expect("it is feasible");

    let nodes = |row: usize| match rows.row(row) {
        RowRef::Dense(values) => (1..)
            .zip(values)
            .map(|(index, &value)| SvmNode { index, value })
            .collect(),
        RowRef::Sparse(..) => Vec::new(),
    };
    let problem = SvmProblem {
        labels: vec![1.0; num_rows],
        instances: (0..num_rows).map(nodes).collect(),
    };
    let settings = SvmParameter {
        svm_type: SvmType::OneClass,
        kernel_type: KernelType::Rbf,
        gamma,
        nu: NU,
        eps: 1e-3,
        cache_size: 256.0,
        ..SvmParameter::default()
    };
    let start = ProcessTime::now();
    let model = svm_train(&problem, &settings);
    let their_time = start.elapsed();
    let mut worst = 0.0_f64;
    for row in (0..num_rows).step_by((num_rows / NUM_COMPARED).max(1)) {
        let mut decision = [0.0];
        predict_values(&model, &problem.instances[row], &mut decision);
        worst = worst.max((decision[0] / c - ours.scores()[row]).abs());
    }
    println!(
        "{num_rows} x {}: ours with exact scores {our_time:.1?}, libsvm-rs without scores {their_time:.1?}, \
         scores differ by at most {worst:.1e}",
        rows.num_columns()
    );
}
