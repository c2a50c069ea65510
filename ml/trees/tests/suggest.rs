//! The function that is proposed as root.

use callgrove_ml_tests::{PlainTree, forest};
use callgrove_model::Trace;
use callgrove_trees::suggest::{RootSuggestion, suggest_roots};

const NAMES: [&str; 6] = [
    "main",
    "solver::step",
    "solver::exchange",
    "MPI_Wait",
    "kernel",
    "init",
];

/// Returns a program with `num_steps` steps of 25 kernel calls and two exchanges on each of two ranks.
fn program(num_steps: i64) -> Trace {
    let names = NAMES.map(str::to_owned);
    let trees: Vec<PlainTree> = (0..2)
        .map(|node| {
            let mut tree = PlainTree {
                node,
                parent: vec![-1, 0],
                func: vec![0, 5],
                w: vec![0, 1_000_000],
                kind: String::new(),
            };
            for step in 0..num_steps {
                let slow = if step % 10 == 9 { 6 } else { 1 };
                push_step(&mut tree, slow);
            }
            tree.w[0] = tree
                .parent
                .iter()
                .zip(&tree.w)
                .filter(|(parent, _)| **parent == 0)
                .map(|(_, weight)| weight)
                .sum();
            tree
        })
        .collect();
    Trace::clone(forest(&names, &trees).trace())
}

fn push_step(tree: &mut PlainTree, slow: i64) {
    let step = tree.func.len() as i64;
    let mut push = |parent: i64, func: u32, weight: i64| {
        tree.parent.push(parent);
        tree.func.push(func);
        tree.w.push(weight);
        tree.func.len() as i64 - 1
    };
    push(0, 1, 25 * 10_000 + 2 * 60_000 * slow);
    for _ in 0..25 {
        push(step, 4, 10_000);
    }
    for _ in 0..2 {
        let exchange = push(step, 2, 60_000 * slow);
        push(exchange, 3, 50_000 * slow);
    }
}

fn names_of(trace: &Trace, suggestions: &[RootSuggestion]) -> Vec<String> {
    let name = |found: &RootSuggestion| trace.names.name(found.func).to_owned();
    suggestions.iter().map(name).collect()
}

#[test]
fn the_repeated_step_is_proposed_and_neither_main_nor_leaves_nor_mpi() {
    let trace = program(100);
    let suggestions = suggest_roots(&trace);
    assert_eq!(
        names_of(&trace, &suggestions),
        ["solver::step", "solver::exchange"]
    );
    let best = &suggestions[0];
    assert_eq!((best.num_executions, best.num_ranks), (200, 2));
    assert_eq!(best.median.0, 370_000);
    assert!((best.mean_tree_len - 30.0).abs() < 1e-12);
    assert!((best.spread - 600_000.0 / 370_000.0).abs() < 1e-12);
    assert!(best.time_share > 0.9 && best.time_share < 1.0);
    assert!(best.score > suggestions[1].score);
    assert_eq!(
        best.to_string(),
        "200 executions on 2 ranks, 98 % of the time, median 0.37 ms, 1 in 20 takes more than 2.6 \
         times as long, 30 calls and 0 messages in each"
    );
}

#[test]
fn proposes_a_leaf_if_no_caller_repeats_and_nothing_for_an_empty_trace() {
    let trace = program(1);
    let suggestions = suggest_roots(&trace);
    assert_eq!(names_of(&trace, &suggestions), ["kernel"]);
    let names = ["main", "init"].map(str::to_owned);
    let once = PlainTree {
        node: 0,
        parent: vec![-1, 0],
        func: vec![0, 1],
        w: vec![10_000, 9_000],
        kind: String::new(),
    };
    let trace = Trace::clone(forest(&names, &[once]).trace());
    assert!(!suggest_roots(&trace).is_empty(), "it has calls");
    assert!(suggest_roots(&Trace::default()).is_empty());
}

#[test]
fn recursion_counts_time_once() {
    let names = ["main", "visit", "leaf"].map(str::to_owned);
    let mut tree = PlainTree {
        node: 0,
        parent: vec![-1],
        func: vec![0],
        w: vec![10_000],
        kind: String::new(),
    };
    for _ in 0..10 {
        let outer = tree.func.len() as i64;
        tree.parent.extend([0, outer, outer + 1]);
        tree.func.extend([1, 1, 2]);
        tree.w.extend([1_000, 900, 800]);
    }
    let trace = Trace::clone(forest(&names, &[tree]).trace());
    let suggestions = suggest_roots(&trace);
    assert_eq!(names_of(&trace, &suggestions), ["visit"]);
    assert!((suggestions[0].time_share - 1.0).abs() < 1e-12);
    assert_eq!(suggestions[0].num_executions, 20);
}
