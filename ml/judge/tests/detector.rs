//! The complete workflow: forest, embedding, labels, scores, explanation, model file.

use std::sync::Arc;

use callgrove_judge::active::doubtful_labels;
use callgrove_judge::detector::{
    Detector, DetectorParams, Embedding, FeatureArtifact, Label, MapOf, Misfit, ModelArtifact,
    TreeModel, Yardstick, order_by_score,
};
use callgrove_learn::features::{ExcessModel, ExcessParams};
use callgrove_learn::metrics::{RankingQuality, ranking_quality};
use callgrove_learn::stack2vec::Stack2vecParams;
use callgrove_ml_tests::{PlainTree, fixture_path, forest, max_abs_diff, read_forest};
use callgrove_model::{Forest, TimeNs, Trace, TreeIdx};
use callgrove_trees::{MlError, Progress};

/// Returns the generated forest, and which of its trees are anomalies.
fn generated() -> (Forest, Vec<bool>, Vec<String>) {
    let (names, trees) = read_forest(fixture_path("forest_small_200.jsonl"));
    let kinds: Vec<String> = trees.iter().map(|tree| tree.kind.clone()).collect();
    let is_normal = |kind: &String| ["normal", "init", "thermo", "neigh"].contains(&kind.as_str());
    let is_anomaly = kinds.iter().map(|kind| !is_normal(kind)).collect();
    (forest(&names, &trees), is_anomaly, kinds)
}

fn small_paper() -> DetectorParams {
    DetectorParams {
        representation: callgrove_learn::features::Representation::PaperStack2vec(
            Stack2vecParams {
                dims: 32,
                epochs: 30,
                ..Stack2vecParams::default()
            },
        ),
        ..DetectorParams::paper()
    }
}

fn embed(forest: &Forest, params: DetectorParams) -> Embedding {
    Embedding::fit(
        forest,
        &params.check().expect("it is valid"),
        7,
        Progress::none(),
    )
    .expect("it is valid")
}

fn detect(embedding: &Embedding, labels: &[Option<Label>], warm: Option<&Detector>) -> Detector {
    Detector::train(embedding, labels, warm, Progress::none()).expect("it is valid")
}

fn quality(detector: &Detector, is_anomaly: &[bool]) -> RankingQuality {
    let anomaly: Vec<f64> = detector.scores().iter().map(|score| -score).collect();
    ranking_quality(is_anomaly, &anomaly).expect("it is valid")
}

/// Returns trees of one structure: a root, a compute child and a wait child of the given times.
fn plain_forest(times: &[(i64, i64)]) -> Forest {
    let names = ["step", "compute", "wait"].map(str::to_owned);
    let trees: Vec<PlainTree> = times
        .iter()
        .map(|&(compute, wait)| PlainTree {
            node: 0,
            parent: vec![-1, 0, 0],
            func: vec![0, 1, 2],
            w: vec![compute + wait, compute, wait],
            kind: String::new(),
        })
        .collect();
    forest(&names, &trees)
}

/// 100 similar trees; the one at 50 waits for long.
fn forest_with_one_long_wait() -> Forest {
    let times: Vec<(i64, i64)> = (0..100)
        .map(|tree| {
            let wobble = (tree * 37) % 29;
            let wait = if tree == 50 {
                9_000_000
            } else {
                20_000 + 300 * wobble
            };
            (1_000_000 + 1_000 * ((tree * 17) % 23), wait)
        })
        .collect();
    plain_forest(&times)
}

#[test]
fn the_default_ranks_generated_anomalies_first_and_better_than_the_paper_s_settings() {
    let (forest, is_anomaly, _) = generated();
    let default = embed(&forest, DetectorParams::default());
    let paper = embed(&forest, small_paper());
    let none = vec![None; forest.len()];
    let default = quality(&detect(&default, &none, None), &is_anomaly);
    let paper = quality(&detect(&paper, &none, None), &is_anomaly);
    assert!(
        default.roc_auc > 0.85 && default.average_precision > 0.45,
        "{default:?}"
    );
    assert!(
        default.average_precision > paper.average_precision,
        "{paper:?}"
    );
}

#[test]
fn labels_change_scores_as_in_the_paper() {
    let (forest, _, _) = generated();
    for params in [DetectorParams::default(), small_paper()] {
        let embedding = embed(&forest, params);
        let mut labels = vec![None; forest.len()];
        let plain = detect(&embedding, &labels, None);
        let first = order_by_score(plain.scores())[0];
        labels[first.index()] = Some(Label::Normal);
        let normal = detect(&embedding, &labels, Some(&plain));
        // In the paper's mode a label is a weight.
        assert!(!normal.abnormal()[first.index()]);
        labels[first.index()] = Some(Label::Abnormal);
        let abnormal = detect(&embedding, &labels, Some(&normal));
        let row = first.index();
        assert!(abnormal.scores()[row] <= plain.scores()[row] + 1e-12);
        assert_eq!(abnormal.trained().alpha()[row].to_bits(), 0.0_f64.to_bits());
        assert_eq!(abnormal.labels(), labels);
    }
}

#[test]
fn a_warm_start_gives_the_scores_of_a_cold_one_bit_by_bit() {
    let (forest, is_anomaly, _) = generated();
    for params in [DetectorParams::default(), small_paper()] {
        let embedding = embed(&forest, params);
        let mut labels = vec![None; forest.len()];
        let mut warm = detect(&embedding, &labels, None);
        for _ in 0..12 {
            let order = order_by_score(warm.scores());
            let next = order
                .iter()
                .find(|tree| labels[tree.index()].is_none())
                .unwrap();
            labels[next.index()] = Some(if is_anomaly[next.index()] {
                Label::Abnormal
            } else {
                Label::Normal
            });
            warm = detect(&embedding, &labels, Some(&warm));
            assert_eq!(warm.scores(), detect(&embedding, &labels, None).scores());
        }
    }
}

#[test]
fn threads_do_not_change_embedding_or_scores() {
    let (forest, _, _) = generated();
    let scores_with = |num_threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(num_threads)
            .build()
            .unwrap();
        pool.install(|| {
            let embedding = embed(&forest, DetectorParams::default());
            let detector = detect(&embedding, &vec![None; forest.len()], None);
            (detector.scores().to_vec(), embedding.map().clone())
        })
    };
    assert_eq!(scores_with(1), scores_with(4));
}

#[test]
fn scores_are_ordered_by_score_and_then_by_tree() {
    let order = order_by_score(&[0.0, -1.0, 1e-13, -1e-12, 5.0]);
    assert_eq!(order, [1, 0, 2, 3, 4].map(TreeIdx));
}

#[test]
fn a_long_wait_is_found() {
    let forest = forest_with_one_long_wait();
    // With ν = 0.02 a single odd tree of 100 is a free support vector: its score ties with others at 0.
    let paper = DetectorParams {
        nu: 0.05,
        ..small_paper()
    };
    for params in [DetectorParams::default(), paper] {
        let embedding = embed(&forest, params);
        let detector = detect(&embedding, &[None; 100], None);
        let odd = TreeIdx(50);
        let order = order_by_score(detector.scores());
        assert_eq!(order[0], odd);
        let lead = detector.scores()[order[1].index()] - detector.scores()[odd.index()];
        assert!(lead > 1e-3, "no tie: {lead}");
    }
}

#[test]
fn a_model_scores_its_own_forest_as_the_training_did_also_after_json() {
    let (forest, _, _) = generated();
    for params in [DetectorParams::default(), small_paper()] {
        let embedding = embed(&forest, params);
        let mut labels = vec![None; forest.len()];
        labels[3] = Some(Label::Normal);
        labels[4] = Some(Label::Abnormal);
        let detector = detect(&embedding, &labels, None);
        let model = ModelArtifact::new(&forest, &embedding, &detector, Progress::none()).unwrap();
        assert_eq!((model.labels.num_normal, model.labels.num_abnormal), (1, 1));
        assert_eq!(model.functions, ["compute"]);
        let json = serde_json::to_string(&model).unwrap();
        let read: ModelArtifact = serde_json::from_str(&json).unwrap();
        assert_eq!(read, model);
        let judged = TreeModel::new(read)
            .unwrap()
            .judge(&forest, Yardstick::Run, Progress::none())
            .unwrap();
        // A labelled tree has its label here; in another run it is a tree like any other.
        let is_open = |tree: &usize| labels[*tree].is_none();
        let open: Vec<usize> = (0..forest.len()).filter(is_open).collect();
        let of_open = |scores: &[f64]| open.iter().map(|&tree| scores[tree]).collect::<Vec<_>>();
        let (scores, trained) = (of_open(&judged.scores), of_open(detector.scores()));
        let bits = |scores: &[f64]| {
            scores
                .iter()
                .map(|score| score.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(&scores), bits(&trained), "{params:?}");
    }
}

#[test]
fn a_model_finds_anomalies_in_another_run_even_with_unknown_structure() {
    let embedding = embed(&forest_with_one_long_wait(), DetectorParams::default());
    let training = forest_with_one_long_wait();
    let detector = detect(&embedding, &[None; 100], None);
    let model = ModelArtifact::new(&training, &embedding, &detector, Progress::none()).unwrap();
    // A new run numbers its functions differently and has one that the training lacks.
    let names = ["other", "wait", "compute", "step"].map(str::to_owned);
    let tree = |func: Vec<u32>, w: Vec<i64>| PlainTree {
        node: 0,
        parent: vec![-1, 0, 0],
        func,
        w,
        kind: String::new(),
    };
    let run = forest(
        &names,
        &[
            tree(vec![3, 2, 1], vec![1_035_000, 1_010_000, 25_000]),
            tree(vec![3, 2, 1], vec![8_010_000, 1_010_000, 7_000_000]),
            tree(vec![3, 2, 0], vec![1_035_000, 1_010_000, 25_000]),
        ],
    );
    let judged = TreeModel::new(model)
        .unwrap()
        .judge(&run, Yardstick::Run, Progress::none())
        .unwrap();
    assert_eq!(judged.abnormal, [false, true, true], "{judged:?}");
}

#[test]
fn a_model_reports_a_misfit() {
    let training = forest_with_one_long_wait();
    let embedding = embed(&training, DetectorParams::default());
    let detector = detect(&embedding, &[None; 100], None);
    let model = ModelArtifact::new(&training, &embedding, &detector, Progress::none()).unwrap();
    let model = TreeModel::new(model).unwrap();
    let misfit = |forest: &Forest| {
        let judged = model
            .judge(forest, Yardstick::Run, Progress::none())
            .unwrap();
        judged.misfit
    };
    assert_eq!(misfit(&training), None);
    let run = |scale: i64, names: [&str; 3]| {
        let trees: Vec<PlainTree> = (0..60_i64)
            .map(|at| PlainTree {
                node: 0,
                parent: vec![-1, 0, 0],
                func: vec![0, 1, 2],
                w: vec![
                    scale * (1_035_000 + at),
                    scale * (1_010_000 + at),
                    scale * 25_000,
                ],
                kind: String::new(),
            })
            .collect();
        forest(&names.map(str::to_owned), &trees)
    };
    let slow = run(9, ["step", "compute", "wait"]);
    assert_eq!(misfit(&slow), None, "a slower machine is not a misfit");
    let judged = model
        .judge(&slow, Yardstick::Run, Progress::none())
        .unwrap();
    assert!(!judged.abnormal.contains(&true), "{judged:?}");
    let other = run(1, ["solve", "compute", "wait"]);
    let error = misfit(&other).unwrap();
    assert_eq!(
        error.to_string(),
        "it was trained for step, and these are executions of solve"
    );
    let error = misfit(&run(1, ["step", "io", "flush"])).unwrap();
    assert!(matches!(error, Misfit::Structure { .. }), "{error}");
}

#[test]
fn a_wrong_label_affects_only_similar_trees() {
    let times: Vec<(i64, i64)> = (0..400)
        .map(|at| (100_000 + 311 * (at % 17), 20_000 + 173 * (at % 13)))
        .collect();
    let forest = plain_forest(&times);
    let embedding = embed(&forest, DetectorParams::default());
    let plain = detect(&embedding, &vec![None; forest.len()], None);
    let num_abnormal = |detector: &Detector| detector.abnormal().iter().filter(|&&it| it).count();
    let ordinary: Vec<TreeIdx> = order_by_score(plain.scores()).into_iter().rev().collect();
    // Mistakes are scattered: three that agree in one place count as evidence.
    for num_wrong in [1, 3] {
        let mut labels = vec![None; forest.len()];
        for tree in ordinary.iter().step_by(60).take(num_wrong) {
            labels[tree.index()] = Some(Label::Abnormal);
        }
        let wrong = detect(&embedding, &labels, Some(&plain));
        // A labelled tree is classified by its own label.
        let most = num_abnormal(&plain) + (num_abnormal(&plain) / 4).max(10) + num_wrong;
        assert!(
            num_abnormal(&wrong) <= most,
            "{num_wrong}: {}",
            num_abnormal(&wrong)
        );
        let doubts = doubtful_labels(&embedding, &wrong);
        // A single label among dissimilar trees is doubtful; several that agree are evidence.
        if num_wrong == 1 {
            assert_eq!(doubts.len(), 1, "{doubts:?}");
        }
    }
}

#[test]
fn p_values_fall_with_the_statistic_and_are_shares_of_normal_trees() {
    let (forest, is_anomaly, _) = generated();
    let embedding = embed(&forest, DetectorParams::default());
    let p_values = embedding.p_values().expect("there are enough trees");
    let evidence = embedding.evidence();
    let mut of_excess: Vec<usize> = (0..forest.len())
        .filter(|&tree| evidence.structure_ln_p[tree] == 0.0)
        .collect();
    of_excess.sort_by(|&a, &b| evidence.statistics[b].total_cmp(&evidence.statistics[a]));
    assert!(of_excess.is_sorted_by(|&a, &b| p_values[a] <= p_values[b] * (1.0 + 1e-12)));
    assert!(
        p_values
            .iter()
            .all(|p_value| *p_value > 0.0 && *p_value <= 1.0)
    );
    // Normal trees are at least as frequent as their p-values.
    let normal: Vec<f64> = (0..forest.len())
        .filter(|&tree| !is_anomaly[tree])
        .map(|tree| p_values[tree])
        .collect();
    let share_below = |p_value: f64| {
        let below = normal.iter().filter(|&&other| other <= p_value).count();
        below as f64 / normal.len() as f64
    };
    for p_value in [0.5, 0.2, 0.1] {
        let share = share_below(p_value);
        assert!(share < 1.5 * p_value, "{p_value}: {share}");
    }
}

#[test]
fn models_of_other_versions_and_damaged_ones_are_refused() {
    let forest = forest_with_one_long_wait();
    let embedding = embed(&forest, DetectorParams::default());
    let detector = detect(&embedding, &[None; 100], None);
    let model = ModelArtifact::new(&forest, &embedding, &detector, Progress::none()).unwrap();
    let newer = ModelArtifact {
        version: 99,
        ..model.clone()
    };
    assert_eq!(
        TreeModel::new(newer).unwrap_err().to_string(),
        "the model has version 99, but this program supports version 7; train it again"
    );
    let mut endless = model.clone();
    let excess = ExcessParams::default().check().unwrap();
    endless.features = FeatureArtifact::Excess(ExcessModel::new(excess, usize::MAX));
    let mut short = model;
    short.vocabulary.pop();
    for damaged in [endless, short] {
        let error = TreeModel::new(damaged).unwrap_err();
        assert!(matches!(error, MlError::DamagedModel { .. }));
    }
}

/// Adds the pointers to all numbers that are no integers.
fn add_places_of_reals(value: &serde_json::Value, place: String, places: &mut Vec<String>) {
    match value {
        serde_json::Value::Number(number) if number.is_f64() => places.push(place),
        serde_json::Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                add_places_of_reals(item, format!("{place}/{at}"), places);
            }
        }
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                add_places_of_reals(field, format!("{place}/{name}"), places);
            }
        }
        _ => {}
    }
}

#[test]
fn refuses_models_that_no_training_produces() {
    let forest = forest_with_one_long_wait();
    let embedding = embed(&forest, DetectorParams::default());
    let detector = detect(&embedding, &[None; 100], None);
    let model = ModelArtifact::new(&forest, &embedding, &detector, Progress::none()).unwrap();
    let json = serde_json::to_value(&model).unwrap();
    let read = |json: &serde_json::Value| {
        ModelArtifact::read(json.to_string().as_bytes()).and_then(TreeModel::new)
    };
    assert!(read(&json).is_ok());
    let mut places = Vec::new();
    add_places_of_reals(&json, String::new(), &mut places);
    assert!(places.len() > 100, "{}", places.len());
    for place in places.iter().step_by(places.len() / 100) {
        for number in [1e300, -1e300] {
            let mut wrong = json.clone();
            *wrong.pointer_mut(place).expect(place) = number.into();
            assert!(read(&wrong).is_err(), "{place} = {number}");
        }
    }
    for (path, number) in [
        ("/svm/rho", 1e300),
        ("/svm/rho", -1e300),
        ("/svm/rho", 0.5 * model.svm.rho),
        ("/svm/gamma", -1.0),
        ("/svm/gamma", 1e308),
        ("/svm/support/0/alpha", 2.0),
        ("/svm/support/0/alpha", -0.1),
        ("/scale", 1e300),
        ("/params/nu", 7.0),
        ("/tail/threshold", 1e300),
        ("/tail/threshold", -1e300),
        ("/tail/scale", 1e300),
        ("/tail/shape", 1e300),
        ("/tail/tail_share", 0.999),
        ("/tail_of_one/num_effective", 1e300),
        ("/normal/num_of_event", 1e300),
        ("/normal_of_one/knots/0/0", 1e300),
        ("/normal_of_one/knots/0/0", 1.0),
        ("/svm_tail/tail/threshold", 1e300),
        ("/svm_tail/middle", 1e300),
        ("/svm_tail/scale", 1e300),
    ] {
        let mut wrong = json.clone();
        *wrong.pointer_mut(path).expect(path) = number.into();
        let error = read(&wrong).expect_err(path);
        let is_known = matches!(
            error,
            MlError::DamagedModel { .. } | MlError::InvalidParam { .. }
        );
        assert!(is_known, "{path} = {number}: {error}");
    }
}

#[test]
fn reading_a_model_checks_the_settings_of_its_features() {
    let forest = forest_with_one_long_wait();
    let embedding = embed(&forest, DetectorParams::default());
    let detector = detect(&embedding, &[None; 100], None);
    let model = ModelArtifact::new(&forest, &embedding, &detector, Progress::none()).unwrap();
    let mut wrong = serde_json::to_value(&model).unwrap();
    wrong["features"]["excess"]["params"]["gain"] = (-1.0).into();
    let error = ModelArtifact::read(wrong.to_string().as_bytes()).unwrap_err();
    let expected = "this is not a Callgrove model (gain must be a finite number above 0, not -1";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn too_few_trees_still_have_scores() {
    for times in [vec![(5, 5)], vec![(5, 5), (6, 5)], vec![(5, 5); 4]] {
        let forest = plain_forest(&times);
        let embedding = embed(&forest, DetectorParams::default());
        let detector = detect(&embedding, &vec![None; times.len()], None);
        assert!(detector.scores().iter().all(|score| score.is_finite()));
        assert!(
            embedding
                .map()
                .points
                .iter()
                .flatten()
                .all(|value| value.is_finite())
        );
    }
}

#[test]
fn trees_without_any_time_still_have_scores() {
    let forest = plain_forest(&[(0, 0), (0, 0), (0, 0)]);
    for params in [DetectorParams::default(), small_paper()] {
        let embedding = embed(&forest, params);
        let detector = detect(&embedding, &[None; 3], None);
        assert!(detector.scores().iter().all(|score| score.is_finite()));
    }
}

#[test]
fn an_empty_forest_and_wrong_labels_are_refused() {
    let params = DetectorParams::default().check().unwrap();
    let empty = forest(&["step".to_owned()], &[]);
    let error = Embedding::fit(&empty, &params, 7, Progress::none()).unwrap_err();
    assert_eq!(error, MlError::EmptyForest);
    let embedding = embed(&plain_forest(&[(5, 5), (6, 6)]), DetectorParams::default());
    let train = |labels: &[Option<Label>]| {
        Detector::train(&embedding, labels, None, Progress::none()).unwrap_err()
    };
    assert!(matches!(train(&[None]), MlError::LengthMismatch { .. }));
    assert_eq!(
        train(&[Some(Label::Abnormal); 2]),
        MlError::NoPositiveWeight
    );
}

#[test]
fn cancelling_stops_the_embedding_at_any_stage() {
    let (forest, _, _) = generated();
    let params = DetectorParams::default().check().unwrap();
    for limit in [0.0, 0.1, 0.5, 0.9] {
        let stop = move |fraction: f32| {
            if fraction >= limit {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        };
        let found = Embedding::fit(&forest, &params, 7, Progress::new(&stop));
        assert_eq!(found.unwrap_err(), MlError::Cancelled);
    }
}

#[test]
fn the_centre_of_a_group_is_its_most_typical_tree() {
    let forest = plain_forest(&[(100, 10), (120, 10), (140, 10), (400, 10)]);
    let embedding = embed(&forest, DetectorParams::default());
    let group = [0, 1, 2].map(TreeIdx);
    assert_eq!(embedding.centre_of(&group), Some(TreeIdx(1)));
    assert_eq!(embedding.centre_of(&[]), None);
}

#[test]
fn the_map_can_show_stack2vec_vectors_instead() {
    let (forest, _, _) = generated();
    let stack2vec = Stack2vecParams {
        dims: 8,
        epochs: 5,
        ..Stack2vecParams::default()
    };
    let with_map = |map_of| {
        let params = DetectorParams {
            map_of,
            ..DetectorParams::default()
        };
        embed(&forest, params)
    };
    let plain = with_map(MapOf::Representation);
    let other = with_map(MapOf::Stack2vec(stack2vec));
    assert_eq!(plain.rows(), other.rows());
    assert_ne!(plain.map(), other.map());
    assert!((0.5..=1.0).contains(&other.trustworthiness()));
}

#[test]
fn a_tree_has_one_score_whatever_trees_are_judged_with_it() {
    let (forest, _, _) = generated();
    for params in [DetectorParams::default(), small_paper()] {
        // Trained on a part, so that the rest has structures and functions that are unknown to it.
        let part = forest.between(TimeNs(0)..forest.tree(TreeIdx(40)).entry()[0]);
        let embedding = embed(&part, params);
        let detector = detect(&embedding, &vec![None; part.len()], None);
        let model = ModelArtifact::new(&part, &embedding, &detector, Progress::none()).unwrap();
        let model = TreeModel::new(model).unwrap();
        let judge = |forest: &Forest| {
            let judged = model.judge(forest, Yardstick::Training, Progress::none());
            let judged = judged.unwrap();
            let bits = |numbers: &[f64]| numbers.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
            (bits(&judged.scores), bits(&judged.p_values), judged.unseen)
        };
        let (scores, p_values, unseen) = judge(&forest);
        for (tree, &index) in forest.trees().iter().enumerate() {
            let alone = Forest::of_trees(
                Arc::clone(forest.trace()),
                forest.functions().to_vec(),
                vec![index],
                0,
            );
            let alone = judge(&alone.unwrap());
            let expected = (vec![scores[tree]], vec![p_values[tree]], vec![unseen[tree]]);
            assert_eq!(alone, expected, "tree {tree}, {params:?}");
        }
    }
}

#[test]
fn recorded_anomalies_have_no_effect_before_they_are_labelled() {
    const NUM_SAMPLED: usize = 100;
    let times = (0..NUM_SAMPLED as i64 + 60).map(|tree| {
        let wait = 20_000 + 300 * ((tree * 37) % 29);
        let is_anomaly = tree >= NUM_SAMPLED as i64 || tree == 50;
        let compute = 1_000_000 + 1_000 * ((tree * 17) % 23);
        (compute, if is_anomaly { 150 * wait } else { wait })
    });
    let all = plain_forest(&times.collect::<Vec<_>>());
    let mut trace = Trace::clone(all.trace());
    let roots = all.trees()[NUM_SAMPLED..].iter().map(|tree| tree.root);
    trace.unsampled = roots.collect();
    let (functions, trees) = (all.functions().to_vec(), all.trees().to_vec());
    let recorded = Forest::of_trees(Arc::new(trace), functions, trees, 0).unwrap();
    let sample = all.selected(|tree| tree.index() < NUM_SAMPLED);

    let judged = |forest: &Forest| {
        let embedding = embed(forest, DetectorParams::default());
        let detector = detect(&embedding, &vec![None; forest.len()], None);
        (detector.scores().to_vec(), detector.abnormal().to_vec())
    };
    let (found, abnormal) = judged(&recorded);
    assert!(max_abs_diff(&found[..NUM_SAMPLED], &judged(&sample).0) <= 0.0);
    assert!(abnormal[NUM_SAMPLED..].iter().all(|&it| it));

    let embedding = embed(&recorded, DetectorParams::default());
    let mut labels = vec![None; recorded.len()];
    labels[NUM_SAMPLED] = Some(Label::Normal);
    let detector = detect(&embedding, &labels, None);
    assert!(detector.scores()[NUM_SAMPLED] > found[NUM_SAMPLED]);
    let model = ModelArtifact::new(&recorded, &embedding, &detector, Progress::none()).unwrap();
    assert_eq!(
        (model.num_trees, model.labels.num_normal),
        (NUM_SAMPLED + 1, 1)
    );
    TreeModel::new(model).unwrap();
}
