//! The one-class SVM on rows without weights, compared with linfa-svm, and retrained after one label.

use std::hint::black_box;

use callgrove_benches::clustered_rows;
use callgrove_learn::ocsvm::{OcsvmParams, Trained, ValidOcsvmParams, train};
use callgrove_trees::Progress;
use callgrove_trees::dataset::{RowRef, Rows};
use criterion::{Criterion, criterion_group, criterion_main};
use linfa::prelude::*;
use linfa_svm::Svm;
use ndarray::Array2;

const NU: f64 = 0.02;

fn problem(num_rows: usize, num_columns: usize) -> (Rows, ValidOcsvmParams) {
    let rows = clustered_rows(num_rows, num_columns, 1).expect("drawn numbers are finite");
    let gamma = 1.0 / rows.mean_squared_distance();
    let params = OcsvmParams::new(gamma, NU * num_rows as f64).check();
    (rows, params.expect("they are valid"))
}

fn solve(
    rows: &Rows,
    weights: &[f64],
    params: &ValidOcsvmParams,
    warm: Option<&Trained>,
) -> Trained {
    train(rows, weights, params, warm, Progress::none()).expect("it is feasible")
}

fn cold_and_warm(criterion: &mut Criterion) {
    for (num_rows, num_columns) in [
        (5_792, 24),
        (5_792, 128),
        (5_792, 900),
        (20_000, 128),
        (50_000, 128),
    ] {
        let (rows, params) = problem(num_rows, num_columns);
        let weights = vec![1.0; num_rows];
        let mut group = criterion.benchmark_group(format!("ocsvm {num_rows} x {num_columns}"));
        group.sample_size(10);
        group.bench_function("cold", |bencher| {
            bencher.iter(|| solve(black_box(&rows), &weights, &params, None));
        });
        let plain = solve(&rows, &weights, &params, None);
        let lowest = (0..num_rows).min_by(|&a, &b| plain.scores()[a].total_cmp(&plain.scores()[b]));
        let lowest = lowest.expect("there are rows");
        for (name, weight) in [("abnormal", 0.0), ("normal", 1.5 * params.c())] {
            let mut labelled = weights.clone();
            labelled[lowest] = weight;
            group.bench_function(format!("one label {name}"), |bencher| {
                bencher.iter(|| solve(&rows, &labelled, &params, Some(&plain)));
            });
        }
        group.finish();
    }
}

/// The same problem with C in libsvm's scale: its tolerance of 1e-3 · C equals 1e-3 / C here.
fn linfa(criterion: &mut Criterion) {
    let (rows, params) = problem(5_792, 24);
    let values = (0..rows.len()).flat_map(|row| match rows.row(row) {
        RowRef::Dense(values) => values.to_vec(),
        RowRef::Sparse(..) => Vec::new(),
    });
    let matrix = Array2::from_shape_vec((rows.len(), rows.num_columns()), values.collect())
        .expect("the rows are dense");
    let dataset = Dataset::from(matrix).with_targets(ndarray::Array1::from_elem(rows.len(), ()));
    let mut group = criterion.benchmark_group("ocsvm 5792 x 24");
    group.sample_size(10);
    group.bench_function("linfa-svm, cold", |bencher| {
        bencher.iter(|| {
            Svm::<f64, linfa::dataset::Pr>::params()
                .nu_weight(NU)
                .gaussian_kernel(1.0 / params.gamma())
                .eps(1e-3)
                .fit(black_box(&dataset))
                .expect("it is feasible")
        });
    });
    group.finish();
}

criterion_group!(benches, cold_and_warm, linfa);
criterion_main!(benches);
