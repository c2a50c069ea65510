//! The laws of histograms: order and grouping do not matter, and no execution is lost.

use std::collections::BTreeMap;

use callgrove_detect::{Bin, Histogram};
use proptest::prelude::*;

fn batch(max_bins: usize, values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new(max_bins);
    histogram.extend(values);
    histogram
}

fn merged(a: &Histogram, b: &Histogram) -> Histogram {
    let mut all = a.clone();
    all.merge(b);
    all
}

/// Times of one function: a body and some distant ones, or any times.
fn times() -> impl Strategy<Value = Vec<u64>> {
    let body = (1..1_000_u64, 0..400_usize)
        .prop_flat_map(|(width, num)| prop::collection::vec(1_000..1_000 + width * 10, num));
    let far = prop::collection::vec((any::<u64>(), 0..64_u32).prop_map(|(x, s)| x >> s), 0..80);
    (body, far).prop_map(|(mut body, far)| {
        body.extend(far);
        body
    })
}

/// The definition: the finest grid on which at most `max_bins` bins are occupied.
fn by_definition(max_bins: usize, values: &[u64]) -> Vec<(u64, u64)> {
    let on_grid = |precision: u32| {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for &value in values {
            let dropped = (u64::BITS - value.leading_zeros()).saturating_sub(precision + 1);
            *counts.entry((value >> dropped) << dropped).or_default() += 1;
        }
        counts
    };
    let grids = (0..64).rev().map(on_grid);
    let mut fitting = grids.filter(|counts| counts.len() <= max_bins);
    let finest = fitting.next().expect("65 bins hold one per octave");
    finest.into_iter().collect()
}

/// Returns the first time and the count of each bin.
fn contents(histogram: &Histogram) -> Vec<(u64, u64)> {
    let bins = histogram.bins().iter();
    bins.map(|&bin| (histogram.range(bin).0, bin.count))
        .collect()
}

proptest! {
    #[test]
    fn the_grid_is_the_finest_that_fits(values in times(), max_bins in 65..150_usize) {
        let histogram = batch(max_bins, &values);
        prop_assert_eq!(contents(&histogram), by_definition(max_bins, &values));
    }

    #[test]
    fn order_and_grouping_do_not_matter(a in times(), b in times(), c in times(), max_bins in 65..150_usize) {
        let all: Vec<u64> = [&a[..], &b, &c].concat();
        let whole = batch(max_bins, &all);
        let [a, b, c] = [a, b, c].map(|part| batch(max_bins, &part));
        prop_assert_eq!(&merged(&merged(&a, &b), &c), &whole);
        prop_assert_eq!(&merged(&a, &merged(&b, &c)), &whole);
        prop_assert_eq!(&merged(&merged(&c, &a), &b), &whole);
        let mut one_by_one = Histogram::new(max_bins);
        all.iter().rev().for_each(|&value| one_by_one.insert(value));
        prop_assert_eq!(&one_by_one, &whole);
    }

    #[test]
    fn every_execution_stays_counted(a in times(), b in times()) {
        let both = merged(&batch(65, &a), &batch(80, &b));
        prop_assert_eq!(both.total() as usize, a.len() + b.len());
        let (counts, edges) = both.counts_and_edges();
        prop_assert_eq!(counts.iter().sum::<u64>() as usize, a.len() + b.len());
        prop_assert!(counts.is_empty() && edges.is_empty() || counts.len() + 1 == edges.len());
        prop_assert!(edges.is_sorted());
    }

    #[test]
    fn the_smaller_limit_applies(a in times(), b in times()) {
        let small = batch(65, &[&a[..], &b].concat());
        prop_assert_eq!(&merged(&batch(65, &a), &batch(120, &b)), &small);
        prop_assert_eq!(&merged(&batch(120, &a), &batch(65, &b)), &small);
    }

    #[test]
    fn histograms_survive_storage(values in times()) {
        let histogram = batch(65, &values);
        let text = serde_json::to_string(&histogram).unwrap();
        prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
    }
}

#[test]
fn an_outlier_costs_one_bin_and_no_resolution() {
    let mut values: Vec<u64> = (0..150).map(|i| 1_000 + i).collect();
    let precision = |values: &[u64]| batch(200, values).precision();
    values.push(1 << 40);
    assert_eq!(precision(&values), 63);
    assert_eq!(batch(200, &values).bins().len(), 151);
}

#[test]
fn an_empty_part_on_a_coarse_grid_changes_nothing() {
    let coarse = batch(65, &(0..1_000).map(|i| i * 999).collect::<Vec<u64>>()).emptied();
    let fine = batch(65, &[1_000_000, 1_000_001]);
    assert!(coarse.precision() < 10);
    assert_eq!(merged(&fine, &coarse), fine);
}

#[test]
fn edges_lie_between_integers_and_gaps_are_bins() {
    let (counts, edges) = batch(200, &[0, 3, 4, 4]).counts_and_edges();
    assert_eq!(counts, [1, 0, 1, 2]);
    assert_eq!(edges, [-0.5, 0.5, 2.5, 3.5, 4.5]);
}

#[test]
fn invalid_bins_are_refused() {
    let bin = |index, count| Bin { index, count };
    let check = |max_bins, precision, bins: &[Bin]| {
        let found = Histogram::from_parts(max_bins, precision, bins.to_vec());
        found.map_err(|error| error.to_string())
    };
    assert!(check(65, 63, &[bin(1, 1), bin(2, 9)]).is_ok());
    let many: Vec<Bin> = (0..66).map(|index| bin(index, 1)).collect();
    for (found, wanted) in [
        (check(64, 63, &[]), "bound"),
        (check(1 << 40, 63, &[]), "bound"),
        (check(65, 64, &[]), "precision"),
        (check(65, 63, &many), "number of bins"),
        (check(65, 0, &[bin(65, 1)]), "last bin"),
        (check(65, 63, &[bin(2, 1), bin(2, 1)]), "order"),
        (check(65, 63, &[bin(2, 1), bin(1, 1)]), "order"),
        (check(65, 63, &[bin(2, 0)]), "empty"),
        (check(65, 63, &[bin(2, u64::MAX), bin(3, u64::MAX)]), "sum"),
    ] {
        let error = found.expect_err(wanted);
        assert!(error.contains(wanted), "{error}");
    }
}
