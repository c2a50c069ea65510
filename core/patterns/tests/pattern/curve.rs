//! Laws of the curve of durations.

use callgrove_model::DurationNs;
use callgrove_patterns::{
    DEFAULT_ANOMALY_FACTOR, DEFAULT_REFERENCE_SHARE, ReferenceCurve, Standing,
};
use proptest::prelude::*;

fn curve(durations_us: &[i64]) -> ReferenceCurve {
    let durations: Vec<_> = durations_us
        .iter()
        .map(|&it| DurationNs::from_us(it))
        .collect();
    ReferenceCurve::new(&durations)
}

#[test]
fn the_reference_is_the_longest_of_the_fastest_share() {
    let curve = curve(&[20, 10, 40, 30]);
    let reference = |q| curve.reference(q).as_us();
    assert_eq!(
        [0.0, 0.25, 0.26, 0.5, 0.75, 0.76, 1.0].map(reference),
        [10, 10, 20, 20, 30, 40, 40]
    );
    assert_eq!([-1.0, 2.0, f64::NAN].map(reference), [10, 40, 40]);
    assert_eq!(curve.indices(), [1, 0, 3, 2]);
}

#[test]
fn durations_beyond_s_times_the_reference_are_anomalous() {
    let curve = curve(&[20, 20, 20, 20, 20, 20, 25, 60, 61, 2_438]);
    let (q, s) = (0.6, DEFAULT_ANOMALY_FACTOR);
    assert_eq!(curve.counts(q, s), [6, 2, 2]);
    assert_eq!(curve.anomalous(q, s), [8, 9]);
    let standing = |us| curve.standing(DurationNs::from_us(us), q, s);
    assert_eq!(standing(20), Standing::Reference);
    assert_eq!(standing(21), Standing::Undecided);
    assert_eq!(standing(60), Standing::Undecided);
    assert_eq!(standing(61), Standing::Anomalous);
}

#[test]
fn handles_few_durations() {
    let (q, s) = (DEFAULT_REFERENCE_SHARE, DEFAULT_ANOMALY_FACTOR);
    let none = curve(&[]);
    assert_eq!(none.reference(q), DurationNs::ZERO);
    assert_eq!(none.counts(q, s), [0, 0, 0]);
    assert!(none.anomalous(q, s).is_empty());
    assert_eq!(curve(&[7]).counts(0.0, s), [1, 0, 0]);
    assert_eq!(curve(&[5; 9]).counts(q, f64::NAN), [9, 0, 0]);
}

#[test]
fn clock_ticks_are_not_anomalous() {
    let curve = curve(&[0, 0, 0, 0, 0, 0, 1, 1, 3, 50_000]);
    assert_eq!(curve.counts(0.5, 3.0), [6, 3, 1]);
}

proptest! {
    #[test]
    fn a_larger_share_or_factor_finds_fewer_anomalies(
        durations in prop::collection::vec(0_i64..10_000, 0..60),
        (q, more_q) in (0.0..1.0, 0.0..1.0),
        (s, more_s) in (1.0..9.0, 0.0..9.0),
    ) {
        let curve = curve(&durations);
        let higher_q = q + (1.0 - q) * more_q;
        prop_assert!(curve.reference(q) <= curve.reference(higher_q));
        prop_assert!(curve.limit(q, s) <= curve.limit(higher_q, s));
        prop_assert!(curve.limit(q, s) <= curve.limit(q, s + more_s));
        prop_assert!(curve.anomalous(higher_q, s + more_s).len() <= curve.anomalous(q, s).len());
    }

    #[test]
    fn counts_standings_and_lists_agree(
        durations in prop::collection::vec(0_i64..1_000, 0..60),
        q in 0.0..=1.0,
        s in 1.0..9.0,
    ) {
        let curve = curve(&durations);
        let mut counts = [0; 3];
        for &us in &durations {
            counts[match curve.standing(DurationNs::from_us(us), q, s) {
                Standing::Reference => 0,
                Standing::Undecided => 1,
                Standing::Anomalous => 2,
            }] += 1;
        }
        prop_assert_eq!(curve.counts(q, s), counts);
        prop_assert_eq!(curve.anomalous(q, s).len(), counts[2]);
        prop_assert!(curve.sorted().is_sorted());
        for (&place, &duration) in curve.indices().iter().zip(curve.sorted()) {
            let place = usize::try_from(place).unwrap();
            prop_assert_eq!(DurationNs::from_us(durations[place]), duration);
        }
    }
}
