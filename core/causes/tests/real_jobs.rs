//! Causes in runs with the traits of real jobs: main threads that wait for pool threads, hosts that wait for GPUs, and
//! machines that delay every rank now and then.

use callgrove_causes::{CauseKind, Causes, DelayRole, Incident};
use callgrove_model::{
    ExecIdx, ExecRef, FuncEventKind, Metadata, NameTable, ProgramId, Progress, RankBuilder, RankId,
    RankTrace, StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
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

#[test]
fn waits_for_an_unknown_rank_that_recur_are_one_incident() {
    let steps = |number: u32| {
        let mut rank = Rank::new(number);
        for step in 0..60 {
            let start_us = step * 20_000;
            // As the rank at the end of a pipeline waits, in a third of the steps.
            let waits_us = match (number, step) {
                (3, 31) => 120_000,
                (3, _) if step % 3 == 0 => 7_000 + step % 7 * 100,
                _ => 100,
            };
            let late_us = if step > 31 { 120_000 } else { 0 };
            let from_us = start_us + late_us + 1_000 + step % 5;
            rank.call(MAIN, "forward", start_us + late_us, from_us);
            rank.call(MAIN, "gloo:recv", from_us + 10, from_us + 10 + waits_us);
        }
        rank.finish()
    };
    let trace = run((0..4).map(steps).collect());
    let found = incidents(&trace);
    assert!(
        found.iter().all(|it| it.kind == CauseKind::Unknown),
        "{found:?}"
    );
    let times: Vec<(u32, i64)> = found
        .iter()
        .map(|it| (it.times, it.root.own_delay.as_us() / 1_000))
        .collect();
    assert_eq!(times, [(20, 7), (1, 119)], "{found:?}");
}

/// A job of XLA, whose main threads load for 1 ms and then wait, in no call, for a pool thread.
struct RingJob {
    /// Number of times in which each rank passes edges on to its neighbours before all ranks add up.
    num_sweeps: usize,
    /// The rank whose record of the pool thread lacks the start, and the number of steps that it lacks.
    lacks_steps: (usize, i64),
    /// The rank whose record lacks the caller of the first step.
    lacks_caller: Option<usize>,
}

impl RingJob {
    const NUM_RANKS: usize = 4;
    const NUM_STEPS: i64 = 60;

    fn run(&self, late_us: impl Fn(usize, i64) -> i64) -> Trace {
        let mut ranks: Vec<Rank> = (0..).map(Rank::new).take(Self::NUM_RANKS).collect();
        let mut pools: Vec<Vec<(&str, i64, i64)>> = vec![Vec::new(); ranks.len()];
        let mut start_us = 0;
        for step in 0..Self::NUM_STEPS {
            let loaded = |rank: usize| {
                start_us + 1_000 + late_us(rank, step) + (step * 7 + rank as i64 * 5) % 11
            };
            let loaded: Vec<i64> = (0..Self::NUM_RANKS).map(loaded).collect();
            let mut at: Vec<i64> = loaded.iter().map(|it| it + 50).collect();
            let mut calls: Vec<Vec<(&str, i64, i64)>> = vec![Vec::new(); ranks.len()];
            for sweep in 0..=self.num_sweeps {
                let entered: Vec<i64> = at.iter().map(|it| it + 100).collect();
                let all = entered.iter().copied().max().unwrap_or_default();
                for rank in 0..Self::NUM_RANKS {
                    let before = entered[(rank + Self::NUM_RANKS - 1) % Self::NUM_RANKS];
                    let after = entered[(rank + 1) % Self::NUM_RANKS];
                    let (name, until) = if sweep == self.num_sweeps {
                        ("psum", all + 300)
                    } else {
                        ("ppermute", entered[rank].max(before).max(after) + 200)
                    };
                    calls[rank].push((name, entered[rank], until));
                    at[rank] = until;
                }
            }
            let end_us = at[0] + 20;
            for (number, rank) in ranks.iter_mut().enumerate() {
                rank.event(MAIN, FuncEventKind::Entry, "Step", start_us);
                rank.call(MAIN, "load", start_us + 10, loaded[number]);
                rank.call(MAIN, "submit", loaded[number] + 20, loaded[number] + 30);
                rank.call(MAIN, "update", end_us + 20, end_us + 200);
                rank.event(MAIN, FuncEventKind::Exit, "Step", end_us + 250);
                if self.lacks_steps.0 == number && step < self.lacks_steps.1 {
                    continue;
                }
                let has_caller = step > 0 || self.lacks_caller != Some(number);
                let caller = ("Execute", loaded[number] + 40, end_us);
                pools[number].extend(has_caller.then_some(caller));
                pools[number].append(&mut calls[number]);
            }
            start_us = end_us + 300;
        }
        let finish = |(mut rank, pool): (Rank, Vec<(&str, i64, i64)>)| {
            let mut open = None;
            for (name, from_us, to_us) in pool {
                if let Some(until_us) = open.filter(|it| *it <= from_us) {
                    rank.event(POOL, FuncEventKind::Exit, "Execute", until_us);
                    open = None;
                }
                if name == "Execute" {
                    rank.event(POOL, FuncEventKind::Entry, name, from_us);
                    open = Some(to_us);
                } else {
                    rank.call(POOL, name, from_us, to_us);
                }
            }
            if let Some(until_us) = open {
                rank.event(POOL, FuncEventKind::Exit, "Execute", until_us);
            }
            rank.finish()
        };
        run(ranks.into_iter().zip(pools).map(finish).collect())
    }

    /// Checks that a late rank is found, for which all others wait.
    fn check(&self) {
        let trace = self.run(|rank, step| if (rank, step) == (3, 30) { 80_000 } else { 0 });
        assert_eq!(roots(&trace), [(3, "load".to_owned(), 80)]);
        assert_eq!(incidents(&trace)[0].root.num_victims, 3);
    }
}

#[test]
fn ranks_that_pass_edges_on_wait_for_the_late_one() {
    RingJob {
        num_sweeps: 3,
        lacks_steps: (0, 0),
        lacks_caller: None,
    }
    .check();
}

#[test]
fn a_record_that_begins_within_a_call_or_later_is_compared_with_the_others() {
    for (lacks_steps, lacks_caller) in [((0, 0), Some(0)), ((1, 2), None), ((2, 1), Some(0))] {
        RingJob {
            num_sweeps: 0,
            lacks_steps,
            lacks_caller,
        }
        .check();
    }
}

#[test]
fn threads_that_call_what_the_first_one_calls_are_no_streams() {
    let mut rank = Rank::new(0);
    let (mut regions, mut kernels) = (Vec::new(), Vec::new());
    let mut start_us = 0;
    for step in 0..60 {
        let late_us = if step == 20 { 30_000 } else { 0 };
        let kernel_us = if step == 40 { 20_000 } else { 400 };
        let end_us = start_us + 1_000 + late_us;
        rank.event(MAIN, FuncEventKind::Entry, "region", start_us);
        rank.call(
            MAIN,
            "omp_barrier_wait",
            start_us + 900 + step % 7,
            end_us + 20,
        );
        rank.event(MAIN, FuncEventKind::Exit, "region", end_us + 30);
        regions.push((start_us, end_us));
        rank.call(MAIN, "cudaLaunchKernel", end_us + 40, end_us + 45);
        let from_us = end_us + 50;
        kernels.push((from_us, from_us + kernel_us));
        rank.call(
            MAIN,
            "cudaStreamSynchronize",
            end_us + 60,
            from_us + kernel_us + 5,
        );
        start_us = from_us + kernel_us + 100;
    }
    for (from_us, to_us) in regions {
        rank.event(POOL, FuncEventKind::Entry, "region", from_us);
        rank.call(POOL, "omp_barrier_wait", to_us, to_us + 20);
        rank.event(POOL, FuncEventKind::Exit, "region", to_us + 30);
    }
    for (from_us, to_us) in kernels {
        rank.call(STREAM, "kernel", from_us, to_us);
    }
    let trace = run(vec![rank.finish()]);
    let causes = Causes::find(&trace, Progress::none()).expect("no cancellation");
    let roles = |thread: ThreadId, name: &str| -> Vec<usize> {
        let (lane, of_lane) = trace
            .lanes()
            .find(|(_, it)| it.thread == thread)
            .expect("the thread has a lane");
        let executions = &of_lane.executions;
        let calls = (0..executions.len()).map(ExecIdx::from_index);
        let calls = calls.filter(|it| trace.names.name(executions.func[it.index()]) == name);
        let role = |exec| causes.of(&trace, ExecRef { lane, exec }).role;
        let roots = calls.enumerate().filter(|it| role(it.1) == DelayRole::Root);
        roots.map(|it| it.0).collect()
    };
    assert_eq!(roles(POOL, "region"), [20]);
    assert_eq!(roles(STREAM, "kernel"), [40]);
    assert_eq!(roles(MAIN, "region"), []);
}
