//! Curves, outlines and iterations on a small run of known durations.

use std::sync::Arc;

use callgrove_model::{
    DurationNs, FuncEventKind, LaneIdx, NameTable, ProgramId, Progress, RankBuilder, RankId,
    StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};

use super::*;

const NUM_RANKS: u32 = 3;
const NUM_STEPS: i64 = 200;

/// Every 50th step of a rank takes ten times as long.
fn work_us(rank: u32, step: i64) -> i64 {
    let is_slow = (step + i64::from(rank) * 7) % 50 == 20;
    (100 + step % 10) * if is_slow { 10 } else { 1 }
}

/// Returns a trace of main { 200 × step { force, 2 × (send, wait) } }.
fn trace() -> Arc<Trace> {
    use FuncEventKind::{Entry, Exit};
    let ranks = (0..NUM_RANKS).map(|rank| {
        let mut names = NameTable::default();
        let mut batch = StepBatch::empty(ProgramId(0), RankId(rank), StepId(0));
        let mut now_us = 1_000;
        let mut event = |kind, name: &str, after_us: i64| {
            now_us += after_us;
            let row = u32::try_from(batch.funcs.len()).expect("few events");
            let func = names.intern(name);
            let time = TimeNs(now_us * 1_000);
            batch.funcs.push(ThreadId(0), kind, func, time, row);
        };
        event(Entry, "main", 0);
        for step in 0..NUM_STEPS {
            event(Entry, "step", 5);
            event(Entry, "force", 5);
            event(Exit, "force", work_us(rank, step));
            for _ in 0..2 {
                event(Entry, "MPI_Send", 3);
                event(Exit, "MPI_Send", 10);
                event(Entry, "MPI_Wait", 3);
                event(Exit, "MPI_Wait", 10);
            }
            event(Exit, "step", 5);
        }
        event(Exit, "main", 10);
        let mut builder = RankBuilder::new(ProgramId(0), RankId(rank));
        builder.push(batch);
        builder.finish(names, NameTable::default())
    });
    Arc::new(Trace::assemble(ranks.collect(), Warnings::default()))
}

fn found() -> RunPatterns {
    RunPatterns::find(&trace(), Progress::none()).expect("the search is not cancelled")
}

/// Returns the pattern of a step.
fn step(patterns: &RunPatterns) -> &Pattern {
    let listed = patterns.listed();
    let named = |it: &&&Pattern| patterns.name(it.id) == "step";
    listed.iter().find(named).expect("a step repeats")
}

#[test]
fn the_excess_from_sums_equals_the_excess_counted_one_by_one() {
    let patterns = found();
    for pattern in patterns.listed() {
        let curve = patterns.curve(pattern.id).expect("it repeats");
        for (share, factor) in [
            (0.75, 3.0),
            (0.0, 1.0),
            (1.0, 1.0),
            (0.5, 1.02),
            (0.9, 100.0),
        ] {
            let reference = PatternReference { share, factor };
            let anomalous = pattern.anomalous(share, factor);
            let usual = curve.usual(reference);
            let counted: i64 = anomalous.iter().map(|it| it.duration.0 - usual.0).sum();
            assert_eq!(curve.excess(reference), DurationNs(counted));
            assert_eq!(curve.counts(reference)[2], anomalous.len());
        }
    }
}

#[test]
fn long_occurrences_are_the_same_as_by_a_full_search() {
    let patterns = found();
    for pattern in patterns.listed() {
        let long = LongOccurrences::new(pattern);
        let curve = patterns.curve(pattern.id).expect("it repeats");
        for factor in [1.0, 3.0, 50.0] {
            let reference = PatternReference { share: 0.5, factor };
            let limit = curve.limit(reference);
            for lane in (0..4).map(LaneIdx) {
                for (from, to) in [
                    (0, 1 << 40),
                    (5_000_000, 9_000_000),
                    (20_000_000, 20_000_001),
                ] {
                    let (from, to) = (TimeNs(from), TimeNs(to));
                    let found = long.longer_than(pattern, (lane, from, to), limit);
                    let found: Vec<TimeNs> = found.map(|span| span.from).collect();
                    let expected: Vec<TimeNs> = (pattern.on_lane(lane).iter())
                        .filter(|it| it.duration > limit && it.start <= to && it.end() >= from)
                        .map(|it| it.start)
                        .collect();
                    assert_eq!(found, expected);
                }
            }
        }
    }
}

#[test]
fn a_definition_unfolds_on_request() {
    let patterns = found();
    let id = step(&patterns).id;
    let texts = |unfolding: &Unfolding| -> Vec<String> {
        let lines = patterns.outline(id, unfolding);
        let line = |it: &OutlineLine| format!("{}{}", "  ".repeat(it.indent), it.text);
        lines.iter().map(line).collect()
    };
    let folded = texts(&Unfolding::default());
    assert_eq!(folded[..2], ["step", "  force"]);
    assert_eq!(folded[2], "  2 × MPI_Send, MPI_Wait", "{folded:?}");
    let unfolded = texts(&Unfolding::to_depth(1));
    assert_eq!(unfolded[3..], ["    MPI_Send", "    MPI_Wait"]);
    let mut unfolding = Unfolding::default();
    let path = patterns.outline(id, &unfolding)[2].path.clone();
    unfolding.toggle(&path);
    assert_eq!(texts(&unfolding), unfolded);
    unfolding.toggle(&path);
    assert_eq!(texts(&unfolding), folded);
}

#[test]
fn iterations_have_ordered_bounds_and_an_imbalance() {
    let patterns = found();
    let bounds = patterns.list().iteration_bounds();
    let num = patterns.iterations().expect("it has a loop").len();
    assert_eq!(num, 200);
    assert_eq!(bounds.len(), num + 1);
    assert!(bounds.is_sorted());
    assert_eq!(patterns.imbalances().len(), num);
    let most = (patterns.imbalances().iter()).max_by(|a, b| a.share().total_cmp(&b.share()));
    let most = most.expect("there are some");
    let rank = most.slowest.0;
    let step = i64::try_from(most.iteration).expect("few");
    assert!(work_us(rank, step) >= 1_000, "{most:?}");
}
