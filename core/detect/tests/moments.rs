//! Moments against numpy and scipy, and the laws of their merge.

mod support;

use callgrove_detect::Moments;
use proptest::prelude::*;
use serde_json::Value;
use support::{fixture, number, numbers};

fn pushed(values: &[f64]) -> Moments {
    let mut moments = Moments::default();
    for &value in values {
        moments.push(value);
    }
    moments
}

fn batch(values: &[u64]) -> Moments {
    let mut moments = Moments::default();
    moments.extend_from(values);
    moments
}

fn merged(a: &Moments, b: &Moments) -> Moments {
    let mut all = *a;
    all.merge(b);
    all
}

#[test]
fn moments_of_integers_are_bitwise_equal_for_any_division() {
    let values: Vec<u64> = (0..4_000_u64)
        .map(|i| 25 + (i * 7919) % 1_009 * (i % 13))
        .collect();
    let expected = batch(&values).stats();
    let bits = f64::to_bits;
    assert_eq!(bits(batch(&[5; 5]).stats().accumulate), bits(25.0));
    let sum = values.iter().sum::<u64>() as f64;
    assert_eq!(bits(expected.accumulate), bits(sum));
    for size in [1, 7, 100, 3_999] {
        let mut parts: Vec<Moments> = values.chunks(size).map(batch).collect();
        parts.reverse();
        let all = parts
            .iter()
            .fold(Moments::default(), |all, part| merged(part, &all));
        assert_eq!(all.stats(), expected, "parts of {size}");
    }
}

/// Compares moments with those of a fixture, within the tolerances for `name`.
fn check(name: &str, found: &Moments, expected: &Value) {
    let [count, mean, m2, m3, m4, min, max] = found.parts();
    let get = |key: &str| number(&expected[key]);
    let (for_mean, for_m2, for_rest) = match name {
        // The fixture itself is inexact: numpy's sum rounds the mean, 1e9, by up to 1.5e-7, which moves M3 by three
        // times that, times M2. `the_mean_may_be_much_larger_than_the_spread` is exact.
        "offset1e9" => (1e-13, 1e-8, 4.5e-7 / get("M2").sqrt()),
        _ => (1e-13, 1e-13, 1e-11),
    };
    let near = |key: &str, found: f64, scale: f64, tolerance: f64| {
        let diff = (found - get(key)).abs();
        assert!(
            diff <= tolerance * scale,
            "{name} {key}: {found} differs by {diff:e}"
        );
    };
    assert_eq!(
        (count, min, max),
        (get("n"), get("min"), get("max")),
        "{name}"
    );
    near("mean", mean, get("mean").abs(), for_mean);
    near("M2", m2, get("M2"), for_m2);
    near("M3", m3, get("M2").powf(1.5), for_rest);
    near("M4", m4, get("M2").powi(2), for_rest);
    let derived = [
        ("std_sample", found.stddev(), for_m2.max(1e-13)),
        ("skew_biased", found.skewness(), for_rest * count.sqrt()),
        ("kurtosis_excess_biased", found.kurtosis(), for_rest * count),
    ];
    for (key, value, tolerance) in derived {
        match expected[key].as_f64() {
            Some(expected) => near(key, value, expected.abs().max(1.0), tolerance),
            None => assert!(value.abs() < 1e-300, "{name} {key}: undefined is 0"),
        }
    }
}

#[test]
fn moments_equal_those_of_numpy_and_scipy() {
    for set in fixture("moments.json")["sets"].as_array().unwrap() {
        let name = set["name"].as_str().unwrap();
        let x = numbers(&set["x"]);
        let (a, b) = x.split_at(set["split_at"].as_u64().unwrap() as usize);
        let (a, b) = (pushed(a), pushed(b));
        check(name, &pushed(&x), &set["all"]);
        check(name, &merged(&a, &b), &set["all"]);
        check(name, &merged(&b, &a), &set["all"]);
        for (part, found) in [("a", a), ("b", b)] {
            if found.count() > 0 {
                check(name, &found, &set[part]);
            }
        }
    }
}

#[test]
fn the_mean_may_be_much_larger_than_the_spread() {
    let fixture = fixture("moments.json");
    let sets = fixture["sets"].as_array().unwrap();
    let set = sets.iter().find(|set| set["name"] == "offset1e9").unwrap();
    let x = numbers(&set["x"]);
    let (a, b) = x.split_at(50);
    // Computed by rational arithmetic on the doubles of the fixture (Python's `fractions`).
    let expected = [
        107.572_807_422_741_68,
        -21.313_660_279_825_015,
        347.693_042_563_135_63,
    ];
    for found in [pushed(&x), merged(&pushed(a), &pushed(b))] {
        let [_, _, m2, m3, m4, ..] = found.parts();
        for (found, expected) in [m2, m3, m4].into_iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-12 * expected.abs(),
                "{found} {expected}"
            );
        }
    }
}

#[test]
fn moments_of_integer_batches_equal_those_of_scipy() {
    let sets = fixture("moments.json");
    let sets = sets["sets"].as_array().unwrap();
    let mut num_checked = 0;
    for set in sets {
        let x = numbers(&set["x"]);
        if x.iter().all(|value| value.fract() == 0.0) {
            let x: Vec<u64> = x.iter().map(|&value| value as u64).collect();
            check(set["name"].as_str().unwrap(), &batch(&x), &set["all"]);
            num_checked += 1;
        }
    }
    assert_eq!(num_checked, 4, "two, one, constant, ns_ints");
}

#[test]
fn records_are_finite_without_values_and_without_spread() {
    let empty = Moments::default().stats();
    assert_eq!(
        (empty.count, empty.minimum, empty.maximum, empty.stddev),
        (0, 0.0, 0.0, 0.0)
    );
    let constant = pushed(&[0.1; 10]).stats();
    assert_eq!((constant.skewness, constant.kurtosis), (0.0, 0.0));
    assert_eq!((constant.minimum, constant.maximum), (0.1, 0.1));
    let largest = batch(&[u64::MAX, 0, u64::MAX]).stats();
    let all = [
        largest.kurtosis,
        largest.skewness,
        largest.stddev,
        largest.mean,
    ];
    assert!(all.iter().all(|number| number.is_finite()));
}

#[test]
fn impossible_moments_are_refused() {
    let good = pushed(&[1.0, 2.0, 4.0]).parts();
    assert!(Moments::from_parts(good).is_ok());
    for (at, bad) in [
        (0, -1.0),
        (0, 2.5),
        (0, 1e17),
        (0, 0.0),
        (1, f64::NAN),
        (1, 5.0),
        (2, -1.0),
        (4, -1.0),
        (6, f64::INFINITY),
    ] {
        let mut parts = good;
        parts[at] = bad;
        let error = Moments::from_parts(parts).expect_err("damaged");
        assert!(error.to_string().contains("recreate them"), "{error}");
    }
}

proptest! {
    #[test]
    fn parts_merge_to_the_whole(
        x in prop::collection::vec(0..1_000_000_u64, 1..200),
        at in any::<prop::sample::Index>(),
    ) {
        let (a, b) = x.split_at(at.index(x.len()));
        let (whole, parts) = (batch(&x), merged(&batch(a), &batch(b)));
        let values: Vec<f64> = x.iter().map(|&value| value as f64).collect();
        for other in [parts, pushed(&values)] {
            let (whole, other) = (whole.parts(), other.parts());
            prop_assert_eq!((whole[0], whole[5], whole[6]), (other[0], other[5], other[6]));
            let m2 = whole[2];
            for (at, scale) in [(1, whole[1]), (2, m2), (3, m2.powf(1.5)), (4, m2.powi(2))] {
                prop_assert!((whole[at] - other[at]).abs() <= 1e-10 * scale, "{:?} {:?}", whole, other);
            }
        }
    }

    #[test]
    fn moments_survive_storage(x in prop::collection::vec(any::<u64>(), 0..50)) {
        let moments = batch(&x);
        let text = serde_json::to_string(&moments).unwrap();
        prop_assert_eq!(serde_json::from_str::<Moments>(&text).unwrap(), moments);
    }
}
