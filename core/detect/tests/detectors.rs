//! Verdicts of the detectors, compared with PyOD and with their definitions.

mod support;

use callgrove_detect::{Algorithm, DetectError, FuncModel, Judge, Params, ValidParams, Verdict};
use proptest::prelude::*;
use serde_json::json;
use support::{fixture, number, numbers};

fn params(algorithm: Algorithm) -> ValidParams {
    let params = Params {
        algorithm,
        ..Params::default()
    };
    params.check().expect("the defaults are valid")
}

fn model(params: &ValidParams, times_us: &[u64]) -> FuncModel {
    let mut model = FuncModel::new(params);
    model.extend(times_us);
    model
}

fn judge(algorithm: Algorithm, times_us: &[u64]) -> Judge {
    let params = params(algorithm);
    Judge::new(&model(&params, times_us), &params, None)
}

/// Returns the distinct outlier times, ascending.
fn outliers(algorithm: Algorithm, times_us: &[u64]) -> Vec<u64> {
    let judge = judge(algorithm, times_us);
    let mut found = times_us.to_vec();
    found.retain(|&time| judge.judge(time).is_outlier);
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the one-dimensional sets of the fixture: name, values, and the set.
fn pyod_sets() -> Vec<(String, Vec<f64>, serde_json::Value)> {
    let all = fixture("../../../../ml/tests/fixtures/outlier_1d.json");
    let sets = all["sets"].as_array().expect("sets").iter();
    let named = sets.map(|set| (set["name"].as_str().expect("a name").to_owned(), set));
    let flat = named.filter(|(name, _)| name.starts_with("1d"));
    flat.map(|(name, set)| {
        let rows = set["X"].as_array().expect("rows");
        (
            name,
            rows.iter().map(|row| number(&row[0])).collect(),
            set.clone(),
        )
    })
    .collect()
}

fn assert_near(found: f64, expected: f64, name: &str) {
    let diff = (found - expected).abs();
    assert!(
        diff <= 1e-12 * expected.abs().max(1.0),
        "{name}: {found}, not {expected}"
    );
}

#[test]
fn copod_scores_equal_those_of_pyod() {
    for (name, x, set) in pyod_sets() {
        // The fixture has four decimals: as integers from 0 on, the samples keep order, ties and skewness.
        let least = x.iter().copied().fold(f64::INFINITY, f64::min);
        let times: Vec<u64> = x
            .iter()
            .map(|value| ((value - least) * 1e4).round() as u64)
            .collect();
        let judge = judge(Algorithm::Copod, &times);
        for (time, expected) in times.into_iter().zip(numbers(&set["copod"])) {
            // PyOD takes natural logarithms.
            assert_near(
                judge.judge(time).score * std::f64::consts::LN_2,
                expected,
                &name,
            );
        }
    }
}

/// PyOD divides the range into equal bins and scores −log₂(density + 0.1), density = probability / width. Here the bins
/// are numbered, the numbers are judged, and each is repeated a thousand times, so that the grid keeps all bins
/// separate. (PyOD counts a value on an edge in the bin above, but scores it by the bin below.)
#[test]
fn hbos_scores_of_bins_equal_those_of_pyod() {
    for (name, x, set) in pyod_sets() {
        for num_bins in [5_usize, 10, 20] {
            let name = format!("{name} {num_bins}");
            let least = x.iter().copied().fold(f64::INFINITY, f64::min);
            let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (lowest, range) = if most > least {
                (least, most - least)
            } else {
                (least - 0.5, 1.0)
            };
            let width = range / num_bins as f64;
            let edges = || (1..num_bins).map(|k| k as f64 * width + lowest);
            let counted = |&value: &f64| edges().filter(|&edge| edge <= value).count() as u64;
            let scored = |&value: &f64| edges().filter(|&edge| edge < value).count() as u64;
            let judge = judge(
                Algorithm::Hbos,
                &x.iter().map(counted).collect::<Vec<u64>>().repeat(1000),
            );
            for (value, expected) in x.iter().zip(numbers(&set[format!("hbos_{num_bins}")])) {
                let probability = (-judge.judge(scored(value)).score).exp2();
                assert_near(-(probability / width + 0.1).log2(), expected, &name);
            }
        }
    }
}

#[test]
fn hbos_scores_are_bits_of_improbability() {
    let times: Vec<u64> = [vec![10; 512], vec![20; 256], vec![30; 255], vec![5_000]].concat();
    let judge = judge(Algorithm::Hbos, &times);
    for (time, expected) in [(10, 1.0), (20, 2.0), (5_000, 10.0), (1_000, 100.000_111_4)] {
        let found = judge.judge(time).score;
        assert!((found - expected).abs() < 1e-6, "{time}: {found}");
    }
}

#[test]
fn sstd_scores_are_standard_deviations() {
    let mut times = [90, 110].repeat(5_000);
    times.push(161);
    let params = params(Algorithm::Sstd);
    let model = model(&params, &times);
    let judge = Judge::new(&model, &params, None);
    let (mean, stddev) = (model.moments().mean(), model.moments().stddev());
    for (time, is_outlier) in [(161, true), (160, false), (41, false), (39, true)] {
        let expected = Verdict {
            score: (time as f64 - mean).abs() / stddev,
            is_outlier,
        };
        assert_eq!(judge.judge(time), expected);
    }
    assert_near(judge.threshold(), 6.0, "sigma");
}

#[test]
fn one_call_in_fifty_that_takes_a_hundred_times_longer_is_found() {
    let mut times: Vec<u64> = (0..49).map(|i| 950 + i * i % 101).collect();
    times.push(100_000);
    for algorithm in Algorithm::ALL {
        assert_eq!(outliers(algorithm, &times), [100_000], "{algorithm}");
    }
}

#[test]
fn short_executions_are_outliers_too() {
    let mut times: Vec<u64> = (0..1_000).map(|i| 950 + i * i % 101).collect();
    times.extend([40, 20_000]);
    assert_eq!(outliers(Algorithm::Hbos, &times), [40, 20_000]);
    // COPOD expects outliers in the tail that the distribution is skewed to, and halves the surprise at others.
    assert_eq!(outliers(Algorithm::Copod, &times), [20_000]);
    // One distant outlier widens the standard deviation, which hides the short one from SSTD.
    assert_eq!(outliers(Algorithm::Sstd, &times), [20_000]);
}

#[test]
fn outliers_between_modes_are_found_by_hbos_only() {
    let near = |typical: u64| (0..2_000).map(move |i| typical + i * i % 97);
    let times: Vec<u64> = near(1_000).chain(near(100_000)).chain([10_000]).collect();
    assert_eq!(outliers(Algorithm::Hbos, &times), [10_000]);
    assert!(outliers(Algorithm::Copod, &times).is_empty());
    assert!(outliers(Algorithm::Sstd, &times).is_empty());
}

#[test]
fn a_mode_that_recurs_is_no_outlier() {
    let mut times = vec![100; 10_000];
    times.extend(vec![10_000; 101]);
    assert!(outliers(Algorithm::Hbos, &times).is_empty());
    times.truncate(10_090);
    assert_eq!(outliers(Algorithm::Hbos, &times), [10_000]);
}

#[test]
fn adjacent_clock_values_are_alike() {
    let mut times = vec![3; 5_000];
    times.extend([2, 4]);
    times.extend(vec![1_000_000; 5_000]);
    times.push(1_010_000);
    assert!(outliers(Algorithm::Hbos, &times).is_empty());
}

#[test]
fn too_few_executions_are_not_judged() {
    for algorithm in Algorithm::ALL {
        let unknown = Verdict {
            score: 0.0,
            is_outlier: false,
        };
        assert_eq!(judge(algorithm, &[]).judge(7), unknown, "{algorithm}");
        assert_near(judge(algorithm, &[]).threshold(), 0.0, algorithm.name());
        let mut few = vec![100; 14];
        few.push(100_000);
        assert!(outliers(algorithm, &few).is_empty(), "{algorithm}");
    }
}

#[test]
fn equal_times_are_normal() {
    for algorithm in Algorithm::ALL {
        let verdict = judge(algorithm, &[5; 100]).judge(5);
        assert!(
            verdict.score.abs() < 1e-9 && !verdict.is_outlier,
            "{algorithm}"
        );
    }
}

#[test]
fn a_frozen_model_judges_unseen_times() {
    let times: Vec<u64> = (0..1_000).map(|i| 950 + i * i % 101).collect();
    for algorithm in Algorithm::ALL {
        let judge = judge(algorithm, &times);
        for far in [100_000, u64::MAX] {
            assert!(judge.judge(far).is_outlier, "{algorithm} {far}");
        }
        for near in [0, 1] {
            // Excess ignores times that cost nothing.
            let is_outlier = algorithm != Algorithm::Excess;
            assert_eq!(
                judge.judge(near).is_outlier,
                is_outlier,
                "{algorithm} {near}"
            );
        }
        assert!(!judge.judge(949).is_outlier, "{algorithm}");
    }
    let never = judge(Algorithm::Hbos, &times).judge(100_000).score;
    assert!((100.0..100.001).contains(&never), "{never}");
}

#[test]
fn the_running_threshold_never_falls() {
    let params = params(Algorithm::Hbos);
    let mut model = model(&params, &[10; 1_000]);
    model.raise_threshold(50.0);
    model.raise_threshold(f64::INFINITY);
    model.raise_threshold(3.0);
    assert_near(model.internal_global_threshold(), 50.0, "raised");
    model.extend(&[10_000]);
    let judge = Judge::new(&model, &params, None);
    assert_near(judge.threshold(), 50.0, "running");
    assert!(!judge.judge(10_000).is_outlier);
    let own = Params {
        use_global_threshold: false,
        ..*params.get()
    };
    let judge = Judge::new(&model, &own.check().unwrap(), None);
    assert!(judge.threshold() < 50.0 && judge.judge(10_000).is_outlier);
}

#[test]
fn functions_can_have_their_own_thresholds() {
    let mut times = vec![100; 1_000];
    times.extend(vec![10_000; 50]);
    let params = params(Algorithm::Hbos);
    let model = model(&params, &times);
    let found = |own| Judge::new(&model, &params, own).judge(10_000).is_outlier;
    assert!(!found(None) && found(Some(0.9)));
}

#[test]
fn models_match_the_schemas() {
    let times = [0, 3, 3, 4];
    let mut hbos = model(&params(Algorithm::Hbos), &times);
    hbos.raise_threshold(1.5);
    let expected = json!({
        "histogram": {
            "Histogram Bin Counts": [1, 0, 2, 1],
            "Histogram Bin Edges": [-0.5, 0.5, 2.5, 3.5, 4.5],
        },
        "internal_global_threshold": 1.5,
    });
    assert_eq!(hbos.to_json(), expected);
    let sstd = model(&params(Algorithm::Sstd), &[2, 4]).to_json();
    let expected = json!({
        "accumulate": 6.0, "count": 2, "kurtosis": -2.0, "maximum": 4.0, "mean": 3.0,
        "minimum": 2.0, "skewness": 0.0, "stddev": std::f64::consts::SQRT_2,
    });
    assert_eq!(sstd, expected);
}

#[test]
fn models_of_different_detectors_do_not_merge() {
    let kinds = [Algorithm::Sstd, Algorithm::Hbos, Algorithm::Excess];
    let models = kinds.map(|algorithm| model(&params(algorithm), &[1, 2]));
    for (at, before) in models.iter().enumerate() {
        for other in models.iter().enumerate().filter(|it| it.0 != at) {
            let mut into = before.clone();
            assert_eq!(into.merge(other.1), Err(DetectError::MixedModels));
            assert_eq!(&into, before);
        }
    }
}

#[test]
fn inconsistent_parts_are_refused() {
    let good = model(&params(Algorithm::Hbos), &[1, 2, 3]);
    let with = |threshold, extra: &[u64]| {
        let mut moments = *good.moments();
        moments.extend_from(extra);
        FuncModel::from_parts(moments, good.distribution().clone(), threshold)
    };
    assert_eq!(with(0.0, &[]), Ok(good.clone()));
    for bad in [with(0.0, &[9]), with(-1.0, &[]), with(f64::NAN, &[])] {
        assert!(matches!(bad, Err(DetectError::Damaged { .. })));
    }
}

fn any_times() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(
        (any::<u64>(), 0..64_u32).prop_map(|(x, shift)| x >> shift),
        0..300,
    )
}

proptest! {
    #[test]
    fn verdicts_do_not_depend_on_the_order_of_merging(
        a in any_times(), b in any_times(), c in any_times(), is_excess: bool,
    ) {
        let params = params(if is_excess { Algorithm::Excess } else { Algorithm::Hbos });
        let [x, y, z] = [&a, &b, &c].map(|times| model(&params, times));
        let mut left = x.clone();
        left.merge(&y).unwrap();
        left.merge(&z).unwrap();
        let mut right = z;
        right.merge(&y).unwrap();
        right.merge(&x).unwrap();
        let [left, right] = [left, right].map(|model| Judge::new(&model, &params, None));
        for &time in a.iter().chain(&b).chain(&c) {
            prop_assert_eq!(left.judge(time), right.judge(time));
        }
    }

    #[test]
    fn scores_are_finite_and_not_negative(times in any_times(), other in any_times()) {
        for algorithm in Algorithm::ALL {
            let judge = judge(algorithm, &times);
            let mut verdicts = Vec::new();
            judge.judge_all(&times, &mut verdicts);
            judge.judge_all(&other, &mut verdicts);
            prop_assert_eq!(verdicts.len(), times.len() + other.len());
            for verdict in verdicts {
                prop_assert!(verdict.score.is_finite() && verdict.score >= 0.0, "{:?}", verdict);
            }
        }
    }

    #[test]
    fn parts_on_the_grid_of_the_model_give_the_same_model(a in any_times(), b in any_times()) {
        for algorithm in Algorithm::ALL {
            let params = params(algorithm);
            let mut whole = model(&params, &a);
            let mut with_part = whole.clone();
            let mut part = with_part.new_part();
            part.extend(&b);
            with_part.merge(&part).unwrap();
            whole.merge(&model(&params, &b)).unwrap();
            prop_assert_eq!(with_part, whole);
        }
    }

    #[test]
    fn models_survive_storage(times in any_times()) {
        for algorithm in Algorithm::ALL {
            let model = model(&params(algorithm), &times);
            let text = serde_json::to_string(&model).unwrap();
            prop_assert_eq!(serde_json::from_str::<FuncModel>(&text).unwrap(), model);
        }
    }
}
