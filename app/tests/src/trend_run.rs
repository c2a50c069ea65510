//! A run in which one rank is slow throughout and a function on another one grows.

use std::sync::Arc;

use callgrove_model::{
    FuncEventKind, FuncId, NameTable, ProgramId, Progress, RankBuilder, RankId, RankTrace,
    StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_session::{RunTrends, Snapshot};

use crate::change::{changed, run_of};
use crate::demo_run::snapshot_of;

/// Functions of the run.
const NAMES: [&str; 4] = ["compute", "kernel", "tally", "MPI_Barrier"];
/// Number of ranks.
const NUM_RANKS: u32 = 6;
/// Number of executions of `compute` on a rank.
const NUM_STEPS: i64 = 100;
/// Time between two executions on a rank, in nanoseconds.
const PERIOD_NS: i64 = 3_000_000;

/// Returns a run in which rank 4 takes 1.3 times as long as its peers in all functions, and `tally` on rank 1 grows
/// from 0.4 to 0.8 ms.
pub fn trend_snapshot() -> Snapshot {
    snapshot_of_ranks(true)
}

/// Returns the same run, but rank 4 is slow in `kernel` only, so that it may be by design.
pub fn doubted_trend_snapshot() -> Snapshot {
    snapshot_of_ranks(false)
}

fn snapshot_of_ranks(is_all_slow: bool) -> Snapshot {
    let ranks = (0..NUM_RANKS).map(|rank| rank_trace(rank, is_all_slow));
    let ranks = ranks.collect();
    let snapshot = snapshot_of(Trace::assemble(ranks, Warnings::default()));
    let trace = snapshot.trace().expect("it is loaded");
    let trends = RunTrends::find(trace, Progress::none()).expect("it is not cancelled");
    changed(snapshot, |it| run_of(it).trends = Some(Arc::new(trends)))
}

/// Returns compute { kernel tally MPI_Barrier }, repeated.
fn rank_trace(rank: u32, is_all_slow: bool) -> RankTrace {
    use FuncEventKind::{Entry, Exit};

    let id = RankId(rank);
    let mut names = NameTable::default();
    for name in NAMES {
        names.intern(name);
    }
    let mut batch = StepBatch::empty(ProgramId(0), id, StepId(0));
    for step in 0..NUM_STEPS {
        let noise_ns = (step * 7 + i64::from(rank) * 3) % 11 * 1_000;
        let kernel_ns = if rank == 4 { 1_300_000 } else { 1_000_000 } + noise_ns;
        let grown_ns = if rank == 1 { step * 4_000 } else { 0 };
        let slow_ns = if rank == 4 && is_all_slow { 120_000 } else { 0 };
        let tally_ns = 400_000 + noise_ns + grown_ns + slow_ns;
        let start = step * PERIOD_NS;
        let mut event = |kind: FuncEventKind, func: u32, time_ns: i64| {
            let row = batch.funcs.len() as u32;
            let time = TimeNs(time_ns);
            batch.funcs.push(ThreadId(0), kind, FuncId(func), time, row);
        };
        event(Entry, 0, start);
        event(Entry, 1, start + 5_000);
        event(Exit, 1, start + 5_000 + kernel_ns);
        event(Entry, 2, start + 10_000 + kernel_ns);
        event(Exit, 2, start + 10_000 + kernel_ns + tally_ns);
        event(Entry, 3, start + 20_000 + kernel_ns + tally_ns);
        event(Exit, 3, start + PERIOD_NS - 10_000);
        event(Exit, 0, start + PERIOD_NS - 5_000);
    }
    let mut builder = RankBuilder::new(ProgramId(0), id);
    builder.push(batch);
    builder.finish(names, NameTable::default())
}
