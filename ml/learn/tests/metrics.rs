//! Areas under curves compared with scikit-learn.

use callgrove_learn::metrics::{precision_at, ranking_quality};
use callgrove_ml_tests::{fixture, number, numbers};

#[test]
fn areas_equal_those_of_scikit_learn() {
    let fixture = fixture("metrics.json");
    for case in fixture["cases"].as_array().unwrap() {
        let is_anomaly: Vec<bool> = numbers(&case["anomaly"]).iter().map(|&y| y > 0.5).collect();
        let quality = ranking_quality(&is_anomaly, &numbers(&case["score"])).unwrap();
        for (name, found) in [
            ("roc_auc", quality.roc_auc),
            ("average_precision", quality.average_precision),
            ("pr_auc_trapezoid", quality.pr_auc_trapezoid),
        ] {
            let diff = (found - number(&case[name])).abs();
            assert!(diff < 1e-12, "{} {name}: differs by {diff:e}", case["name"]);
        }
    }
}

#[test]
fn rankings_without_both_kinds_or_with_nan_have_no_quality() {
    assert_eq!(ranking_quality(&[true, true], &[1.0, 2.0]), None);
    assert_eq!(ranking_quality(&[false], &[1.0]), None);
    assert_eq!(ranking_quality(&[], &[]), None);
    assert_eq!(ranking_quality(&[true, false], &[1.0]), None);
    assert_eq!(ranking_quality(&[true, false], &[f64::NAN, 1.0]), None);
}

#[test]
fn precision_counts_ties_at_the_end_in_the_mean() {
    let is_anomaly = [true, false, true, false];
    let check = |anomaly: [f64; 4], n: usize, expected: Option<f64>| {
        let found = precision_at(&is_anomaly, &anomaly, n);
        let diff = found.zip(expected).map(|(a, b)| (a - b).abs());
        assert!(found.is_some() == expected.is_some() && diff.is_none_or(|diff| diff < 1e-15));
    };
    check([4.0, 3.0, 2.0, 1.0], 1, Some(1.0));
    check([4.0, 3.0, 2.0, 1.0], 2, Some(0.5));
    check([1.0, 1.0, 1.0, 1.0], 3, Some(0.5));
    check([2.0, 1.0, 1.0, 1.0], 2, Some(2.0 / 3.0));
    check([4.0, 3.0, 2.0, 1.0], 0, None);
    check([4.0, 3.0, 2.0, 1.0], 5, None);
    check([4.0, 3.0, f64::NAN, 1.0], 2, None);
}
