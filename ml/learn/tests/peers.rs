//! The unweighted one-class SVM compared with linfa-svm.

use callgrove_learn::ocsvm::{OcsvmParams, train};
use callgrove_ml_tests::{fixture, max_abs_diff, number, numbers};
use callgrove_trees::Progress;
use callgrove_trees::dataset::{DenseRows, Rows};
use linfa::prelude::*;
use linfa_svm::Svm;
use ndarray::Array2;

/// linfa-svm solves in the scale of libsvm (0 ≤ α ≤ 1, Σ α = ν n), so its scores are C = ν n times
/// ours. It computes in double precision and stops at the tolerance it is given.
#[test]
fn scores_equal_those_of_linfa_within_its_tolerance() {
    for file in ["ocsvm_n60_d2.json", "ocsvm_n300_d16.json"] {
        let fixture = fixture(file);
        let points: Vec<Vec<f64>> = fixture["X"]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect();
        let (num_rows, num_columns) = (points.len(), points[0].len());
        let matrix = Array2::from_shape_vec((num_rows, num_columns), points.concat()).unwrap();
        let rows = Rows::Dense(DenseRows::new(num_columns, points.concat()).unwrap());
        for case in fixture["cases"].as_array().unwrap() {
            if case["weights_kind"] != "ones" {
                continue;
            }
            let (gamma, c) = (number(&case["gamma"]), number(&case["C"]));
            let params = OcsvmParams::new(gamma, c).check().unwrap();
            let ours = train(&rows, &vec![1.0; num_rows], &params, None, Progress::none()).unwrap();
            let dataset = Dataset::from(matrix.clone())
                .with_targets(ndarray::Array1::from_elem(num_rows, ()));
            let theirs = Svm::<f64, linfa::dataset::Pr>::params()
                .nu_weight(c / num_rows as f64)
                .gaussian_kernel(1.0 / gamma)
                .eps(1e-9)
                .fit(&dataset)
                .unwrap();
            let theirs: Vec<f64> = matrix
                .outer_iter()
                .map(|row| (theirs.weighted_sum(&row) - theirs.rho) / c)
                .collect();
            let diff = max_abs_diff(ours.scores(), &theirs);
            assert!(diff < 1e-6, "{file} gamma {gamma} C {c}: {diff:e}");
        }
    }
}
