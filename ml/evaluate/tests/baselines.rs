//! Baselines compared with scikit-learn and PyOD, and their laws.

use callgrove_evaluate::baselines::{
    Baseline, BaselineParams, Rule, kth_distances, local_outlier_factors, mean_distances,
    pyod_copod, pyod_ecod, pyod_hbos, rule_scores, score, time_rows,
};
use callgrove_ml_tests::{PlainTree, dense_rows, fixture, forest, max_abs_diff, numbers};
use callgrove_trees::dataset::{DenseRows, Rows};
use callgrove_trees::{MlError, Progress};
use proptest::prelude::*;

fn max_relative_diff(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let relative =
        |(found, expected): (&f64, &f64)| (found - expected).abs() / expected.abs().max(1.0);
    found.iter().zip(expected).map(relative).fold(0.0, f64::max)
}

#[test]
fn neighbours_and_outlier_factors_equal_those_of_scikit_learn() {
    let fixture = fixture("lof_knn.json");
    for set in fixture["sets"].as_array().unwrap() {
        let rows = dense_rows(&set["X"]);
        for (k, name) in [(5, "5"), (10, "10"), (20, "20")] {
            let expected = &set["knn"][name];
            let kth = kth_distances(&rows, k, Progress::none()).unwrap();
            assert!(max_relative_diff(&kth, &numbers(&expected["kdist"])) < 1e-9);
            let mean = mean_distances(&rows, k, Progress::none()).unwrap();
            let sum: Vec<f64> = mean.iter().map(|mean| mean * k as f64).collect();
            assert!(max_relative_diff(&sum, &numbers(&expected["sum_dist"])) < 1e-9);

            let factors = local_outlier_factors(&rows, k, Progress::none()).unwrap();
            let expected = numbers(&set["lof"][name]);
            if set["duplicates"] == true {
                let log = |values: &[f64]| values.iter().map(|x| x.log10()).collect::<Vec<_>>();
                let diff = max_abs_diff(&log(&factors), &log(&expected));
                assert!(diff < 1e-3, "with duplicates, k = {k}: {diff:e}");
            } else {
                let diff = max_relative_diff(&factors, &expected);
                assert!(diff < 1e-9, "k = {k}: {diff:e}");
            }
        }
    }
}

#[test]
fn histograms_and_tails_equal_those_of_pyod() {
    let fixture = fixture("outlier_1d.json");
    for set in fixture["sets"].as_array().unwrap() {
        let rows = dense_rows(&set["X"]);
        let none = Progress::none;
        let mut found = vec![
            ("copod", pyod_copod(&rows, none()).unwrap()),
            ("ecod", pyod_ecod(&rows, none()).unwrap()),
        ];
        for (bins, name) in [(5, "hbos_5"), (10, "hbos_10"), (20, "hbos_20")] {
            found.push((name, pyod_hbos(&rows, bins, none()).unwrap()));
        }
        for (name, found) in found {
            let diff = max_relative_diff(&found, &numbers(&set[name]));
            assert!(diff < 1e-12, "{} {name}: {diff:e}", set["name"]);
        }
    }
}

#[test]
fn time_rows_are_standardised_and_count_messages() {
    let names = ["step".to_owned(), "wait".to_owned()];
    let tree = |node, wait| PlainTree {
        node,
        parent: vec![-1, 0],
        func: vec![0, 1],
        w: vec![10 + wait, wait],
        kind: String::new(),
    };
    let forest = forest(&names, &[tree(0, 1), tree(0, 3), tree(1, 1), tree(1, 3)]);
    let rows = time_rows(&forest).unwrap();
    let column = |column: usize| -> Vec<f64> {
        (0..4)
            .map(|row| rows.row(row).to_dense(4)[column])
            .collect()
    };
    assert!(max_abs_diff(&column(0), &[-1.0, 1.0, -1.0, 1.0]) < 1e-12);
    assert!(
        column(2).iter().all(|&value| value.abs() < 1e-300),
        "no messages at all"
    );
    assert!(max_abs_diff(&column(3), &[-1.0, -1.0, 1.0, 1.0]) < 1e-12);
}

/// Returns 60 rows around two centres and, last, one far away.
fn two_clouds() -> Rows {
    let mut values = Vec::new();
    for row in 0..60_u32 {
        let centre = if row % 2 == 0 { 0.0 } else { 10.0 };
        let wobble = |factor: u32| f64::from((row * factor) % 17) / 17.0;
        values.extend([centre + wobble(5), centre + wobble(7)]);
    }
    values.extend([30.0, -30.0]);
    Rows::Dense(DenseRows::new(2, values).expect("finite numbers"))
}

/// Returns the truth about [`two_clouds`] for a supervised method: the second cloud and the last row.
fn second_cloud() -> Vec<Option<bool>> {
    (0..61).map(|row| Some(row % 2 == 1 || row == 60)).collect()
}

#[test]
fn every_baseline_ranks_the_single_row_first() {
    let params = BaselineParams::default().check().unwrap();
    for &baseline in Baseline::ALL {
        let is_anomaly = second_cloud();
        let found = score(
            baseline,
            &two_clouds(),
            &is_anomaly,
            &params,
            7,
            Progress::none(),
        );
        let found = found.unwrap();
        assert_eq!(Baseline::from_name(baseline.name()), Some(baseline));
        if baseline.name() == "svm" {
            continue;
        }
        let lowest = found.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(found[60] <= lowest, "{baseline}: {found:?}");
    }
}

#[test]
fn threads_do_not_change_scores() {
    let params = BaselineParams::default().check().unwrap();
    let scores_with = |num_threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(num_threads)
            .build()
            .unwrap();
        pool.install(|| {
            let run = |&baseline: &Baseline| {
                let truth = second_cloud();
                score(
                    baseline,
                    &two_clouds(),
                    &truth,
                    &params,
                    7,
                    Progress::none(),
                )
            };
            Baseline::ALL.iter().map(run).collect::<Vec<_>>()
        })
    };
    assert_eq!(scores_with(1), scores_with(3));
}

#[test]
fn handles_few_rows() {
    let params = BaselineParams::default().check().unwrap();
    let unsupervised = Baseline::ALL
        .iter()
        .filter(|baseline| baseline.name() != "svm");
    for &baseline in unsupervised {
        for num_rows in 1..4_usize {
            let values = (0..num_rows).map(|row| row as f64).collect();
            let rows = Rows::Dense(DenseRows::new(1, values).unwrap());
            let scores = score(baseline, &rows, &[], &params, 7, Progress::none()).unwrap();
            assert_eq!(scores.len(), num_rows);
            assert!(scores.iter().all(|score| score.is_finite()), "{baseline}");
        }
    }
}

#[test]
fn settings_out_of_bounds_are_refused() {
    let default = BaselineParams::default;
    for params in [
        BaselineParams {
            num_neighbours: 0,
            ..default()
        },
        BaselineParams {
            num_bins: 0,
            ..default()
        },
        BaselineParams {
            nu: 0.0,
            ..default()
        },
        BaselineParams {
            min_cluster_size: 1,
            ..default()
        },
        BaselineParams {
            svm_c: f64::NAN,
            ..default()
        },
        BaselineParams {
            num_isolation_trees: 0,
            ..default()
        },
        BaselineParams {
            isolation_sample: 1,
            ..default()
        },
        BaselineParams {
            num_folds: 1,
            ..default()
        },
        BaselineParams {
            max_training: 1,
            ..default()
        },
    ] {
        assert!(
            matches!(params.check(), Err(MlError::InvalidParam { .. })),
            "{params:?}"
        );
    }
}

/// Returns a tree of a root and leaves, one after the other on one rank.
fn bush(root_ns: i64, leaves_ns: &[i64]) -> PlainTree {
    let num_leaves = leaves_ns.len();
    PlainTree {
        node: 0,
        parent: [-1].into_iter().chain(vec![0; num_leaves]).collect(),
        func: [0].into_iter().chain(vec![1; num_leaves]).collect(),
        w: [root_ns]
            .into_iter()
            .chain(leaves_ns.iter().copied())
            .collect(),
        kind: String::new(),
    }
}

#[test]
fn rules_compute_their_formulas() {
    // Nine trees of one leaf, one of them four times as long; ten of two leaves; one of three, as long as the median
    // of all.
    let mut trees = vec![bush(100, &[60]); 8];
    trees.push(bush(400, &[30]));
    trees.extend(vec![bush(1_000, &[500, 450]); 10]);
    trees.push(bush(1_000, &[200, 700, 90]));
    let names = ["step".to_owned(), "solve".to_owned()];
    let forest = forest(&names, &trees);
    let scores = |rule| rule_scores(rule, &forest, Progress::none()).unwrap();
    let expect = |rule: Rule, tree: usize, expected: f64| {
        let found = scores(rule)[tree];
        assert!(
            (found + expected).abs() < 1e-12,
            "{rule} of {tree}: {found}"
        );
    };
    expect(Rule::Duration, 8, 400.0);
    expect(Rule::Largest, 8, 370.0);
    expect(Rule::Largest, 19, 700.0);
    expect(Rule::ClassRatio, 0, 0.0);
    expect(Rule::ClassRatio, 8, 4_f64.ln());
    expect(Rule::ClassRatio, 12, 0.0);
    expect(Rule::ClassRatio, 19, 0.0);
    // The last tree is in one of 16 windows.
    expect(Rule::RatioRarity, 19, 2.0 * 16_f64.ln());
    let first = |rule| {
        let scores = scores(rule);
        (0..scores.len()).min_by(|&a, &b| scores[a].total_cmp(&scores[b]))
    };
    assert_eq!(first(Rule::ClassRatio), Some(8));
    assert_eq!(first(Rule::RatioRarity), Some(19));
    let empty = callgrove_ml_tests::forest(&names, &[]);
    for &rule in Rule::ALL {
        assert_eq!(Rule::from_name(rule.name()), Some(rule));
        let found = rule_scores(rule, &empty, Progress::none());
        assert_eq!(found, Err(MlError::EmptyForest));
    }
}

#[cfg(feature = "peers")]
mod peers {
    use callgrove_evaluate::baselines::{clusters, isolation_forest, supervised_svm};

    use callgrove_trees::dataset::{SparseRow, SparseRows};

    use super::*;

    #[test]
    fn the_supervised_svm_learns_the_classes_and_its_folds_are_seeded() {
        let params = BaselineParams::default().check().unwrap();
        let rows = two_clouds();
        let mut is_anomaly = second_cloud();
        let run = |is_anomaly: &[Option<bool>], seed| {
            supervised_svm(&rows, is_anomaly, &params, seed, Progress::none())
        };
        let found = run(&is_anomaly, 7).unwrap();
        for (row, decision) in found[..60].iter().enumerate() {
            assert_eq!(*decision > 0.0, row % 2 == 1, "row {row}: {decision}");
        }
        assert_eq!(run(&is_anomaly, 7).unwrap(), found);
        assert_ne!(run(&is_anomaly, 8).unwrap(), found);
        // Rows of unknown class are scored too, and do not affect the training.
        is_anomaly[3] = None;
        assert!(run(&is_anomaly, 7).unwrap()[3] > 0.0);
        let unknown = vec![None; 61];
        let needed = MlError::TooFewExamples {
            num_positive: 0,
            num_negative: 0,
            needed: 2,
        };
        assert_eq!(run(&unknown, 7), Err(needed));
        assert!(matches!(run(&[], 7), Err(MlError::LengthMismatch { .. })));
    }

    #[test]
    fn the_supervised_svm_learns_from_a_sample_of_many_rows() {
        let params = BaselineParams {
            max_training: 20,
            ..BaselineParams::default()
        };
        let params = params.check().unwrap();
        let found =
            supervised_svm(&two_clouds(), &second_cloud(), &params, 7, Progress::none()).unwrap();
        let right = (0..60)
            .filter(|&row| (found[row] > 0.0) == (row % 2 == 1))
            .count();
        assert_eq!(right, 60);
    }

    fn isolated(rows: &Rows, seed: u64) -> Vec<f64> {
        let params = BaselineParams::default().check().expect("valid");
        isolation_forest(rows, &params, seed, Progress::none()).expect("it runs")
    }

    /// The score is 2^(−h/c) with the mean path h and c(n) = 2 H(n − 1) − 2 (n − 1)/n, so c(3) = 5/3. The first split
    /// almost certainly separates the far row (h = 1), the second one the other two (h = 2).
    #[test]
    fn scores_of_three_rows_are_those_of_the_definition() {
        let rows = Rows::Dense(DenseRows::new(1, vec![0.0, 1.0, 1e12]).unwrap());
        let expected = [-1.2, -1.2, -0.6].map(f64::exp2);
        let diff = max_abs_diff(&isolated(&rows, 7), &expected);
        assert!(diff < 1e-12, "{diff:e}");
        let equal = Rows::Dense(DenseRows::new(2, vec![3.0; 40]).unwrap());
        assert!(max_abs_diff(&isolated(&equal, 7), &[0.5; 20]) < 1e-12);
    }

    #[test]
    fn isolation_does_not_depend_on_units_and_is_seeded() {
        let rows = two_clouds();
        let values = (0..rows.len()).flat_map(|row| {
            let row = rows.row(row).to_dense(2);
            [1_024.0 * row[0], row[1] / 8.0]
        });
        let scaled = Rows::Dense(DenseRows::new(2, values.collect()).unwrap());
        assert!(max_abs_diff(&isolated(&rows, 7), &isolated(&scaled, 7)) < 1e-12);
        assert_ne!(isolated(&rows, 7), isolated(&rows, 8));
    }

    #[test]
    fn a_far_row_is_isolated_among_columns_that_are_mostly_zero() {
        let num_columns = 1_000;
        let row = |row: usize| SparseRow {
            columns: vec![row as u32 * 10, row as u32 * 10 + 1],
            values: vec![1.0, if row == 33 { 40.0 } else { -1.0 }],
        };
        let rows = SparseRows::new(num_columns, (0..90).map(row)).unwrap();
        let found = isolated(&Rows::Sparse(rows), 7);
        let first = (0..90).max_by(|&a, &b| found[a].total_cmp(&found[b]));
        assert_eq!(first, Some(33));
    }

    #[test]
    fn clusters_are_found_and_numbered_by_their_first_rows() {
        let params = BaselineParams {
            min_cluster_size: 15,
            ..BaselineParams::default()
        };
        let params = params.check().unwrap();
        let found = clusters(&two_clouds(), &params, Progress::none()).unwrap();
        assert_eq!(found.sizes.len(), 2, "{:?}", found.cluster);
        let num_clustered = found.sizes.iter().sum::<usize>();
        assert!(num_clustered >= 50, "{:?}", found.cluster);
        for (row, cluster) in found.cluster[..60].iter().enumerate() {
            assert!(cluster.is_none_or(|cluster| cluster as usize == row % 2));
        }
        assert_eq!(found.cluster[60], None);
    }

    #[test]
    fn handles_equal_rows() {
        let params = BaselineParams::default().check().unwrap();
        let rows = Rows::Dense(DenseRows::new(2, vec![1.0; 80]).unwrap());
        let found = clusters(&rows, &params, Progress::none()).unwrap();
        assert!(found.anomaly.iter().all(|anomaly| anomaly.is_finite()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Rows of small whole numbers, so that there are ties and duplicates.
    #[test]
    fn scores_move_with_their_rows(values in prop::collection::vec(-4..4_i8, 3 * 30)) {
        let params = BaselineParams::default().check().unwrap();
        let rows: Vec<Vec<f64>> = values
            .chunks(3)
            .map(|row| row.iter().map(|&value| f64::from(value)).collect())
            .collect();
        let turned: Vec<Vec<f64>> = rows.iter().rev().cloned().collect();
        // Ties among neighbours are broken by index, so this law does not hold for the outlier factor.
        for baseline in [Baseline::Knn, Baseline::MeanKnn, Baseline::PyodHbos, Baseline::PyodCopod, Baseline::PyodEcod] {
            let run = |rows: &[Vec<f64>]| {
                let rows = Rows::Dense(DenseRows::new(3, rows.concat()).unwrap());
                score(baseline, &rows, &[], &params, 1, Progress::none()).unwrap()
            };
            let mut found = run(&turned);
            found.reverse();
            prop_assert!(max_abs_diff(&found, &run(&rows)) < 1e-9, "{}", baseline);
        }
    }
}
