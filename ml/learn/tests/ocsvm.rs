//! The one-class SVM compared with scikit-learn and the exact solutions of the fixtures, and its own laws.

use callgrove_learn::ocsvm::{Ocsvm, OcsvmParams, Trained, train};
use callgrove_ml_tests::{dense_rows, fixture, max_abs_diff, number, numbers};
use callgrove_trees::dataset::Rows;
use callgrove_trees::{MlError, Progress};
use serde_json::Value;

const FILES: [&str; 6] = [
    "ocsvm_n60_d2.json",
    "ocsvm_n60_d16.json",
    "ocsvm_n300_d2.json",
    "ocsvm_n300_d16.json",
    "ocsvm_n1500_d2.json",
    "ocsvm_n1500_d16.json",
];

fn solve(
    rows: &Rows,
    weights: &[f64],
    gamma: f64,
    c: f64,
    warm: Option<&Trained>,
) -> Result<Trained, MlError> {
    let params = OcsvmParams::new(gamma, c).check()?;
    train(rows, weights, &params, warm, Progress::none())
}

fn for_each_case(check: impl Fn(&str, &Rows, &Value, &Trained)) {
    for file in FILES {
        let fixture = fixture(file);
        let rows = dense_rows(&fixture["X"]);
        for case in fixture["cases"].as_array().expect("cases") {
            let weights = numbers(&case["u"]);
            let (gamma, c) = (number(&case["gamma"]), number(&case["C"]));
            let trained = solve(&rows, &weights, gamma, c, None).expect("it is feasible");
            let name = format!("{file} gamma {gamma} C {c} {}", case["weights_kind"]);
            check(&name, &rows, case, &trained);
        }
    }
}

#[test]
fn scores_rho_and_alpha_equal_the_exact_solutions() {
    for_each_case(|name, rows, case, trained| {
        let exact = &case["exact"];
        let score_diff = max_abs_diff(trained.scores(), &numbers(&exact["score"]));
        assert!(
            score_diff < 1e-10,
            "{name}: scores differ by {score_diff:e}"
        );
        let rho_diff = (trained.rho() - number(&exact["rho"])).abs();
        assert!(rho_diff < 1e-10, "{name}: rho differs by {rho_diff:e}");
        let mut alpha = vec![0.0; rows.len()];
        for (row, value) in numbers(&exact["support"])
            .iter()
            .zip(numbers(&exact["alpha"]))
        {
            alpha[*row as usize] = value;
        }
        let alpha_diff = max_abs_diff(trained.alpha(), &alpha);
        assert!(alpha_diff < 1e-8, "{name}: alpha differs by {alpha_diff:e}");
    });
}

#[test]
fn scores_equal_those_of_scikit_learn_within_its_precision() {
    for_each_case(|name, _, case, trained| {
        let c = number(&case["C"]);
        let decision: Vec<f64> = numbers(&case["sklearn"]["decision"])
            .iter()
            .map(|value| value / c)
            .collect();
        let diff = max_abs_diff(trained.scores(), &decision);
        assert!(diff < 5e-8, "{name}: scores differ by {diff:e}");
    });
}

#[test]
fn the_model_scores_training_rows_as_the_training_did() {
    for_each_case(|name, rows, _, trained| {
        let model = trained.model(rows);
        let scores = model.scores(rows, Progress::none()).unwrap();
        assert_eq!(scores, trained.scores(), "{name}");
    });
}

#[test]
fn a_model_survives_json_bit_by_bit() {
    let fixture = fixture("ocsvm_n60_d2.json");
    let rows = dense_rows(&fixture["X"]);
    let model = solve(&rows, &[1.0; 60], 0.5, 6.0, None)
        .unwrap()
        .model(&rows);
    let json = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<Ocsvm>(&json).unwrap(), model);
}

#[test]
fn edge_cases_give_the_exact_answer_or_a_typed_error() {
    let fixture = fixture("ocsvm_edge.json");
    for case in fixture["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let rows = dense_rows(&case["X"]);
        let weights = numbers(&case["u"]);
        let (gamma, c) = (number(&case["gamma"]), number(&case["C"]));
        let solved = solve(&rows, &weights, gamma, c, None);
        match name {
            "all_zero_weights" => assert_eq!(solved.unwrap_err(), MlError::NoPositiveWeight),
            "sum_u_below_C" => {
                assert!(matches!(solved.unwrap_err(), MlError::Infeasible { .. }));
            }
            _ => {
                let trained = solved.unwrap();
                let diff = max_abs_diff(trained.scores(), &numbers(&case["exact"]["score"]));
                assert!(diff < 1e-9, "{name}: scores differ by {diff:e}");
                let rho_diff = (trained.rho() - number(&case["exact"]["rho"])).abs();
                assert!(rho_diff < 1e-9, "{name}: rho differs by {rho_diff:e}");
                let sum: f64 = trained.alpha().iter().sum();
                assert!((sum - 1.0).abs() < 1e-12, "{name}: alpha sums to {sum}");
            }
        }
    }
}

#[test]
fn refuses_invalid_weights() {
    let rows = dense_rows(&serde_json::json!([[0.0], [1.0], [2.0]]));
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let error = solve(&rows, &[1.0, bad, 1.0], 1.0, 1.0, None).unwrap_err();
        let what = "the weight";
        assert_eq!(error, MlError::BadNumber { what, row: 1 });
    }
    assert!(matches!(
        solve(&rows, &[1.0], 1.0, 1.0, None).unwrap_err(),
        MlError::LengthMismatch { .. }
    ));
}

#[test]
fn warm_and_cold_starts_agree_bit_by_bit() {
    for file in [
        "ocsvm_n300_d16.json",
        "ocsvm_n1500_d16.json",
        "ocsvm_n1500_d2.json",
    ] {
        let fixture = fixture(file);
        let rows = dense_rows(&fixture["X"]);
        let n = rows.len();
        let c = 0.02 * n as f64;
        for gamma in [0.01, 0.2] {
            let mut weights = vec![1.0; n];
            let mut warm = solve(&rows, &weights, gamma, c, None).unwrap();
            for step in 0..12 {
                let lowest = (0..n)
                    .filter(|&row| weights[row].to_bits() == 1.0_f64.to_bits())
                    .min_by(|&a, &b| warm.scores()[a].total_cmp(&warm.scores()[b]))
                    .unwrap();
                weights[lowest] = if step % 2 == 0 { 0.0 } else { 1.5 * c };
                warm = solve(&rows, &weights, gamma, c, Some(&warm)).unwrap();
                let cold = solve(&rows, &weights, gamma, c, None).unwrap();
                assert_eq!(
                    warm.scores(),
                    cold.scores(),
                    "{file} gamma {gamma} step {step}"
                );
                assert_eq!(warm.rho().to_bits(), cold.rho().to_bits());
            }
        }
    }
}

#[test]
fn a_labelled_normal_row_gets_no_negative_score() {
    let fixture = fixture("ocsvm_n300_d2.json");
    let rows = dense_rows(&fixture["X"]);
    let c = 30.0;
    let before = solve(&rows, &[1.0; 300], 0.5, c, None).unwrap();
    let lowest = (0..300)
        .min_by(|&a, &b| before.scores()[a].total_cmp(&before.scores()[b]))
        .unwrap();
    assert!(
        before.scores()[lowest] < -1e-3,
        "{}",
        before.scores()[lowest]
    );
    let mut weights = vec![1.0; 300];
    weights[lowest] = 1.5 * c;
    let after = solve(&rows, &weights, 0.5, c, Some(&before)).unwrap();
    assert!(after.scores()[lowest] > -1e-12);
}

#[test]
fn a_cache_of_two_rows_gives_the_same_result() {
    let fixture = fixture("ocsvm_n300_d2.json");
    let rows = dense_rows(&fixture["X"]);
    let mut params = OcsvmParams::new(0.5, 30.0);
    let cached = train(
        &rows,
        &[1.0; 300],
        &params.check().unwrap(),
        None,
        Progress::none(),
    );
    params.cache_bytes = 0;
    let uncached = train(
        &rows,
        &[1.0; 300],
        &params.check().unwrap(),
        None,
        Progress::none(),
    );
    assert_eq!(cached.unwrap().scores(), uncached.unwrap().scores());
}

#[test]
fn cancelling_stops_the_training() {
    let fixture = fixture("ocsvm_n300_d2.json");
    let rows = dense_rows(&fixture["X"]);
    let params = OcsvmParams::new(0.5, 30.0).check().unwrap();
    let stop = |_| std::ops::ControlFlow::Break(());
    let found = train(&rows, &[1.0; 300], &params, None, Progress::new(&stop));
    assert_eq!(found.unwrap_err(), MlError::Cancelled);
}

mod laws {
    use callgrove_trees::dataset::{DenseRows, Rows};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn scores_follow_a_permutation_of_the_rows(
            points in prop::collection::vec((-3.0..3.0_f64, -3.0..3.0_f64, 0.0..2.0_f64), 8..40),
            rotation in 1_usize..8,
        ) {
            let c = 0.2 * points.len() as f64;
            prop_assume!(points.iter().map(|point| point.2).sum::<f64>() > c);
            let solve = |points: &[(f64, f64, f64)]| {
                let values = points.iter().flat_map(|point| [point.0, point.1]).collect();
                let rows = Rows::Dense(DenseRows::new(2, values).unwrap());
                let weights: Vec<f64> = points.iter().map(|point| point.2).collect();
                super::solve(&rows, &weights, 0.7, c, None).unwrap()
            };
            let plain = solve(&points);
            let mut rotated_points = points.clone();
            rotated_points.rotate_left(rotation);
            let rotated = solve(&rotated_points);
            let mut expected = plain.scores().to_vec();
            expected.rotate_left(rotation);
            prop_assert!(super::max_abs_diff(rotated.scores(), &expected) < 1e-10);
            // The weighted nu-property.
            let outliers: f64 = plain
                .scores()
                .iter()
                .zip(&points)
                .filter(|(score, _)| **score < -1e-9)
                .map(|(_, point)| point.2)
                .sum();
            prop_assert!(outliers <= c + 1e-9);
        }
    }
}
