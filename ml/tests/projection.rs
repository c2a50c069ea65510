//! Maps against numpy and scikit-learn.

mod support;

use callgrove_ml::Progress;
use callgrove_ml::dataset::{DenseRows, Rows};
use callgrove_ml::projection::{Map, MdsParams, landmark_mds, mds_with_landmarks, trustworthiness};
use serde_json::Value;
use support::{dense_rows, fixture, numbers};

fn points(value: &Value) -> Vec<[f64; 2]> {
    let rows = value.as_array().expect("points").iter().map(numbers);
    rows.map(|row| [row[0], row[1]]).collect()
}

/// Largest difference after each axis is turned to the same side.
fn diff_up_to_sign(map: &Map, expected: &[[f64; 2]]) -> f64 {
    let mut worst: f64 = 0.0;
    for axis in 0..2 {
        let product: f64 = map
            .points
            .iter()
            .zip(expected)
            .map(|(a, b)| a[axis] * b[axis])
            .sum();
        for (a, b) in map.points.iter().zip(expected) {
            worst = worst.max((a[axis] - product.signum() * b[axis]).abs());
        }
    }
    worst
}

#[test]
fn classical_scaling_equals_that_of_numpy() {
    let fixture = fixture("mds.json");
    let rows = dense_rows(&fixture["X"]);
    let all: Vec<usize> = (0..rows.len()).collect();
    let map = mds_with_landmarks(&rows, &all, Progress::none()).unwrap();
    let expected = &fixture["classical"];
    let diff = diff_up_to_sign(&map, &points(&expected["Y_upto_sign"]));
    assert!(diff < 1e-8, "points differ by {diff:e}");
    for (found, expected) in map
        .eigenvalues
        .iter()
        .zip(numbers(&expected["eigenvalues"]))
    {
        assert!((found - expected).abs() < 1e-8 * expected);
    }
}

#[test]
fn landmark_scaling_equals_that_of_numpy() {
    let fixture = fixture("mds.json");
    let rows = dense_rows(&fixture["X"]);
    let expected = &fixture["landmark"];
    let landmarks: Vec<usize> = numbers(&expected["landmarks"])
        .iter()
        .map(|&row| row as usize)
        .collect();
    let map = mds_with_landmarks(&rows, &landmarks, Progress::none()).unwrap();
    let diff = diff_up_to_sign(&map, &points(&expected["Y_upto_sign"]));
    assert!(diff < 1e-8, "points differ by {diff:e}");
}

#[test]
fn trustworthiness_equals_that_of_scikit_learn() {
    let fixture = fixture("mds.json");
    let rows = dense_rows(&fixture["X"]);
    let expected = numbers(&fixture["trustworthiness"]["values"]);
    let classical = points(&fixture["classical"]["Y_upto_sign"]);
    let landmark = points(&fixture["landmark"]["Y_upto_sign"]);
    for (map, k, place) in [
        (&classical, 5, 0),
        (&classical, 12, 1),
        (&landmark, 5, 4),
        (&landmark, 12, 5),
    ] {
        let found = trustworthiness(&rows, map, k).unwrap();
        assert!(
            (found - expected[place]).abs() < 1e-12,
            "{found} {}",
            expected[place]
        );
    }
}

#[test]
fn a_map_of_the_plane_keeps_all_distances() {
    let values: Vec<f64> = (0..200)
        .map(|place| (f64::from(place) * 1.7).sin() * 3.0)
        .collect();
    let rows = Rows::Dense(DenseRows::new(2, values).unwrap());
    let params = MdsParams { num_landmarks: 7 }.check().unwrap();
    let map = landmark_mds(&rows, params, 3, Progress::none()).unwrap();
    for a in 0..rows.len() {
        let truth = rows.squared_distances(rows.row(a));
        let p = map.points[a];
        for (q, truth) in map.points.iter().zip(&truth) {
            let found = (p[0] - q[0]).hypot(p[1] - q[1]);
            assert!((found - truth.sqrt()).abs() < 1e-6, "{p:?} {q:?}");
        }
    }
    for axis in 0..2 {
        let furthest = map
            .points
            .iter()
            .map(|point| point[axis])
            .max_by(|a, b| a.abs().total_cmp(&b.abs()));
        assert!(furthest.unwrap() > 0.0, "the sign of axis {axis} is fixed");
    }
    assert_eq!(
        map,
        landmark_mds(&rows, params, 3, Progress::none()).unwrap()
    );
}

#[test]
fn degenerate_rows_have_a_finite_map() {
    for values in [vec![1.0; 10], vec![2.5], (0..10).map(f64::from).collect()] {
        let rows = Rows::Dense(DenseRows::new(1, values).unwrap());
        let params = MdsParams::default().check().unwrap();
        let map = landmark_mds(&rows, params, 1, Progress::none()).unwrap();
        assert_eq!(map.points.len(), rows.len());
        assert!(map.points.iter().flatten().all(|value| value.is_finite()));
        assert!(
            map.points.iter().all(|point| point[1].abs() < 1e-6),
            "there is one dimension"
        );
    }
}

#[test]
fn settings_out_of_bounds_are_refused() {
    let error = MdsParams { num_landmarks: 2 }.check().unwrap_err();
    assert_eq!(error.to_string(), "num_landmarks must be 3 or more, not 2");
}
