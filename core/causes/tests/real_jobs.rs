//! Causes in runs with the traits of real jobs: main threads that wait for pool threads, hosts that wait for GPUs, and
//! machines that delay every rank now and then.

use callgrove_causes::{CauseKind, Causes, Incident};
use callgrove_model::{
    FuncEventKind, Metadata, NameTable, ProgramId, Progress, RankBuilder, RankId, RankTrace,
    StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};

const MAIN: ThreadId = ThreadId(0);
const POOL: ThreadId = ThreadId(1);
const STREAM: ThreadId = ThreadId(7);

/// A rank that is being generated, with times in microseconds.
struct Rank {
    names: NameTable,
    batch: StepBatch,
    number: u32,
}

impl Rank {
    fn new(number: u32) -> Self {
        let mut batch = StepBatch::empty(ProgramId(0), RankId(number), StepId(0));
        batch.metadata.push(Metadata {
            program: ProgramId(0),
            rank: RankId(number),
            thread: MAIN,
            key: "Hostname".to_owned(),
            value: "node".to_owned(),
        });
        Self {
            names: NameTable::default(),
            batch,
            number,
        }
    }

    fn event(&mut self, thread: ThreadId, kind: FuncEventKind, name: &str, time_us: i64) {
        let row = self.batch.funcs.len() as u32;
        let func = self.names.intern(name);
        let time = TimeNs(time_us * 1_000);
        self.batch.funcs.push(thread, kind, func, time, row);
    }

    fn call(&mut self, thread: ThreadId, name: &str, from_us: i64, to_us: i64) {
        self.event(thread, FuncEventKind::Entry, name, from_us);
        self.event(thread, FuncEventKind::Exit, name, to_us);
    }

    fn finish(self) -> RankTrace {
        let mut builder = RankBuilder::new(ProgramId(0), RankId(self.number));
        builder.push(self.batch);
        builder.finish(self.names, NameTable::default())
    }
}

/// What happens in one iteration of one rank, in microseconds.
#[derive(Clone, Copy, Default)]
struct Step {
    /// Time by which the loader takes longer.
    late_us: i64,
    /// Time by which a small disturbance delays the rank after it.
    noise_us: i64,
}

/// A job whose main threads load for 1 ms and then wait, in no call, for a collective on a pool thread. The range of
/// the collective ends 150 µs after its waiter has gone on.
fn job(num_ranks: u32, num_steps: i64, step: impl Fn(u32, i64) -> Step) -> Trace {
    let mut ranks: Vec<Rank> = (0..num_ranks).map(Rank::new).collect();
    let mut pools: Vec<Vec<(i64, i64)>> = vec![Vec::new(); ranks.len()];
    let mut start_us = 0;
    for at in 0..num_steps {
        let loaded = |rank: u32| {
            let it = step(rank, at);
            start_us + 1_000 + it.late_us + it.noise_us + (at * 7 + i64::from(rank) * 5) % 11
        };
        let last_us = (0..num_ranks).map(loaded).max().unwrap_or(start_us);
        let end_us = last_us + 500;
        for (number, rank) in (0..).zip(&mut ranks) {
            let it = step(number, at);
            rank.event(MAIN, FuncEventKind::Entry, "Step", start_us);
            let until_us = loaded(number) - it.noise_us;
            rank.call(MAIN, "load", start_us + 10, until_us);
            rank.call(MAIN, "submit", loaded(number) + 20, loaded(number) + 30);
            rank.call(MAIN, "update", end_us + 20, end_us + 200);
            rank.event(MAIN, FuncEventKind::Exit, "Step", end_us + 250);
            pools[number as usize].push((loaded(number) + 50, end_us + 150));
        }
        start_us = end_us + 300;
    }
    let finish = |(mut rank, pool): (Rank, Vec<(i64, i64)>)| {
        for (from_us, to_us) in pool {
            rank.call(POOL, "gloo:all_reduce", from_us, to_us);
        }
        rank.finish()
    };
    run(ranks.into_iter().zip(pools).map(finish).collect())
}

fn run(ranks: Vec<RankTrace>) -> Trace {
    Trace::assemble(ranks, Warnings::default())
}

fn incidents(trace: &Trace) -> Vec<Incident> {
    let causes = Causes::find(trace, Progress::none()).expect("no cancellation");
    let all = causes.incidents().all().iter();
    all.filter(|it| !it.kind.is_by_design()).cloned().collect()
}

/// Returns the rank, the function and the milliseconds of the own delay of each incident.
fn roots(trace: &Trace) -> Vec<(u32, String, i64)> {
    let root = |it: &Incident| {
        let name = trace.names.name(it.root.func).to_owned();
        (
            it.root.rank.0,
            name,
            (it.root.own_delay.as_us() + 500) / 1_000,
        )
    };
    incidents(trace).iter().map(root).collect()
}

#[test]
fn two_late_loaders_are_two_incidents_without_the_waiting_threads() {
    let trace = job(4, 60, |rank, at| Step {
        late_us: match (rank, at) {
            (2, 20) => 80_000,
            (2, 22) => 60_000,
            _ => 0,
        },
        ..Step::default()
    });
    let load = |delay_ms| (2, "load".to_owned(), delay_ms);
    assert_eq!(roots(&trace), [load(80), load(60)]);
    for it in incidents(&trace) {
        assert_eq!(it.root.num_victims, 3);
        // Each of them once, not on both of its threads.
        let waited = it.root.caused.0 / it.root.own_delay.0;
        assert!((2..=3).contains(&waited), "{it:?}");
    }
}

#[test]
fn two_ranks_are_enough() {
    let trace = job(2, 40, |rank, at| Step {
        late_us: if rank == 1 && at % 13 == 5 { 50_000 } else { 0 },
        ..Step::default()
    });
    assert_eq!(roots(&trace), vec![(1, "load".to_owned(), 50); 3]);
}

#[test]
fn delays_that_the_run_has_all_the_time_are_no_incidents() {
    let noise = |rank: u32, at: i64| Step {
        // A pseudo-random third of the iterations of each rank.
        noise_us: match (at * 7_919 + i64::from(rank) * 104_729 + 12_345) * 48_271
            % 2_147_483_647
            % 97
        {
            it if it < 32 => 1_000 + it * 100,
            _ => 0,
        },
        late_us: if (rank, at) == (3, 40) { 90_000 } else { 0 },
    };
    let trace = job(4, 80, noise);
    assert_eq!(roots(&trace), [(3, "load".to_owned(), 90)]);
    let clean = job(4, 80, |rank, at| Step {
        late_us: 0,
        ..noise(rank, at)
    });
    assert_eq!(roots(&clean), []);
}

#[test]
fn a_rank_that_is_late_within_a_burst_of_its_host_is_late_by_itself() {
    let trace = job(4, 60, |rank, at| Step {
        noise_us: if at == 30 { 20_000 } else { 0 },
        late_us: if (rank, at) == (1, 30) { 100_000 } else { 0 },
    });
    let of_rank = incidents(&trace)
        .into_iter()
        .filter(|it| it.kind != CauseKind::BusyHost);
    let ranks: Vec<u32> = of_rank.map(|it| it.root.rank.0).collect();
    assert_eq!(ranks, [1]);
}

/// A rank whose host launches a kernel and then waits, in no call, until the GPU is idle. Kernels take from 5 µs to
/// 1.9 ms.
fn gpu_job(slow_us: i64) -> Trace {
    let mut rank = Rank::new(0);
    let mut kernels = Vec::new();
    let mut at_us = 0;
    for step in 0..200 {
        let kernel_us = [5, 60, 400, 1_900][step % 4] + if step == 120 { slow_us } else { 0 };
        let name = ["k0", "k1", "k2", "k3"][step % 4];
        rank.event(MAIN, FuncEventKind::Entry, "step", at_us);
        rank.call(MAIN, "cudaLaunchKernel", at_us + 5, at_us + 10);
        kernels.push((name, at_us + 15, at_us + 15 + kernel_us));
        at_us += 15 + kernel_us + 10;
        rank.event(MAIN, FuncEventKind::Exit, "step", at_us);
        at_us += 10;
    }
    for (name, from_us, to_us) in kernels {
        rank.call(STREAM, name, from_us, to_us);
    }
    for key in ["CUDA Device", "CUDA Stream"] {
        rank.batch.metadata.push(Metadata {
            program: ProgramId(0),
            rank: RankId(0),
            thread: STREAM,
            key: key.to_owned(),
            value: "0".to_owned(),
        });
    }
    run(vec![rank.finish()])
}

#[test]
fn a_host_that_waits_for_its_gpu_is_not_late() {
    assert_eq!(roots(&gpu_job(0)), []);
    assert_eq!(roots(&gpu_job(20_000)), [(0, "k0".to_owned(), 20)]);
}
