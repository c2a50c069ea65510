//! t-SNE compared with reference numbers, and its laws.

use callgrove_map::knn::all_nearest;
use callgrove_map::projection::{
    Affinities, Tsne, TsneParams, neighbours_preserved, place_new, trustworthiness, tsne_start,
};
use callgrove_ml_tests::{dense_rows, fixture, max_abs_diff, number, numbers};
use callgrove_trees::Progress;
use callgrove_trees::dataset::{DenseRows, Rows};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

fn points(value: &Value) -> Vec<[f64; 2]> {
    let rows = value.as_array().expect("points").iter().map(numbers);
    rows.map(|row| [row[0], row[1]]).collect()
}

/// Returns the settings and rows of the reference.
fn reference() -> (Rows, TsneParams, Value) {
    let tsne = fixture("tsne.json");
    let params = TsneParams {
        perplexity: number(&tsne["perplexity"]),
        theta: 0.0,
        learning_rate: Some(50.0),
        iterations: 1_000,
        ..TsneParams::default()
    };
    (dense_rows(&fixture("mds.json")["X"]), params, tsne)
}

/// Returns affinities over all pairs, as in the reference.
fn all_pairs(rows: &Rows, perplexity: f64) -> Affinities {
    let neighbours = all_nearest(rows, rows.len(), Progress::none()).expect("not cancelled");
    Affinities::new(&neighbours, perplexity)
}

#[test]
fn affinities_equal_the_reference() {
    let (rows, params, tsne) = reference();
    let affinities = all_pairs(&rows, params.perplexity);
    for (found, wanted) in affinities.betas().iter().zip(numbers(&tsne["beta"])) {
        assert!((found / wanted - 1.0).abs() < 1e-6, "{found} {wanted}");
    }
    let (columns, values) = affinities.of(0);
    let mut row = vec![0.0; rows.len()];
    for (&column, &value) in columns.iter().zip(values) {
        row[column as usize] = value;
    }
    assert!(max_abs_diff(&row, &numbers(&tsne["P_joint_row0"])) < 1e-9);
    let all = (0..rows.len()).flat_map(|row| affinities.of(row).1);
    let sum_of_squares: f64 = all.map(|value| value * value).sum();
    assert!((sum_of_squares - number(&tsne["P_joint_sum_of_squares"])).abs() < 1e-9);
}

#[test]
fn divergence_gradient_and_first_steps_equal_the_reference() {
    let (rows, params, tsne) = reference();
    let affinities = all_pairs(&rows, params.perplexity);
    let params = params.check().unwrap();
    let mut map = Tsne::new(affinities, points(&tsne["Y0"]), params).unwrap();
    assert!((map.divergence() - number(&tsne["kl_Y0"])).abs() < 1e-10);
    let wanted = points(&tsne["grad_Y0"]).concat();
    assert!(max_abs_diff(&map.gradient().concat(), &wanted) < 1e-10);
    for _ in 0..5 {
        map.step();
    }
    let wanted = points(&tsne["gd_Y_after_5"]).concat();
    assert!(max_abs_diff(&map.points().concat(), &wanted) < 1e-8);
    assert!((map.divergence() - number(&tsne["gd_kl"][1][1])).abs() < 1e-8);
}

/// Returns the median of a number over the runs of the reference.
fn median(tsne: &Value, name: &str) -> f64 {
    let runs = tsne["quality_100"].as_object().expect("runs");
    let mut values: Vec<f64> = runs.values().map(|run| number(&run[name])).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn maps_are_as_good_as_those_of_the_reference() {
    let (rows, reference, tsne) = reference();
    let exact = all_pairs(&rows, reference.perplexity);
    for (theta, learning_rate, seed) in [
        (0.0, Some(50.0), 1),
        (0.5, None, 1),
        (0.5, None, 2),
        (0.5, Some(20.0), 3),
    ] {
        let params = TsneParams {
            theta,
            learning_rate,
            ..reference
        }
        .check()
        .unwrap();
        let mut map = Tsne::from_rows(&rows, params, seed, Progress::none()).unwrap();
        map.run(Progress::none()).unwrap();
        // Measured with the affinities of all pairs, as in the reference.
        let judge = Tsne::new(
            exact.clone(),
            map.points().to_vec(),
            reference.check().unwrap(),
        );
        let divergence = judge.unwrap().divergence();
        let wanted = median(&tsne, "kl");
        assert!(
            (divergence / wanted - 1.0).abs() < 0.1,
            "{divergence} {wanted}"
        );
        let trust = trustworthiness(&rows, map.points(), 12).unwrap();
        assert!(trust > median(&tsne, "trust12") - 0.01, "{trust}");
        let kept = neighbours_preserved(&rows, map.points(), 10, rows.len()).unwrap();
        assert!(kept > median(&tsne, "knn10") - 0.03, "{kept}");
    }
}

/// Returns groups of rows around centres, every row with some noise.
fn groups(num_rows: usize, num_groups: usize, seed: u64) -> Rows {
    const COLUMNS: usize = 8;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let centres: Vec<f64> = (0..num_groups * COLUMNS)
        .map(|_| 10.0 * rng.random::<f64>())
        .collect();
    let mut values = Vec::new();
    for row in 0..num_rows {
        let centre = row % num_groups * COLUMNS;
        let noise = |value: &f64| value + rng.random::<f64>() + rng.random::<f64>();
        values.extend(centres[centre..centre + COLUMNS].iter().map(noise));
    }
    Rows::Dense(DenseRows::new(COLUMNS, values).expect("finite"))
}

fn short() -> TsneParams {
    TsneParams {
        perplexity: 10.0,
        exaggeration_iterations: 60,
        iterations: 200,
        ..TsneParams::default()
    }
}

#[test]
fn cells_change_the_gradient_little() {
    let rows = groups(700, 5, 1);
    let neighbours = all_nearest(&rows, 30, Progress::none()).unwrap();
    let affinities = Affinities::new(&neighbours, 10.0);
    let mut map = Tsne::from_rows(&rows, short().check().unwrap(), 1, Progress::none()).unwrap();
    map.run(Progress::none()).unwrap();
    let of = |theta: f64| {
        let params = TsneParams { theta, ..short() }.check().unwrap();
        let map = Tsne::new(affinities.clone(), map.points().to_vec(), params).unwrap();
        (map.gradient().concat(), map.divergence())
    };
    let (exact, divergence) = of(0.0);
    let size = exact.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
    let pull = |theta: f64| {
        let (slopes, found) = of(theta);
        let squares = slopes.iter().zip(&exact).map(|(a, b)| (a - b).powi(2));
        (
            squares.sum::<f64>().sqrt() / size,
            (found / divergence - 1.0).abs(),
        )
    };
    let (few, many) = (pull(1e-6), pull(0.5));
    assert!(few.0 < 1e-2 && few.1 < 1e-5, "{few:?}");
    assert!(many.0 < 0.5 && many.1 < 5e-3, "{many:?}");
}

#[test]
fn a_clone_continues_like_the_original() {
    let rows = groups(300, 4, 2);
    let params = short().check().unwrap();
    let mut map = Tsne::from_rows(&rows, params, 7, Progress::none()).unwrap();
    for _ in 0..100 {
        map.step();
    }
    let mut paused = map.clone();
    map.run(Progress::none()).unwrap();
    assert_eq!(map.iteration(), 200);
    assert!(map.is_ready());
    paused.run(Progress::none()).unwrap();
    assert_eq!(map.points(), paused.points());
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let rows = groups(900, 4, 3);
    let run = |num_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(num_threads)
            .build();
        pool.expect("threads").install(|| {
            let params = short().check().unwrap();
            let mut map = Tsne::from_rows(&rows, params, 1, Progress::none()).unwrap();
            for _ in 0..80 {
                map.step();
            }
            let new = map.place_new(&rows, &rows.select(&[3, 77]), Progress::none());
            (map.points().to_vec(), map.divergence(), new.unwrap())
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn new_rows_are_placed_near_their_neighbours() {
    let all = groups(1_000, 6, 4);
    let (new, old): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|row| row % 10 == 0);
    let (old_rows, new_rows) = (all.select(&old), all.select(&new));
    let params = TsneParams {
        iterations: 500,
        exaggeration_iterations: 150,
        ..short()
    };
    let params = params.check().unwrap();
    let mut map = Tsne::from_rows(&old_rows, params, 1, Progress::none()).unwrap();
    map.run(Progress::none()).unwrap();
    let before = map.points().to_vec();
    let placed = map
        .place_new(&old_rows, &new_rows, Progress::none())
        .unwrap();
    assert_eq!(map.points(), before);
    // The map of all of them preserves nearly as many neighbours as that of the old ones alone.
    let mut points = vec![[0.0; 2]; all.len()];
    for (&row, &point) in old.iter().zip(map.points()).chain(new.iter().zip(&placed)) {
        points[row] = point;
    }
    let kept_old = neighbours_preserved(&old_rows, map.points(), 10, 1_000).unwrap();
    let kept_all = neighbours_preserved(&all, &points, 10, 1_000).unwrap();
    assert!(kept_all > kept_old - 0.05, "{kept_all} {kept_old}");
    assert!(trustworthiness(&all, &points, 12).unwrap() > 0.97);
    // A row's position does not depend on the other new rows.
    let alone = map
        .place_new(&old_rows, &all.select(&new[5..6]), Progress::none())
        .unwrap();
    assert_eq!(alone, placed[5..6]);
}

#[test]
fn degenerate_rows_have_a_finite_map() {
    let params = short();
    for values in [
        vec![],
        vec![1.0],
        vec![1.0, 2.0],
        vec![3.0; 60],
        (0..9).map(f64::from).collect(),
    ] {
        let rows = Rows::Dense(DenseRows::new(1, values).unwrap());
        for theta in [0.0, 0.5] {
            let params = TsneParams { theta, ..params }.check().unwrap();
            let mut map = Tsne::from_rows(&rows, params, 1, Progress::none()).unwrap();
            map.run(Progress::none()).unwrap();
            assert_eq!(map.points().len(), rows.len());
            assert!(map.points().concat().iter().all(|value| value.is_finite()));
            assert!(map.divergence().is_finite());
            let new = place_new(&rows, map.points(), &rows, params, Progress::none());
            assert!(new.is_err() == rows.is_empty());
            assert!(
                new.unwrap_or_default()
                    .concat()
                    .iter()
                    .all(|value| value.is_finite())
            );
        }
    }
    assert_eq!(tsne_start(&[], 1), Vec::<[f64; 2]>::new());
}

#[test]
fn bad_input_is_refused() {
    let refused = |params: TsneParams| params.check().unwrap_err().to_string();
    let base = TsneParams::default();
    assert_eq!(
        refused(TsneParams {
            perplexity: 0.5,
            ..base
        }),
        "perplexity must be 1 or more, not 0.5"
    );
    refused(TsneParams { theta: 1.1, ..base });
    refused(TsneParams {
        exaggeration: f64::NAN,
        ..base
    });
    refused(TsneParams {
        learning_rate: Some(0.0),
        ..base
    });
    refused(TsneParams {
        final_momentum: 1.0,
        ..base
    });
    let rows = groups(20, 2, 1);
    let affinities = all_pairs(&rows, 3.0);
    let params = base.check().unwrap();
    assert!(Tsne::new(affinities.clone(), vec![[0.0; 2]; 3], params).is_err());
    assert!(Tsne::new(affinities, vec![[f64::NAN; 2]; 20], params).is_err());
}

#[test]
fn a_map_can_be_cancelled_and_resumed() {
    let rows = groups(60, 2, 1);
    let params = short().check().unwrap();
    let stop = |_| std::ops::ControlFlow::Break(());
    assert!(Tsne::from_rows(&rows, params, 1, Progress::new(&stop)).is_err());
    let mut map = Tsne::from_rows(&rows, params, 1, Progress::none()).unwrap();
    let stop_late = |fraction| {
        if fraction < 0.25 {
            std::ops::ControlFlow::Continue(())
        } else {
            std::ops::ControlFlow::Break(())
        }
    };
    assert!(map.run(Progress::new(&stop_late)).is_err());
    assert_eq!(map.iteration(), 50);
    map.run(Progress::none()).unwrap();
    assert!(map.is_ready());
}
