//! Decisions about leaf functions, few and many executions, coarse clocks, and other machines.

use callgrove_judge::decision::DesignKind;
use callgrove_judge::detector::{
    Detector, DetectorParams, Embedding, ModelArtifact, TreeModel, Yardstick,
};
use callgrove_ml_tests::{PlainTree, forest};
use callgrove_model::{Forest, TreeIdx};
use callgrove_trees::Progress;

/// Returns trees of one structure with these durations, nanoseconds, by rank; with `has_child` one call takes all but
/// a tenth of them.
fn runs(durations: &[Vec<i64>], has_child: bool) -> Forest {
    let names = ["step", "part"].map(str::to_owned);
    let tree = |node: u32, duration_ns: i64| PlainTree {
        node,
        parent: if has_child { vec![-1, 0] } else { vec![-1] },
        func: if has_child { vec![0, 1] } else { vec![0] },
        w: if has_child {
            vec![duration_ns, duration_ns * 9 / 10]
        } else {
            vec![duration_ns]
        },
        kind: String::new(),
    };
    let trees: Vec<PlainTree> = (0..)
        .zip(durations)
        .flat_map(|(node, of_rank)| of_rank.iter().map(move |&it| (node, it)))
        .map(|(node, duration)| tree(node, duration))
        .collect();
    forest(&names, &trees)
}

/// Returns 1 ms with a scatter of some 3 %, a fixed sequence, rounded to `tick` nanoseconds.
fn usual(at: usize, tick: i64) -> i64 {
    let sum: f64 = [0.754_877, 0.569_840, 0.324_717]
        .iter()
        .map(|step| (at as f64 * step).fract() - 0.5)
        .sum();
    let duration = 1e6 * (1.0 + 0.06 * sum);
    (duration / tick as f64).round() as i64 * tick
}

/// Returns a detector of a forest, without labels.
fn trained(forest: &Forest) -> (Embedding, Detector) {
    let params = DetectorParams::default().check().expect("it is valid");
    let embedding = Embedding::fit(forest, &params, 1, Progress::none()).expect("it is valid");
    let none = vec![None; forest.len()];
    let detector = Detector::train(&embedding, &none, None, Progress::none()).expect("it is valid");
    (embedding, detector)
}

fn abnormal(forest: &Forest) -> Vec<usize> {
    let (_, detector) = trained(forest);
    (0..forest.len())
        .filter(|&tree| detector.abnormal()[tree])
        .collect()
}

#[test]
fn long_executions_are_found_with_and_without_calls_below_and_clean_runs_have_none() {
    for has_child in [false, true] {
        for num in [60, 300, 2_000, 12_000] {
            for tick in [1, 1_000, 10_000] {
                let mut durations: Vec<i64> = (0..num).map(|at| usual(at, tick)).collect();
                let what = format!("{num} of tick {tick}, with a child: {has_child}");
                let clean = abnormal(&runs(&[durations.clone()], has_child));
                assert_eq!(clean, [0_usize; 0], "{what}");
                durations[num / 2] = 1_000_000_000;
                durations[num / 3] = 10_000_000;
                let found = abnormal(&runs(&[durations], has_child));
                assert_eq!(found, [num / 3, num / 2], "{what}");
            }
        }
    }
}

#[test]
fn a_quarter_of_the_run_may_be_abnormal() {
    // Not at equal distances, which would be by design: nothing repeats within 997 executions.
    let is_wrong = |at: usize| (at * at * at * 31 + at * 17) % 997 < 247;
    let durations: Vec<i64> = (0..1_000)
        .map(|at| usual(at, 1) * if is_wrong(at) { 5 } else { 1 })
        .collect();
    let expected: Vec<usize> = (0..1_000).filter(|&at| is_wrong(at)).collect();
    assert!((200..300).contains(&expected.len()), "{}", expected.len());
    assert_eq!(abnormal(&runs(&[durations], true)), expected);
}

#[test]
fn ranks_that_take_longer_by_design_are_compared_with_themselves() {
    let durations: Vec<Vec<i64>> = (0..8)
        .map(|rank| {
            (0..200)
                .map(|at| (1 + rank) * usual(at + 31 * rank as usize, 1))
                .collect()
        })
        .collect();
    assert_eq!(abnormal(&runs(&durations, true)), [0_usize; 0]);
    let mut late = durations;
    late[1][77] *= 6;
    assert_eq!(abnormal(&runs(&late, true)), [200 + 77]);
}

#[test]
fn a_wait_that_travels_from_rank_to_rank_is_by_design_and_a_longer_one_is_not() {
    let duration =
        |rank: usize, at: usize| usual(331 * rank + at, 1) * if at % 20 == rank { 3 } else { 1 };
    let of_rank = |rank: usize| (0..220).map(|at| duration(rank, at)).collect();
    let mut durations: Vec<Vec<i64>> = (0..8).map(of_rank).collect();
    assert_eq!(abnormal(&runs(&durations, true)), [0_usize; 0]);
    durations[3][103] *= 4;
    durations[5][50] *= 3;
    let run = runs(&durations, true);
    assert_eq!(abnormal(&run), [3 * 220 + 103, 5 * 220 + 50]);
    let (embedding, _) = trained(&run);
    let design = &embedding.evidence().design;
    let class = design.of(TreeIdx(4 * 220 + 24)).expect("it is by design");
    assert_eq!(class.kind, DesignKind::LongEvery { period: 20 });
    assert!(class.is_everywhere);
    assert_eq!(design.of(TreeIdx(4 * 220 + 25)), None);
}

#[test]
fn late_executions_of_ranks_whose_work_changes_are_found() {
    let work = |rank: usize, at: usize| 1.0 + 0.5 * (at as f64 / 15.0 + rank as f64).sin();
    let duration =
        |rank: usize, at: usize| (usual(331 * rank + at, 1) as f64 * work(rank, at)) as i64;
    let of_rank = |rank: usize| (0..200).map(|at| duration(rank, at)).collect();
    let mut durations: Vec<Vec<i64>> = (0..6).map(of_rank).collect();
    assert_eq!(abnormal(&runs(&durations, true)), [0_usize; 0]);
    // Work is the least here, so that the whole run has times as long.
    let late: Vec<usize> = (0..6).map(|rank| 71 - 15 * rank.min(4)).collect();
    for (of_rank, &at) in durations.iter_mut().zip(&late) {
        of_rank[at] = of_rank[at] * 5 / 2;
    }
    let expected: Vec<usize> = (0..6).map(|rank| 200 * rank + late[rank]).collect();
    assert_eq!(abnormal(&runs(&durations, true)), expected);
}

#[test]
fn a_reference_of_a_faster_machine_finds_the_same() {
    let clean: Vec<i64> = (0..600).map(|at| usual(at, 1)).collect();
    let training = runs(std::slice::from_ref(&clean), true);
    let (embedding, detector) = trained(&training);
    let model = ModelArtifact::new(&training, &embedding, &detector, Progress::none())
        .expect("it is valid");
    let model = TreeModel::new(model).expect("it is valid");
    let mut slower: Vec<i64> = clean.iter().map(|duration| 2 * duration).collect();
    slower[100] *= 4;
    let run = runs(&[slower], true);
    for by in [Yardstick::Run, Yardstick::RunAlone] {
        let judged = model
            .judge(&run, by, Progress::none())
            .expect("it is valid");
        assert_eq!(judged.misfit, None);
        let found = judged.abnormal.iter().enumerate();
        let found: Vec<usize> = found.filter(|it| *it.1).map(|it| it.0).collect();
        assert_eq!(found, [100], "{by:?}");
    }
}

#[test]
fn too_few_executions_are_ranked_but_never_abnormal() {
    // 16 calls that open files: those of one rank are fast, most of those of the other are slow.
    let durations = [
        vec![1_015, 1_023, 965, 4_249, 1_161, 1_303, 1_028, 1_066],
        vec![6_189, 2_413, 1_615, 79_800, 43_894, 105_659, 67_442, 67_049],
    ];
    let forest = runs(
        &durations.map(|of_rank| of_rank.iter().map(|us| us * 1_000).collect()),
        true,
    );
    let (_, detector) = trained(&forest);
    assert!(!detector.abnormal().contains(&true));
    let mut order: Vec<usize> = (0..16).collect();
    order.sort_by(|&a, &b| detector.scores()[a].total_cmp(&detector.scores()[b]));
    assert_eq!(order[..5], [13, 11, 14, 15, 12]);
}
