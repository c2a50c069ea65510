//! Maps compared with numpy and scikit-learn.

use callgrove_map::projection::{
    Map, MdsParams, Smacof, kruskal_stress, landmark_mds, mds_with_landmarks, mds_with_pivots,
    neighbours_preserved, pivot_mds, trustworthiness, trustworthiness_sampled,
};
use callgrove_ml_tests::{dense_rows, fixture, max_abs_diff, number, numbers};
use callgrove_trees::Progress;
use callgrove_trees::dataset::{DenseRows, Rows};
use serde_json::Value;

fn points(value: &Value) -> Vec<[f64; 2]> {
    let rows = value.as_array().expect("points").iter().map(numbers);
    rows.map(|row| [row[0], row[1]]).collect()
}

/// Returns the largest difference after each axis is turned to the same side.
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
fn all_rows_as_pivots_give_classical_scaling() {
    let fixture = fixture("mds.json");
    let rows = dense_rows(&fixture["X"]);
    let all: Vec<usize> = (0..rows.len()).collect();
    let map = mds_with_pivots(&rows, &all, Progress::none()).unwrap();
    let expected = &fixture["classical"];
    let diff = diff_up_to_sign(&map, &points(&expected["Y_upto_sign"]));
    assert!(diff < 1e-8, "points differ by {diff:e}");
    let eigenvalues = numbers(&expected["eigenvalues"]);
    for (found, expected) in map.eigenvalues.iter().zip(eigenvalues) {
        assert!((found - expected).abs() < 1e-8 * expected);
    }
}

#[test]
fn a_few_pivots_are_nearly_as_good_as_all_rows() {
    let fixture = fixture("mds.json");
    let rows = dense_rows(&fixture["X"]);
    let classical = points(&fixture["classical"]["Y_upto_sign"]);
    let wanted = kruskal_stress(&rows, &classical, rows.len()).unwrap();
    let params = MdsParams { num_landmarks: 25 }.check().unwrap();
    for seed in 0..5 {
        let map = pivot_mds(&rows, params, seed, Progress::none()).unwrap();
        let found = kruskal_stress(&rows, &map.points, rows.len()).unwrap();
        assert!(found < 1.1 * wanted, "{found} {wanted}");
        let again = pivot_mds(&rows, params, seed, Progress::none()).unwrap();
        assert_eq!(map, again);
        // The lengths of the axes are those of classical scaling.
        let length = |points: &[[f64; 2]]| {
            points
                .iter()
                .map(|p| p[0] * p[0] + p[1] * p[1])
                .sum::<f64>()
        };
        assert!((length(&map.points) / length(&classical) - 1.0).abs() < 0.2);
    }
}

#[test]
fn stress_majorisation_follows_the_reference() {
    let fixture = fixture("mds.json");
    let rows = dense_rows(&fixture["X"]);
    let expected = &fixture["smacof"];
    let start = points(&fixture["smacof_init"]);
    let mut map = Smacof::new(&rows, start, Progress::none()).unwrap();
    let mut done = 0;
    let ats = numbers(&expected["at"]);
    for (at, stress) in ats.iter().zip(numbers(&expected["stress_after"])) {
        let found = map.step(*at as usize - done, Progress::none()).unwrap();
        done = *at as usize;
        let tolerance = if done <= 100 { 1e-9 } else { 1e-6 };
        assert!(
            (found / stress - 1.0).abs() < tolerance,
            "{found} {stress} after {done}"
        );
        if done == 10 {
            let wanted = points(&expected["Y_after_10"]).concat();
            assert!(max_abs_diff(&map.points().concat(), &wanted) < 1e-9);
        }
    }
    let classical = points(&fixture["classical"]["Y_upto_sign"]);
    let mut map = Smacof::new(&rows, classical, Progress::none()).unwrap();
    let raw = number(&fixture["classical"]["raw_stress"]);
    assert!((map.stress() / raw - 1.0).abs() < 1e-9);
    let found = map.step(300, Progress::none()).unwrap();
    let wanted = number(&expected["from_classical_stress_300"]);
    assert!((found / wanted - 1.0).abs() < 1e-6, "{found} {wanted}");
}

/// Returns points on a circle in space, too many for double precision.
fn circle(num_rows: usize) -> Rows {
    let values = (0..num_rows).flat_map(|row| {
        let angle = row as f64 * 2.4;
        [angle.cos(), angle.sin(), 0.1 * (7.0 * angle).cos()]
    });
    Rows::Dense(DenseRows::new(3, values.collect()).expect("finite"))
}

#[test]
fn stress_falls_with_each_step_for_any_number_of_threads() {
    let rows = circle(2_100);
    let run = |num_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(num_threads)
            .build();
        pool.expect("threads").install(|| {
            let start = rows.squared_distances(rows.row(0));
            let start = start
                .iter()
                .enumerate()
                .map(|(row, &d)| [d, (row % 7) as f64]);
            let mut map = Smacof::new(&rows, start.collect(), Progress::none()).unwrap();
            let mut stresses = vec![map.stress()];
            for _ in 0..5 {
                stresses.push(map.step(1, Progress::none()).unwrap());
            }
            (stresses, map.points().to_vec())
        })
    };
    let (stresses, points) = run(1);
    assert!(
        stresses.windows(2).all(|pair| pair[1] < pair[0]),
        "{stresses:?}"
    );
    assert_eq!((stresses, points), run(3));
}

#[test]
fn stress_majorisation_refuses_invalid_input() {
    let many = Rows::Dense(DenseRows::new(1, vec![0.0; 8_193]).unwrap());
    let refused = Smacof::new(&many, vec![[0.0; 2]; 8_193], Progress::none()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "stress majorisation takes at most 8192 rows, but 8193 were given"
    );
    let rows = circle(3);
    assert!(Smacof::new(&rows, vec![[0.0; 2]; 2], Progress::none()).is_err());
    assert!(Smacof::new(&rows, vec![[f64::INFINITY; 2]; 3], Progress::none()).is_err());
    let stop = |_| std::ops::ControlFlow::Break(());
    assert!(Smacof::new(&rows, vec![[0.0; 2]; 3], Progress::new(&stop)).is_err());
    // Points at the same place do not attract each other, whatever the rows are.
    let mut map = Smacof::new(&rows, vec![[1.0; 2]; 3], Progress::none()).unwrap();
    map.step(2, Progress::none()).unwrap();
    assert_eq!(map.points(), [[0.0; 2]; 3]);
    let none = Rows::Dense(DenseRows::new(1, Vec::new()).unwrap());
    let mut map = Smacof::new(&none, Vec::new(), Progress::none()).unwrap();
    assert!(map.step(1, Progress::none()).unwrap().abs() < 1e-300);
}

#[test]
fn quality_measures_match_their_definitions() {
    let fixture = fixture("mds.json");
    let rows = dense_rows(&fixture["X"]);
    let map = points(&fixture["classical"]["Y_upto_sign"]);
    let plane = Rows::Dense(DenseRows::new(2, map.concat()).unwrap());
    // A map of itself is perfect, at any scale.
    let larger: Vec<[f64; 2]> = map.iter().map(|p| [3.0 * p[0], 3.0 * p[1]]).collect();
    assert!(kruskal_stress(&plane, &larger, 1_000).unwrap() < 1e-7);
    assert!(neighbours_preserved(&plane, &larger, 10, 1_000).unwrap() > 1.0 - 1e-12);
    let kept = neighbours_preserved(&rows, &map, 10, 1_000).unwrap();
    assert!((0.2..0.8).contains(&kept), "{kept}");
    // Compared with the raw stress at its best scale, from its definition.
    let (mut dd, mut dt, mut tt) = (0.0, 0.0, 0.0);
    for a in 0..rows.len() {
        let truth = rows.squared_distances(rows.row(a));
        let on_map = plane.squared_distances(plane.row(a));
        for b in 0..a {
            dd += on_map[b];
            dt += (on_map[b] * truth[b]).sqrt();
            tt += truth[b];
        }
    }
    let scale = dt / dd;
    let wanted = ((scale * scale * dd - 2.0 * scale * dt + tt) / tt).sqrt();
    assert!((kruskal_stress(&rows, &map, 1_000).unwrap() - wanted).abs() < 1e-9);
    let one_place = vec![[0.0; 2]; rows.len()];
    assert!((kruskal_stress(&rows, &one_place, 1_000).unwrap() - 1.0).abs() < 1e-12);
    assert!(kruskal_stress(&rows, &map[1..], 1_000).is_err());
    assert!(neighbours_preserved(&rows, &map[1..], 5, 9).is_err());
    assert!(trustworthiness(&rows, &map[1..], 5).is_err());
    assert!(trustworthiness_sampled(&rows, &map[1..], 5, 9).is_err());
}

#[test]
fn trustworthiness_equals_that_of_scikit_learn() {
    let fixture = fixture("mds.json");
    let rows = dense_rows(&fixture["X"]);
    let expected = numbers(&fixture["trustworthiness"]["values"]);
    let classical = points(&fixture["classical"]["Y_upto_sign"]);
    let landmark = points(&fixture["landmark"]["Y_upto_sign"]);
    for (map, k, index) in [
        (&classical, 5, 0),
        (&classical, 12, 1),
        (&landmark, 5, 4),
        (&landmark, 12, 5),
    ] {
        let found = trustworthiness(&rows, map, k).unwrap();
        assert!(
            (found - expected[index]).abs() < 1e-12,
            "{found} {}",
            expected[index]
        );
    }
}

#[test]
fn a_map_of_the_plane_keeps_all_distances() {
    let values: Vec<f64> = (0..200)
        .map(|index| (f64::from(index) * 1.7).sin() * 3.0)
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
        for map in [
            landmark_mds(&rows, params, 1, Progress::none()).unwrap(),
            pivot_mds(&rows, params, 1, Progress::none()).unwrap(),
        ] {
            assert_eq!(map.points.len(), rows.len());
            assert!(map.points.iter().flatten().all(|value| value.is_finite()));
            assert!(
                map.points.iter().all(|point| point[1].abs() < 1e-6),
                "there is one dimension"
            );
        }
    }
}

#[test]
fn settings_out_of_bounds_are_refused() {
    let error = MdsParams { num_landmarks: 2 }.check().unwrap_err();
    assert_eq!(error.to_string(), "num_landmarks must be 3 or more, not 2");
}
