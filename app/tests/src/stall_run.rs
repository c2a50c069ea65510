//! A run in which a rank stalls twice, and its analysed causes.

use std::sync::Arc;

use callgrove_model::{
    CommKind, FuncEventKind, FuncId, NameTable, ProgramId, Progress, RankBuilder, RankId,
    RankTrace, StepBatch, StepId, ThreadId, TimeNs, Trace, TreeIdx, Warnings,
};
use callgrove_session::{RunCauses, Selection, Snapshot, TreeCauses};

use crate::change::{changed, forest_in, run_of};
use crate::demo_run::snapshot_of;

/// Functions of the run.
const NAMES: [&str; 6] = [
    "compute",
    "forward_comm",
    "MPI_Send",
    "MPI_Wait",
    "ev_tally",
    "MPI_Allreduce",
];
/// Number of ranks.
const NUM_RANKS: usize = 4;
/// Number of executions of `compute` on a rank.
const NUM_CALLS: usize = 250;
/// Time between two executions on a rank, in nanoseconds.
const PERIOD_NS: i64 = 2_000_000;
/// The stalls inside MPI_Send: execution, rank and duration in nanoseconds.
const STALLS: [(usize, usize, i64); 2] = [(60, 2, 50_000_000), (160, 1, 20_000_000)];

/// Returns a run in which rank 2 stalls for 50 ms and later rank 1 for 20 ms. The next rank waits for its message, and
/// all others wait meanwhile at the collective after it.
pub fn stalled_snapshot() -> Snapshot {
    let ranks = (0..NUM_RANKS).map(rank_trace).collect();
    with_causes(&snapshot_of(Trace::assemble(ranks, Warnings::default())))
}

/// Returns the same session after the delays of its run were analysed.
pub fn with_causes(snapshot: &Snapshot) -> Snapshot {
    let trace = snapshot.trace().expect("it is loaded");
    let forest = &snapshot.analysis().expect("it is analysed").forest;
    let calls = snapshot.calls().expect("they are local");
    let found = RunCauses::find(trace, Progress::none()).expect("it is not cancelled");
    let causes = calls.set_causes(found).expect("the calls are local");
    changed(snapshot.clone(), |it| {
        it.revision += 1;
        forest_in(it).tree_causes = Some(Arc::new(TreeCauses::new(&causes, forest)));
        run_of(it).causes = Some(causes);
    })
}

/// Returns the same session with an incident and the trees that it hit selected.
pub fn with_incident(snapshot: &Snapshot, number: usize) -> Snapshot {
    changed(snapshot.clone(), |it| {
        it.revision += 1;
        it.selection = Selection::Group(trees_of_stall(snapshot, number));
        it.inspected.incident = Some(number);
    })
}

/// Returns the trees in which a rank stalled, and those that waited for it, ascending.
pub fn trees_of_stall(snapshot: &Snapshot, number: usize) -> Vec<TreeIdx> {
    let analysis = snapshot.analysis().expect("it is analysed");
    let num_trees = analysis.forest.len() / NUM_RANKS;
    let call = STALLS[number].0;
    let tree = |rank: usize| TreeIdx::from_index(rank * num_trees + call);
    (0..NUM_RANKS).map(tree).collect()
}

/// Returns when each rank sends, receives and reaches the collective in a call.
fn times(call: usize) -> [[i64; 4]; NUM_RANKS] {
    let held_up = STALLS.iter().filter(|(at, ..)| *at < call);
    let before: i64 = held_up.map(|(.., length)| length).sum();
    let start = call as i64 * PERIOD_NS + before;
    let mut times = [[start; 4]; NUM_RANKS];
    for (rank, [_, sent, ..]) in times.iter_mut().enumerate() {
        let stall = STALLS
            .iter()
            .find(|(at, who, _)| (*at, *who) == (call, rank));
        *sent += 80_000 + rank as i64 * 1_000 + stall.map_or(0, |(.., length)| *length);
    }
    for rank in 0..NUM_RANKS {
        let of_previous = times[(rank + NUM_RANKS - 1) % NUM_RANKS][1];
        let own = times[rank][1];
        times[rank][2] = (own + 65_000 + (call % 5) as i64 * 3_000).max(of_previous + 45_000);
    }
    let last = times.iter().map(|times| times[2]).max().unwrap_or(start);
    for times in &mut times {
        times[3] = last + 500_000;
    }
    times
}

/// Returns compute { forward_comm { MPI_Send MPI_Wait } ev_tally ×3 MPI_Allreduce }, repeated.
fn rank_trace(rank: usize) -> RankTrace {
    use FuncEventKind::{Entry, Exit};

    let id = RankId(rank as u32);
    let mut names = NameTable::default();
    for name in NAMES {
        names.intern(name);
    }
    let mut batch = StepBatch::empty(ProgramId(0), id, StepId(0));
    for call in 0..NUM_CALLS {
        let [start, sent, received, met] = times(call)[rank];
        let mut event = |kind: FuncEventKind, func: u32, time_ns: i64| {
            let row = batch.funcs.len() as u32;
            let time = TimeNs(time_ns);
            batch.funcs.push(ThreadId(0), kind, FuncId(func), time, row);
        };
        event(Entry, 0, start);
        event(Entry, 1, start + 50_000);
        event(Entry, 2, start + 70_000);
        event(Exit, 2, sent + 30_000);
        event(Entry, 3, sent + 40_000);
        event(Exit, 3, received + 5_000);
        event(Exit, 1, received + 25_000);
        for part in 0..3 {
            let begin = received + 55_000 + part * 130_000;
            event(Entry, 4, begin);
            event(Exit, 4, begin + 100_000);
        }
        event(Entry, 5, received + 440_000);
        event(Exit, 5, met);
        event(Exit, 0, met + 50_000);
        let (next, previous) = ((rank + 1) % NUM_RANKS, (rank + NUM_RANKS - 1) % NUM_RANKS);
        for (kind, partner, time_ns) in [
            (CommKind::Send, next, start + 70_000),
            (CommKind::Recv, previous, received),
        ] {
            let partner = RankId(partner as u32);
            let time = TimeNs(time_ns);
            batch.comms.push(ThreadId(0), kind, 7, partner, 4_096, time);
        }
    }
    let mut builder = RankBuilder::new(ProgramId(0), id);
    builder.push(batch);
    builder.finish(names, NameTable::default())
}
