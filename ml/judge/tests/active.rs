//! Effects of labels beyond weights, the next question, and doubtful labels.

use callgrove_judge::active::{QueryStrategy, doubtful_labels, next_queries};
use callgrove_judge::detector::{
    DecisionRule, Detector, DetectorParams, Embedding, Label, LabelRule,
};
use callgrove_learn::features::Windows;
use callgrove_ml_tests::{PlainTree, forest};
use callgrove_model::{Forest, TreeIdx};
use callgrove_trees::Progress;

/// Returns a root with a compute and a wait child of these times, on rank `node`; `is_odd` adds a call.
fn tree(node: u32, compute: i64, wait: i64, is_odd: bool) -> PlainTree {
    let mut tree = PlainTree {
        node,
        parent: vec![-1, 0, 0],
        func: vec![0, 1, 2],
        w: vec![compute + wait, compute, wait],
        kind: String::new(),
    };
    if is_odd {
        tree.parent.push(0);
        tree.func.push(3);
        tree.w.push(0);
    }
    tree
}

fn grow(trees: &[PlainTree]) -> Forest {
    forest(
        &["step", "compute", "wait", "extra"].map(str::to_owned),
        trees,
    )
}

/// 200 trees: 0..190 are usual, 190..195 compute for long, 195..200 wait for long.
fn two_kinds() -> Embedding {
    let trees: Vec<PlainTree> = (0..200_i64)
        .map(|at| {
            let (compute, wait) = (100_000 + 311 * (at % 17), 20_000 + 173 * (at % 13));
            match at {
                190..195 => tree(0, 400_000 + 5_000 * at, wait, false),
                195.. => tree(0, compute, 300_000 + 5_000 * at, false),
                _ => tree(0, compute, wait, false),
            }
        })
        .collect();
    embed(&grow(&trees), DetectorParams::default())
}

fn embed(forest: &Forest, params: DetectorParams) -> Embedding {
    let params = params.check().expect("it is valid");
    Embedding::fit(forest, &params, 7, Progress::none()).expect("it is valid")
}

fn train(embedding: &Embedding, labels: &[(usize, Label)], warm: Option<&Detector>) -> Detector {
    let mut all = vec![None; embedding.num_trees()];
    for &(tree, label) in labels {
        all[tree] = Some(label);
    }
    Detector::train(embedding, &all, warm, Progress::none()).expect("it is valid")
}

fn abnormal(detector: &Detector) -> Vec<usize> {
    let is_abnormal = detector.abnormal();
    (0..is_abnormal.len())
        .filter(|&tree| is_abnormal[tree])
        .collect()
}

#[test]
fn labels_apply_immediately_and_consistent_ones_affect_their_own_kind_only() {
    let embedding = two_kinds();
    let plain = train(&embedding, &[], None);
    assert_eq!(abnormal(&plain), (190..200).collect::<Vec<_>>());
    let mut labels = vec![(192, Label::Normal)];
    let one = train(&embedding, &labels, Some(&plain));
    let all_but_it: Vec<usize> = (190..200).filter(|&tree| tree != 192).collect();
    assert_eq!(abnormal(&one), all_but_it);
    labels.extend([(190, Label::Normal), (194, Label::Normal)]);
    let few = train(&embedding, &labels, Some(&one));
    assert_eq!(abnormal(&few), (195..200).collect::<Vec<_>>());
}

#[test]
fn labels_that_confirm_the_decision_do_not_change_it() {
    let embedding = two_kinds();
    let plain = train(&embedding, &[], None);
    let labels = [(3, Label::Normal), (193, Label::Abnormal)];
    let detector = train(&embedding, &labels, None);
    assert_eq!(abnormal(&detector), abnormal(&plain));
}

#[test]
fn with_the_paper_s_rule_labels_are_weights_only() {
    let params = DetectorParams {
        labels: LabelRule::Weights { normal: 1.5 },
        decision: DecisionRule::Rho,
        ..DetectorParams::default()
    };
    let trees: Vec<PlainTree> = (0..60)
        .map(|at| tree(0, if at == 30 { 900_000 } else { 1_000 + at }, 10, false))
        .collect();
    let embedding = embed(&grow(&trees), params);
    assert!(train(&embedding, &[], None).abnormal()[30]);
    let detector = train(&embedding, &[(30, Label::Normal)], None);
    assert_eq!(detector.scores(), detector.trained().scores());
    assert!(!detector.abnormal()[30]);
}

#[test]
fn learns_hundreds_of_labels_and_warm_starts_give_the_same_result() {
    let trees: Vec<PlainTree> = (0..1_500_i64)
        .map(|at| {
            let (compute, wait) = (100_000 + 311 * (at % 17), 20_000 + 173 * (at % 13));
            match at {
                1_200..1_350 => tree(0, compute + 2_000 * (at - 1_000), wait, false),
                1_350.. => tree(0, compute, wait + 2_000 * (at - 1_150), false),
                _ => tree(0, compute, wait, false),
            }
        })
        .collect();
    let embedding = embed(&grow(&trees), DetectorParams::default());
    // Long computing is normal here, long waiting is not.
    let label = |at| match at {
        1_350.. => Label::Abnormal,
        _ => Label::Normal,
    };
    let labels: Vec<(usize, Label)> = (1_000..1_500).map(|at| (at, label(at))).collect();
    let half = train(&embedding, &labels[..300], None);
    let warm = train(&embedding, &labels, Some(&half));
    assert_eq!(warm.scores(), train(&embedding, &labels, None).scores());
    assert_eq!(abnormal(&warm), (1_350..1_500).collect::<Vec<_>>());
}

#[test]
fn strategies_select_the_lowest_the_most_uncertain_and_one_of_each_kind() {
    let embedding = two_kinds();
    let detector = train(&embedding, &[(199, Label::Abnormal)], None);
    let ask = |query| next_queries(query, &embedding, &detector, 200);
    for query in QueryStrategy::ALL {
        let order = ask(query);
        assert!(!order.contains(&TreeIdx(199)), "it has a label");
        assert_eq!(order, next_queries(query, &embedding, &detector, 500));
    }
    let score = |tree: &TreeIdx| detector.scores()[tree.index()];
    assert!(ask(QueryStrategy::MostAnomalous).is_sorted_by(|a, b| score(a) <= score(b) + 1e-9));
    let far = |tree: &TreeIdx| (score(tree) - detector.threshold()).abs();
    assert!(ask(QueryStrategy::MostUncertain).is_sorted_by(|a, b| far(a) <= far(b) + 1e-9));
    // 199 waits, so one that computes comes first; both kinds are among the first few.
    let diverse = ask(QueryStrategy::Diverse);
    assert!((190..195).contains(&diverse[0].index()), "{diverse:?}");
    let answered = train(
        &embedding,
        &[
            (199, Label::Abnormal),
            (diverse[0].index(), Label::Abnormal),
        ],
        Some(&detector),
    );
    let next = next_queries(QueryStrategy::Diverse, &embedding, &answered, 1);
    assert_ne!(next[0], diverse[0]);
}

#[test]
fn a_label_that_its_neighbours_contradict_is_doubtful() {
    let embedding = two_kinds();
    let mut labels: Vec<(usize, Label)> = [190, 191, 193, 194]
        .map(|tree| (tree, Label::Abnormal))
        .to_vec();
    labels.push((10, Label::Normal));
    let doubts_of =
        |labels: &[(usize, Label)]| doubtful_labels(&embedding, &train(&embedding, labels, None));
    assert_eq!(doubts_of(&labels), []);
    labels.push((192, Label::Normal));
    let doubts = doubts_of(&labels);
    assert_eq!(doubts.len(), 1, "{doubts:?}");
    assert_eq!(
        (doubts[0].tree, doubts[0].label),
        (TreeIdx(192), Label::Normal)
    );
    assert!([191, 193].contains(&doubts[0].witness.0), "{doubts:?}");
    assert!((0.9..=1.0).contains(&doubts[0].strength));
}

#[test]
fn a_structure_of_one_time_range_is_rarer_than_a_recurring_one() {
    let trees: Vec<PlainTree> = (0..320)
        .map(|at| tree(at / 160, 1_000, 10, false))
        .collect();
    let windows = Windows::new(&grow(&trees), 16);
    let every_tenth: Vec<usize> = (0..320).step_by(10).collect();
    let one_range: Vec<usize> = (40..50).chain(200..210).collect();
    let long_range: Vec<usize> = (40..80).chain(200..240).collect();
    let beginning: Vec<usize> = (0..30).chain(160..190).collect();
    let own_of_a_rank: Vec<usize> = (160..320).collect();
    assert!(windows.rarity(&every_tenth).abs() < 1e-12);
    assert!(windows.rarity(&own_of_a_rank).abs() < 1e-12);
    for range in [one_range, long_range] {
        assert!((windows.rarity(&range) - 16.0_f64.ln()).abs() < 1e-12);
    }
    assert!(
        windows.rarity(&beginning).abs() < 1e-12,
        "most ranks begin so"
    );
    assert!((windows.largest_rarity() - 16.0_f64.ln()).abs() < 1e-12);
    assert!(windows.rarity(&[]).abs() < 1e-12);
}

#[test]
fn unexpected_structure_is_abnormal_and_output_every_tenth_step_is_not() {
    let trees: Vec<PlainTree> = (0..640_u32)
        .map(|at| {
            let step = at % 320;
            // Between two outputs: with an output among them there would be two structures.
            let is_unexpected = (201..207).contains(&step);
            let is_output = step % 10 == 0;
            let mut tree = tree(at / 320, 100_000 + i64::from(at % 37), 5_000, is_unexpected);
            if is_output {
                tree.func.push(2);
                tree.parent.push(0);
                tree.w.push(0);
            }
            tree
        })
        .collect();
    let embedding = embed(&grow(&trees), DetectorParams::default());
    let found = abnormal(&train(&embedding, &[], None));
    let expected: Vec<usize> = (0..640)
        .filter(|at| (201..207).contains(&(at % 320)))
        .collect();
    assert_eq!(found, expected);
}
