//! Training on anchors compared with training on all rows.

use callgrove_learn::ocsvm::{
    Anchors, OcsvmParams, Trained, ValidOcsvmParams, train, train_on_anchors,
};
use callgrove_ml_tests::max_abs_diff;
use callgrove_trees::Progress;
use callgrove_trees::dataset::{DenseRows, Rows, SparseRow, SparseRows};
use proptest::prelude::*;

const NU: f64 = 0.01;
const COLUMNS: u32 = 12;

/// Returns sparse rows around 0, most of them within a distance of 3, some far out with small weights.
fn cloud(num_rows: usize) -> (Rows, Vec<f64>) {
    let mut state = 7_u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let rows: Vec<SparseRow> = (0..num_rows)
        .map(|_| {
            let reach = if uniform() < 0.03 { 6.0 } else { 1.0 };
            let columns = (0..COLUMNS).filter(|_| uniform() < 0.7).collect::<Vec<_>>();
            let normal = |_: &u32| reach * ((0..6).map(|_| uniform()).sum::<f64>() - 3.0);
            let values = columns.iter().map(normal).collect();
            SparseRow { columns, values }
        })
        .collect();
    let rows = Rows::Sparse(SparseRows::new(COLUMNS as usize, rows).expect("they are finite"));
    let weight = |&norm: &f64| (16.0 / norm).powi(8).min(1.0);
    let weights = rows.squared_norms().iter().map(weight).collect();
    (rows, weights)
}

fn params(weights: &[f64]) -> ValidOcsvmParams {
    let c = NU * weights.iter().sum::<f64>();
    OcsvmParams::new(0.3 / 16.0, c)
        .check()
        .expect("they are valid")
}

fn on_anchors(
    (rows, weights): (&Rows, &[f64]),
    anchors: &Anchors,
    apart: &[usize],
    params: &ValidOcsvmParams,
    warm: Option<&Trained>,
) -> Trained {
    let none = Progress::none();
    train_on_anchors(rows, weights, anchors, apart, params, warm, none).expect("it is feasible")
}

#[test]
fn scores_and_decisions_are_close_to_those_of_all_rows() {
    let (rows, weights) = cloud(4_000);
    let params = params(&weights);
    let exact = train(&rows, &weights, &params, None, Progress::none()).unwrap();
    let anchors = Anchors::choose(&rows, &weights, NU, 512);
    assert!((100..=512).contains(&anchors.len()), "{}", anchors.len());
    let near = on_anchors((&rows, &weights), &anchors, &[], &params, None);
    let size = exact.scores().iter().map(|score| score.abs()).sum::<f64>() / 4_000.0;
    let largest = max_abs_diff(near.scores(), exact.scores());
    assert!(largest < 0.15 * size, "{largest} of {size}");
    let both = near.scores().iter().zip(exact.scores());
    let num_differ = both.filter(|(near, exact)| (**near < -1e-6) != (**exact < -1e-6));
    let (num_differ, num_abnormal) = (
        num_differ.count(),
        exact
            .scores()
            .iter()
            .filter(|&&score| score < -1e-6)
            .count(),
    );
    assert!(
        num_abnormal > 100 && num_differ < 12,
        "{num_differ} of {num_abnormal}"
    );
    let alpha: f64 = near.alpha().iter().sum();
    assert!((alpha - 1.0).abs() < 1e-9, "{alpha}");
}

#[test]
fn an_anchor_for_each_row_gives_exact_scores() {
    let (rows, weights) = cloud(300);
    let weights = vec![1.0; weights.len()];
    let params = params(&weights);
    let exact = train(&rows, &weights, &params, None, Progress::none()).unwrap();
    let anchors = Anchors::choose(&rows, &weights, NU, 1_000_000);
    assert_eq!(anchors.len(), 300);
    let found = on_anchors((&rows, &weights), &anchors, &[], &params, None);
    assert!(max_abs_diff(found.scores(), exact.scores()) < 1e-10);
    assert!(max_abs_diff(found.alpha(), exact.alpha()) < 1e-8);
}

#[test]
fn warm_and_cold_starts_and_the_model_agree_bit_by_bit_after_each_label() {
    let (rows, prior) = cloud(3_000);
    let params = params(&prior);
    let anchors = Anchors::choose(&rows, &prior, NU, 256);
    let mut weights = prior.clone();
    let mut labelled: Vec<usize> = Vec::new();
    let mut warm = on_anchors((&rows, &weights), &anchors, &[], &params, None);
    for step in 0..8 {
        let lowest = (0..rows.len())
            .filter(|row| !labelled.contains(row))
            .min_by(|&a, &b| warm.scores()[a].abs().total_cmp(&warm.scores()[b].abs()))
            .unwrap();
        labelled.push(lowest);
        labelled.sort_unstable();
        weights[lowest] = if step % 2 == 0 { 0.0 } else { 1.5 * params.c() };
        warm = on_anchors((&rows, &weights), &anchors, &labelled, &params, Some(&warm));
        let cold = on_anchors((&rows, &weights), &anchors, &labelled, &params, None);
        assert_eq!(warm.scores(), cold.scores(), "step {step}");
        assert_eq!(warm.rho().to_bits(), cold.rho().to_bits());
        assert_eq!(warm.alpha(), cold.alpha());
        let model = warm.model(&rows).scores(&rows, Progress::none()).unwrap();
        assert_eq!(model, warm.scores(), "step {step}");
        // A weight above C keeps its row on the normal side.
        let mut normal = labelled.iter().filter(|&&row| weights[row] > 1.0);
        assert!(normal.all(|&row| warm.scores()[row] > -1e-9));
        let mut abnormal = labelled.iter().filter(|&&row| weights[row] <= 0.0);
        assert!(abnormal.all(|&row| warm.alpha()[row].to_bits() == 0.0_f64.to_bits()));
    }
}

#[test]
fn only_many_different_rows_need_anchors() {
    let line = |num_rows: usize, num_distinct: usize| {
        let values = (0..num_rows)
            .map(|row| (row % num_distinct) as f64)
            .collect();
        Rows::Dense(DenseRows::new(1, values).unwrap())
    };
    let needed = |rows: &Rows| Anchors::needed(rows, &vec![1.0; rows.len()], NU);
    assert!(needed(&line(20_000, 20_000)).is_none());
    assert!(needed(&line(30_000, 20_000)).is_none());
    let anchors = needed(&line(20_001, 20_001)).unwrap();
    assert!((1_000..5_000).contains(&anchors.len()), "{}", anchors.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn anchors_have_the_total_weight_of_any_rows(
        points in prop::collection::vec((-3_i8..3, 0_u8..4), 1..60),
        num_wanted in 1_usize..40,
    ) {
        let values = points.iter().map(|point| f64::from(point.0)).collect();
        let rows = Rows::Dense(DenseRows::new(1, values).unwrap());
        let weights: Vec<f64> = points.iter().map(|point| f64::from(point.1)).collect();
        let anchors = Anchors::choose(&rows, &weights, NU, num_wanted);
        prop_assert!((1..=num_wanted + 1).contains(&anchors.len()));
        prop_assume!(weights.iter().sum::<f64>() > 0.0);
        let found = on_anchors((&rows, &weights), &anchors, &[], &params(&weights), None);
        prop_assert!((found.alpha().iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let without_weight = weights.iter().zip(found.alpha()).filter(|it| *it.0 <= 0.0);
        prop_assert!(without_weight.clone().all(|(_, alpha)| *alpha <= 0.0));
    }
}
