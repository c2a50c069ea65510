//! A generated training job: ranks with a thread and two streams of a GPU each, which reduce gradients together. A rank
//! that is late for any reason is found as the root of the delay of all others.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

use callgrove_causes::{CauseKind, Causes};
use callgrove_model::{
    CollectiveEvent, FuncEventKind, LaunchEvent, Metadata, NameTable, ProgramId, Progress,
    Property, RankBuilder, RankId, StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_patterns::{Iterations, Patterns};

const NUM_RANKS: usize = 4;
const NUM_STEPS: usize = 24;
const NUM_LAYERS: usize = 6;
/// Number of reductions in a step.
const NUM_BUCKETS: u64 = 3;
/// The step and rank that are disturbed.
const LATE_STEP: usize = 15;
const LATE_RANK: usize = 2;
/// How long the disturbance lasts.
const LATE_US: i64 = 40_000;

const CPU: ThreadId = ThreadId(0);
const COMPUTE: ThreadId = ThreadId(1);
const COMMUNICATION: ThreadId = ThreadId(2);

/// The disturbance of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Late {
    Nothing,
    Loader,
    Kernel,
    Host,
}

/// A call of a thread or stream, with times in microseconds.
struct Call {
    thread: ThreadId,
    name: &'static str,
    start: i64,
    end: i64,
}

/// One rank as it is simulated, with times in microseconds.
#[derive(Default)]
struct Rank {
    cpu: i64,
    compute: i64,
    communication: i64,
    calls: Vec<Call>,
    launches: Vec<LaunchEvent>,
    collectives: Vec<CollectiveEvent>,
    noise: i64,
}

fn at(time_us: i64) -> TimeNs {
    TimeNs(time_us * 1_000)
}

impl Rank {
    /// Returns a duration with some noise.
    fn about(&mut self, duration_us: i64) -> i64 {
        self.noise = (self.noise * 5 + 3) % 17;
        duration_us + duration_us * self.noise / 400
    }

    fn call(&mut self, thread: ThreadId, name: &'static str, start: i64, end: i64) {
        self.calls.push(Call {
            thread,
            name,
            start,
            end,
        });
    }

    /// Launches a kernel; returns when the launch began, and when the kernel may begin at the earliest.
    fn launch(&mut self) -> (i64, i64) {
        let start = self.cpu;
        self.cpu += 6;
        self.call(CPU, "cudaLaunchKernel", start, self.cpu);
        self.cpu += 20;
        (start, start + 8)
    }

    fn kernel(&mut self, name: &'static str, duration_us: i64) {
        let (launched, ready) = self.launch();
        let start = ready.max(self.compute + 1);
        self.compute = start + duration_us;
        self.call(COMPUTE, name, start, self.compute);
        self.launched(COMPUTE, start, launched);
    }

    fn launched(&mut self, thread: ThreadId, start: i64, launched: i64) {
        self.launches.push(LaunchEvent {
            thread,
            time: at(start),
            by: CPU,
            launched: at(launched),
        });
    }
}

fn simulate(late: Late) -> Trace {
    let mut ranks: Vec<Rank> = (0..NUM_RANKS)
        .map(|rank| Rank {
            noise: rank as i64 * 3,
            ..Rank::default()
        })
        .collect();
    for step in 0..NUM_STEPS {
        let starts: Vec<i64> = ranks.iter().map(|rank| rank.cpu).collect();
        for (number, rank) in ranks.iter_mut().enumerate() {
            let is_late = step == LATE_STEP && number == LATE_RANK;
            let extra = |kind| if is_late && late == kind { LATE_US } else { 0 };
            let start = rank.cpu;
            rank.cpu += rank.about(500) + extra(Late::Loader);
            rank.call(CPU, "load", start, rank.cpu);
            for layer in 0..NUM_LAYERS {
                if layer == 3 {
                    rank.cpu += extra(Late::Host);
                }
                let duration = rank.about(300) + if layer == 2 { extra(Late::Kernel) } else { 0 };
                rank.kernel("gemm", duration);
            }
        }
        for bucket in 0..NUM_BUCKETS {
            reduce(&mut ranks, step as u64 * NUM_BUCKETS + bucket);
        }
        for (rank, start) in ranks.iter_mut().zip(starts) {
            rank.compute = rank.compute.max(rank.communication + 2);
            rank.kernel("adam", 100);
            let wait = rank.cpu;
            rank.cpu = rank.cpu.max(rank.compute + 4);
            rank.call(CPU, "cudaStreamSynchronize", wait, rank.cpu);
            rank.cpu += 10;
            rank.call(CPU, "step", start, rank.cpu);
            rank.cpu += 5;
        }
    }
    let ranks = ranks.into_iter().zip(0..);
    let traces = ranks.map(|(rank, number)| rank_trace(rank, number));
    Trace::assemble(traces.collect(), Warnings::default())
}

/// Reduces the gradients: no kernel ends before the last has begun.
fn reduce(ranks: &mut [Rank], sequence: u64) {
    let starts: Vec<i64> = ranks
        .iter_mut()
        .map(|rank| {
            let (launched, ready) = rank.launch();
            let start = ready.max(rank.compute + 3).max(rank.communication + 1);
            rank.launched(COMMUNICATION, start, launched);
            start
        })
        .collect();
    let end = starts.iter().max().unwrap() + 200;
    for (rank, start) in ranks.iter_mut().zip(starts) {
        rank.call(
            COMMUNICATION,
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            start,
            end,
        );
        rank.communication = end;
        rank.collectives.push(CollectiveEvent {
            thread: COMMUNICATION,
            time: at(start),
            communicator: 9,
            sequence,
        });
    }
}

fn rank_trace(rank: Rank, number: u32) -> callgrove_model::RankTrace {
    let mut names = NameTable::default();
    let mut batch = StepBatch::empty(ProgramId(0), RankId(number), StepId(0));
    for (thread, property) in [(COMPUTE, "7"), (COMMUNICATION, "20")] {
        batch.metadata.push(Metadata {
            program: ProgramId(0),
            rank: RankId(number),
            thread,
            key: Property::GpuStream.key().to_owned(),
            value: property.to_owned(),
        });
    }
    let mut row = 0;
    for thread in [CPU, COMPUTE, COMMUNICATION] {
        let mut calls: Vec<&Call> = rank.calls.iter().filter(|it| it.thread == thread).collect();
        calls.sort_by_key(|it| (it.start, -it.end));
        let mut open: Vec<&Call> = Vec::new();
        let mut push = |kind, call: &Call, time_us: i64| {
            let func = names.intern(call.name);
            batch.funcs.push(thread, kind, func, at(time_us), row);
            row += 1;
        };
        for call in calls {
            while let Some(last) = open.pop_if(|last| last.end <= call.start) {
                push(FuncEventKind::Exit, last, last.end);
            }
            push(FuncEventKind::Entry, call, call.start);
            open.push(call);
        }
        while let Some(last) = open.pop() {
            push(FuncEventKind::Exit, last, last.end);
        }
    }
    batch.launches = rank.launches;
    batch.collectives = rank.collectives;
    let mut builder = RankBuilder::new(ProgramId(0), RankId(number));
    builder.push(batch);
    builder.finish(names, NameTable::default())
}

/// Returns kind, rank and function of each incident that is not by design, and what it cost in milliseconds.
fn incidents(trace: &Trace) -> Vec<(CauseKind, u32, String, i64)> {
    let causes = Causes::find(trace, Progress::none()).unwrap();
    let all = causes.incidents().all().iter();
    let all = all.filter(|it| !it.kind.is_by_design());
    all.map(|it| {
        let function = trace.names.name(it.root.func).to_owned();
        let cost = it.delay.0 / 1_000_000;
        (it.kind, it.root.rank.0, function, cost)
    })
    .collect()
}

#[test]
fn a_job_without_a_disturbance_has_no_incident() {
    assert_eq!(incidents(&simulate(Late::Nothing)), []);
}

#[test]
fn the_late_rank_is_the_root_whatever_made_it_late() {
    let expected = [
        (Late::Loader, CauseKind::Stalled, "load"),
        (Late::Kernel, CauseKind::Slow, "gemm"),
        (Late::Host, CauseKind::Stalled, "step"),
    ];
    for (late, kind, function) in expected {
        let found = incidents(&simulate(late));
        let found: Vec<_> = found.iter().map(|it| (it.0, it.1, it.2.as_str())).collect();
        assert_eq!(found, [(kind, LATE_RANK as u32, function)], "{late:?}");
    }
}

/// The streams repeat kernels of equal names more often than the threads repeat their step.
#[test]
fn the_iterations_are_those_of_the_threads() {
    let trace = simulate(Late::Kernel);
    let patterns = Patterns::find(&trace, Progress::none()).unwrap();
    let iterations = Iterations::find(&trace, &patterns, Progress::none())
        .unwrap()
        .unwrap();
    assert_eq!(iterations.name(&trace), "step");
    assert_eq!(iterations.len(), NUM_STEPS);
    let span = iterations.span(LATE_STEP).unwrap();
    assert!(span.1.since(span.0).as_us() > LATE_US);
}
