//! A session on a run of which every seventh execution is slow: a small trace, its forest, a map and scores.

use std::sync::Arc;

use callgrove_model::{
    CommKind, DurationNs, Forest, FuncEventKind, FuncId, Label, NameTable, ProgramId, Progress,
    RankBuilder, RankId, RankTrace, StepBatch, StepId, ThreadId, TimeNs, Trace, TracerWrite,
    TreeIdx, WarningKind, Warnings,
};
use callgrove_session::{
    Analysis, Calls, Cause, Detection, Difference, DifferenceKind, Explanation, ForestSnapshot,
    LabelSet, MapMethod, RunPatterns, RunSnapshot, Selection, Snapshot, Suggestion, TreeKey,
    TreeMap, TreeScores, WriteShare,
};

use crate::change::{changed, forest_in, run_of};

/// Functions of the trace.
const NAMES: [&str; 5] = [
    "compute",
    "forward_comm",
    "MPI_Send",
    "MPI_Wait",
    "ev_tally",
];
/// The thread of all calls.
const THREAD: ThreadId = ThreadId(0);
/// Time between two executions on a rank, in nanoseconds.
const PERIOD_NS: i64 = 50_000_000;

/// Returns a session with two ranks and 20 executions on each; every seventh execution is slow.
pub fn demo_snapshot() -> Snapshot {
    snapshot(2, 20)
}

/// Returns the trace of the ranks.
pub fn demo_trace(num_ranks: u32, num_calls: u32) -> Trace {
    let mut warnings = Warnings::default();
    warnings.count_many(WarningKind::UnmatchedSend, Some(RankId(1)), 3, || {
        "tag 7 to rank 9".to_owned()
    });
    warnings.count_many(WarningKind::SizeDiffers, Some(RankId(0)), 6_880, || {
        "rank 1 to rank 0".to_owned()
    });
    let ranks = (0..num_ranks)
        .map(|rank| rank_trace(rank, num_ranks, num_calls))
        .collect();
    Trace::assemble(ranks, warnings)
}

/// Returns a session with `num_ranks × num_calls` trees and nothing selected or labelled.
pub fn snapshot(num_ranks: u32, num_calls: u32) -> Snapshot {
    snapshot_of(demo_trace(num_ranks, num_calls))
}

/// Returns a session on a trace with executions of `compute`, nothing selected or labelled.
pub fn snapshot_of(trace: Trace) -> Snapshot {
    let trace = Arc::new(trace);
    let root = trace.names.get("compute").expect("it is named above");
    let forest = Forest::grow(Arc::clone(&trace), &[root]);
    let num_trees = forest.len();
    let (analysis, map) = analysis(forest);
    let detection = detection(&map);
    let suggestion = |name: &str, func: FuncId, num_calls| Suggestion {
        func,
        name: name.to_owned(),
        num_calls,
        median: DurationNs(2_000_000),
        longest: DurationNs(40_000_000),
        mean_calls: 6.0,
        reason: "many calls, and some take 10 times the median".to_owned(),
    };
    let suggestions = Arc::new([
        suggestion("compute", root, num_trees),
        suggestion("ev_tally", FuncId(4), num_trees * 3),
    ]);
    let calls = Arc::new(Calls::local(&trace));
    let mut snapshot = Snapshot {
        revision: 1,
        source: Some("runs/lammps".to_owned()),
        run: Some(RunSnapshot::new(calls, suggestions)),
        forest: Some(ForestSnapshot {
            map: Some(Arc::new(map)),
            detection: Some(Arc::new(detection)),
            ..ForestSnapshot::new(Arc::new(analysis))
        }),
        ..Snapshot::default()
    };
    snapshot.edits.labels_by_tree = vec![None; num_trees].into();
    snapshot.model.auto_train = true;
    snapshot
}

/// Returns the same session after a tree was labelled.
pub fn with_label(snapshot: &Snapshot, tree: TreeIdx, label: Label) -> Snapshot {
    let forest = &snapshot.analysis().expect("it is analysed").forest;
    let mut labels = LabelSet::clone(&snapshot.edits.labels);
    labels.set(TreeKey::of(forest, tree), Some(label));
    let labels_by_tree = labels.by_tree(forest).into();
    let undo = Some(format!("label {} {}", forest.code(tree), label.name()));
    changed(snapshot.clone(), |it| {
        it.revision += 1;
        it.edits.labels = Arc::new(labels);
        it.edits.labels_by_tree = labels_by_tree;
        it.edits.undo = undo;
    })
}

/// Returns the same session with a tree selected and explained.
pub fn with_focus(snapshot: &Snapshot, tree: TreeIdx) -> Snapshot {
    let path = |funcs: &[u32]| funcs.iter().map(|&func| FuncId(func)).collect();
    let finding = |kind, funcs: &[u32], vertices: Vec<u32>, importance| Difference {
        kind,
        func: FuncId(funcs[funcs.len() - 1]),
        path: path(funcs),
        count: vertices.len() as u64,
        usual_count: 1,
        vertices,
        importance,
        time: DurationNs(9_000_000),
        usual_time: DurationNs(800_000),
        excess: DurationNs(8_200_000),
        share: 0.5,
    };
    // compute 0 { forward_comm 1 { MPI_Send 2, MPI_Wait 3 }, ev_tally 4, … }
    let explanation = Explanation {
        tree,
        neighbours: (0..5).map(TreeIdx).filter(|&other| other != tree).collect(),
        findings: vec![
            finding(DifferenceKind::Longer, &[0, 1, 3], vec![3], 1.0),
            finding(DifferenceKind::New, &[0, 1], vec![1], 0.6),
            finding(DifferenceKind::MoreCalls, &[0, 4], vec![4, 5], 0.2),
        ],
        usual: TreeIdx(u32::from(tree.0 == 0)),
        num_usual: 12,
        is_same_shape: true,
    };
    let explanation = Some(Arc::new(explanation));
    Snapshot {
        revision: snapshot.revision + 1,
        selection: Selection::One(tree),
        explanation,
        ..snapshot.clone()
    }
}

fn is_slow(rank: u32, call: u32) -> bool {
    (rank * 5 + call) % 7 == 3
}

fn rank_trace(rank: u32, num_ranks: u32, num_calls: u32) -> RankTrace {
    let mut names = NameTable::default();
    for name in NAMES {
        names.intern(name);
    }
    let mut batch = StepBatch::empty(ProgramId(0), RankId(rank), StepId(0));
    for call in 0..num_calls {
        push_execution(&mut batch, rank, num_ranks, call);
    }
    let mut builder = RankBuilder::new(ProgramId(0), RankId(rank));
    builder.push(batch);
    builder.finish(names, NameTable::default())
}

/// Adds compute { forward_comm { MPI_Send MPI_Wait } ev_tally … }, with a long wait if it is slow.
fn push_execution(batch: &mut StepBatch, rank: u32, num_ranks: u32, call: u32) {
    use FuncEventKind::{Entry, Exit};

    let start = i64::from(call) * PERIOD_NS + i64::from(rank) * 1_000;
    let wait_ns = if is_slow(rank, call) {
        20_000_000
    } else {
        400_000 + i64::from(call % 5) * 30_000
    };
    let mut now = start;
    let mut event = |kind: FuncEventKind, func: u32, after_ns: i64| {
        now += after_ns;
        let row = batch.funcs.len() as u32;
        batch
            .funcs
            .push(THREAD, kind, FuncId(func), TimeNs(now), row);
        now
    };
    event(Entry, 0, 0);
    event(Entry, 1, 50_000);
    let sent = event(Entry, 2, 20_000) + 10_000;
    event(Exit, 2, 200_000);
    event(Entry, 3, 10_000);
    let received = event(Exit, 3, wait_ns) - 5_000;
    event(Exit, 1, 20_000);
    for _ in 0..2 + call % 3 {
        event(Entry, 4, 30_000);
        event(Exit, 4, 100_000);
    }
    event(Exit, 0, 500_000);
    let (next, previous) = ((rank + 1) % num_ranks, (rank + num_ranks - 1) % num_ranks);
    batch
        .comms
        .push(THREAD, CommKind::Send, 7, RankId(next), 4_096, TimeNs(sent));
    batch.comms.push(
        THREAD,
        CommKind::Recv,
        7,
        RankId(previous),
        4_096,
        TimeNs(received),
    );
}

fn analysis(forest: Forest) -> (Analysis, TreeMap) {
    let mut durations: Vec<DurationNs> = trees(&forest)
        .map(|tree| forest.tree(tree).duration())
        .collect();
    durations.sort();
    let median_duration = durations[durations.len() / 2];
    // Slow trees are far out, the others around the middle.
    let map = trees(&forest).map(|tree| {
        let ratio = forest.tree(tree).duration().0 as f32 / median_duration.0 as f32;
        let angle = tree.0 as f32 * 2.4;
        let radius = 0.25 * ((tree.0 * 37 % 101) as f32 / 101.0).sqrt() + (ratio - 1.0) * 0.04;
        [angle.cos() * radius, angle.sin() * radius]
    });
    let map = TreeMap {
        method: MapMethod::Mds,
        points: map.collect(),
        trustworthiness: Some(0.93),
        fraction: 1.0,
        is_paused: false,
    };
    let analysis = Analysis {
        root_name: "compute".to_owned(),
        num_subtrees: 14,
        median_duration,
        structures: (0..forest.len() as u32).map(|tree| tree % 20 % 3).collect(),
        write_shares: vec![None; forest.len()],
        tree_names: Vec::new(),
        forest,
    };
    (analysis, map)
}

fn detection(map: &TreeMap) -> Detection {
    let scores: Vec<f64> = map
        .points
        .iter()
        .map(|point| 0.3 - f64::from(point[0].hypot(point[1])))
        .collect();
    let p_values = scores.iter().map(|score| (score * 8.0).exp().min(1.0));
    let judged = TreeScores {
        abnormal: scores.iter().map(|&score| score < -1e-6).collect(),
        p_values: Some(p_values.collect()),
        causes: vec![None; scores.len()],
        scores,
        ..TreeScores::default()
    };
    Detection::new(judged, None)
}

/// Returns the same session after the patterns of its run were found.
pub fn with_patterns(snapshot: &Snapshot) -> Snapshot {
    let trace = snapshot.trace().expect("it is loaded");
    let calls = snapshot.calls().expect("they are local");
    let found = RunPatterns::find(trace, Progress::none()).expect("it is not cancelled");
    changed(snapshot.clone(), |it| {
        it.revision += 1;
        run_of(it).patterns = calls.set_patterns(found);
    })
}

/// Returns the same session after the most abnormal tree turned out to be slow because of a trace write: 31 ms in the
/// middle of it, on its rank.
pub fn with_trace_write(snapshot: &Snapshot) -> (Snapshot, TreeIdx) {
    let analysis = snapshot.analysis().expect("it is analysed");
    let detection = snapshot.detection().expect("it is scored");
    let tree = detection.order[0];
    let (root, cstree) = (
        analysis.forest.trees()[tree.index()].root,
        analysis.forest.tree(tree),
    );
    let start = cstree.entry()[1];
    let write = TracerWrite {
        lane: root.lane,
        start,
        end: start + DurationNs(31_000_000),
    };
    let mut trace = Trace::clone(analysis.forest.trace());
    trace.writes.push(write);
    let trace = Arc::new(trace);
    let mut causes = detection.causes.clone();
    causes[tree.index()] = Some(Cause::TraceWrite);
    let mut analysis = Analysis::clone(analysis);
    analysis.forest = Forest::grow(Arc::clone(&trace), analysis.forest.functions());
    analysis.write_shares[tree.index()] = Some(WriteShare {
        excess: DurationNs(40_000_000),
        covered: write.duration(),
    });
    let detection = Detection::new(
        TreeScores {
            scores: detection.scores.clone(),
            abnormal: detection.abnormal.clone(),
            p_values: detection.p_values.clone(),
            causes,
            ..TreeScores::default()
        },
        None,
    );
    let shown = changed(snapshot.clone(), |it| {
        it.revision += 1;
        run_of(it).calls = Arc::new(Calls::local(&trace));
        let forest = forest_in(it);
        forest.analysis = Arc::new(analysis);
        forest.detection = Some(Arc::new(detection));
    });
    (shown, tree)
}

fn trees(forest: &Forest) -> impl Iterator<Item = TreeIdx> + use<> {
    (0..forest.len()).map(TreeIdx::from_index)
}

/// Returns the forest of `r` from `+f` (enter) and `-f` (leave) events on one rank, one per nanosecond.
pub fn forest_of(events: &str) -> Forest {
    let mut names = NameTable::default();
    let mut batch = StepBatch::empty(ProgramId(0), RankId(0), StepId(0));
    for (time, event) in events.split_whitespace().enumerate() {
        let kind = if event.starts_with('+') {
            FuncEventKind::Entry
        } else {
            FuncEventKind::Exit
        };
        batch.funcs.push(
            THREAD,
            kind,
            names.intern(&event[1..]),
            TimeNs(time as i64),
            time as u32,
        );
    }
    let mut builder = RankBuilder::new(ProgramId(0), RankId(0));
    builder.push(batch);
    let rank = builder.finish(names, NameTable::default());
    let trace = Arc::new(Trace::assemble(vec![rank], Warnings::default()));
    let root = trace.names.get("r").expect("r is called");
    Forest::grow(trace, &[root])
}
