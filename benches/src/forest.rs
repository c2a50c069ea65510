//! A forest like that of a molecular dynamics program.

use std::sync::Arc;

use callgrove_model::{
    Forest, FuncEventKind, FuncId, NameTable, ProgramId, RankBuilder, RankId, StepBatch, StepId,
    ThreadId, TimeNs, Trace, Warnings,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const NAMES: [&str; 10] = [
    "PairEAM::compute",
    "CommBrick::forward_comm_pair",
    "CommBrick::reverse_comm_pair",
    "PairEAM::pack",
    "MPI_Irecv",
    "MPI_Send",
    "MPI_Wait",
    "PairEAM::unpack",
    "Pair::ev_init",
    "Pair::ev_tally",
];

/// Returns about `num_trees` executions of `PairEAM::compute` on 16 ranks, some 150 calls each: two exchanges with a
/// varying number of messages, thousands of tiny calls in every 50th step, and a long wait in one of 50 trees.
/// Deterministic for a seed.
pub fn molecular_dynamics_forest(num_trees: usize, seed: u64) -> Forest {
    const NUM_RANKS: usize = 16;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let ranks = (0..NUM_RANKS)
        .map(|rank| {
            let (program, rank) = (ProgramId(0), RankId(rank as u32));
            let mut run = Run {
                batch: StepBatch::empty(program, rank, StepId(0)),
                now_ns: 0,
                rng: &mut rng,
            };
            for step in 0..num_trees.div_ceil(NUM_RANKS) {
                run.compute(step);
            }
            let batch = run.batch;
            let mut builder = RankBuilder::new(program, rank);
            builder.push(batch);
            let mut names = NameTable::default();
            for name in NAMES {
                names.intern(name);
            }
            builder.finish(names, NameTable::default())
        })
        .collect();
    let trace = Trace::assemble(ranks, Warnings::default());
    let root = trace.names.get(NAMES[0]);
    Forest::grow(Arc::new(trace), &root.into_iter().collect::<Vec<_>>())
}

struct Run<'a> {
    batch: StepBatch,
    now_ns: i64,
    rng: &'a mut ChaCha8Rng,
}

impl Run<'_> {
    fn compute(&mut self, step: usize) {
        let slow = if self.rng.random_ratio(1, 50) { 20 } else { 1 };
        self.event(0, FuncEventKind::Entry);
        self.call(8, 2_000);
        self.exchange(1, 1);
        let num_tallies = if step.is_multiple_of(50) {
            self.rng.random_range(2_400..3_300_u32)
        } else {
            self.rng.random_range(4..7)
        };
        for _ in 0..num_tallies {
            self.call(9, 300);
        }
        self.exchange(2, slow);
        self.event(0, FuncEventKind::Exit);
        self.now_ns += 50_000;
    }

    fn exchange(&mut self, func: u32, slow: i64) {
        self.event(func, FuncEventKind::Entry);
        for _ in 0..self.rng.random_range(10..14_u32) {
            self.call(3, 4_000);
            self.call(4, 1_000);
            self.call(5, 30_000);
            self.call(6, 20_000 * slow);
            self.call(7, 4_000);
        }
        self.event(func, FuncEventKind::Exit);
    }

    /// A call without callees that takes `usual_ns` ± 50 %.
    fn call(&mut self, func: u32, usual_ns: i64) {
        self.event(func, FuncEventKind::Entry);
        self.now_ns += self.rng.random_range(usual_ns / 2..=usual_ns * 3 / 2);
        self.event(func, FuncEventKind::Exit);
    }

    fn event(&mut self, func: u32, kind: FuncEventKind) {
        let row = self.batch.funcs.len() as u32;
        let time = TimeNs(self.now_ns);
        self.batch
            .funcs
            .push(ThreadId(0), kind, FuncId(func), time, row);
    }
}
