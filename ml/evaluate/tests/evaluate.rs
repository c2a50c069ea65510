//! Methods compared with the known truth of a generated forest.

use callgrove_evaluate::baselines::BaselineParams;
use callgrove_evaluate::evaluate::{Class, CurveParams, Method, Quality, RowsOf, Truth, Workbench};
use callgrove_judge::active::QueryStrategy;
use callgrove_judge::detector::DetectorParams;
use callgrove_ml_tests::{fixture_path, forest, read_forest};
use callgrove_model::Forest;
use callgrove_trees::{MlError, Progress};

const NORMAL: [&str; 4] = ["normal", "init", "thermo", "neigh"];

fn generated() -> (Forest, Truth) {
    let (names, trees) = read_forest(fixture_path("forest_small_200.jsonl"));
    let mut kinds: Vec<String> = Vec::new();
    let mut classes = Vec::new();
    for tree in &trees {
        if NORMAL.contains(&tree.kind.as_str()) {
            classes.push(Class::Negative);
            continue;
        }
        let kind = kinds.iter().position(|kind| *kind == tree.kind);
        classes.push(Class::Positive(kind.unwrap_or(kinds.len())));
        if kind.is_none() {
            kinds.push(tree.kind.clone());
        }
    }
    let truth = Truth::new(classes, kinds).expect("both classes occur");
    (forest(&names, &trees), truth)
}

fn workbench<'a>(forest: &'a Forest, truth: &'a Truth) -> Workbench<'a> {
    let baselines = BaselineParams::default().check().expect("valid");
    Workbench::new(forest, truth, DetectorParams::default(), baselines, 7).expect("of one length")
}

fn roc_auc(truth: &Truth, scores: &[f64]) -> f64 {
    Quality::of_all(truth, scores)
        .expect("both classes")
        .ranking
        .roc_auc
}

#[test]
fn every_method_ranks_a_forest_better_than_chance() {
    let (forest, truth) = generated();
    let mut workbench = workbench(&forest, &truth);
    let mut names = vec![
        "ours",
        "duration",
        "class-ratio",
        "ratio+rarity",
        "largest",
        "lof",
        "knn",
        "mean-knn",
        "hbos",
        "copod",
        "ecod",
        "ocsvm",
        "time+lof",
    ];
    if cfg!(feature = "peers") {
        names.extend([
            "svm",
            "clusters",
            "iforest",
            "stack2vec+iforest",
            "time+svm",
        ]);
    }
    for name in names {
        let method: Method = name.parse().unwrap();
        let scores = workbench.scores(method, Progress::none()).unwrap();
        assert_eq!(scores.len(), forest.len());
        let found = roc_auc(&truth, &scores);
        let least = if name == "ours" { 0.85 } else { 0.5 };
        assert!(found > least, "{name}: {found}");
        assert_eq!(
            workbench.scores(method, Progress::none()).unwrap(),
            scores,
            "{name}"
        );
    }
    assert_eq!(
        workbench
            .rows(RowsOf::Time, Progress::none())
            .unwrap()
            .num_columns(),
        4
    );
}

#[test]
fn labels_find_anomalies_and_improve_the_ranking() {
    let (forest, truth) = generated();
    let mut workbench = workbench(&forest, &truth);
    let params = CurveParams {
        checkpoints: vec![0, 5, 20],
    };
    let params = params.check().unwrap();
    let points = workbench
        .curve(
            Method::Ours,
            &params,
            QueryStrategy::MostAnomalous,
            Progress::none(),
        )
        .unwrap()
        .unwrap();
    let labels: Vec<usize> = points.iter().map(|point| point.num_labels).collect();
    assert_eq!(labels, [0, 5, 20]);
    let scores = workbench.scores(Method::Ours, Progress::none()).unwrap();
    assert_eq!(points[0].all, Quality::of_all(&truth, &scores));
    let precision = |index: usize| points[index].all.unwrap().ranking.average_precision;
    assert!(precision(2) > precision(0), "{points:?}");
    assert!(points[2].num_found > points[1].num_found);
    let left = points[2].unlabelled.unwrap();
    assert_eq!(
        left.num_positive + points[2].num_found,
        truth.num_positive()
    );
    let lof = "lof".parse().unwrap();
    let none = workbench.curve(lof, &params, QueryStrategy::MostAnomalous, Progress::none());
    assert_eq!(none, Ok(None));
}

#[test]
fn a_curve_skips_trees_of_unknown_class_and_ends_with_the_last_known_one() {
    let (forest, truth) = generated();
    let known = [3, 7, 20, 21, 22, 90];
    let classes = (0..truth.len()).map(|tree| {
        if known.contains(&tree) {
            truth.classes()[tree]
        } else {
            Class::Unknown
        }
    });
    let few = Truth::new(classes.collect(), truth.kinds().to_vec()).unwrap();
    let mut workbench = workbench(&forest, &few);
    let params = CurveParams::default().check().unwrap();
    for query in QueryStrategy::ALL {
        let points = workbench
            .curve(Method::Ours, &params, query, Progress::none())
            .unwrap()
            .unwrap();
        let last = points.last().unwrap();
        assert_eq!(last.num_labels, known.len());
        assert_eq!(last.num_found, few.num_positive());
        assert_eq!(last.unlabelled, None);
    }
}

#[test]
fn a_run_without_anomalies_has_no_missed_ones_and_no_false_alarms_once_labelled() {
    let (forest, truth) = generated();
    let clean = Truth::new(vec![Class::Negative; truth.len()], Vec::new()).unwrap();
    let mut workbench = workbench(&forest, &clean);
    let params = CurveParams {
        checkpoints: vec![0, 30],
    };
    let points = workbench
        .curve(
            Method::Ours,
            &params.check().unwrap(),
            QueryStrategy::MostAnomalous,
            Progress::none(),
        )
        .unwrap()
        .unwrap();
    assert_eq!((points[0].all, points[0].alarms.num_missed), (None, 0));
    // The generated anomalies count as normal here: 30 labels clear similar trees.
    assert!(points[1].alarms.num_false <= points[0].alarms.num_false);
    assert!(
        points[0].alarms.num_false <= truth.num_positive(),
        "{points:?}"
    );
}

#[test]
fn checkpoints_must_ascend() {
    for checkpoints in [vec![], vec![1, 1], vec![2, 1]] {
        assert!(CurveParams { checkpoints }.check().is_err());
    }
}

#[test]
fn refuses_an_inconsistent_truth() {
    let needed = MlError::TooFewExamples {
        num_positive: 0,
        num_negative: 0,
        needed: 1,
    };
    assert_eq!(Truth::new(vec![Class::Unknown; 2], Vec::new()), Err(needed));
    let no_kind = Truth::new(vec![Class::Negative, Class::Positive(0)], Vec::new());
    assert!(matches!(no_kind, Err(MlError::LengthMismatch { .. })));
    let (forest, _) = generated();
    let short = Truth::new(
        vec![Class::Negative, Class::Positive(0)],
        vec!["any".into()],
    )
    .unwrap();
    let baselines = BaselineParams::default().check().unwrap();
    let found = Workbench::new(&forest, &short, DetectorParams::default(), baselines, 1);
    assert!(matches!(found, Err(MlError::LengthMismatch { .. })));
}
