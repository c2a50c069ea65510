//! Trends in generated runs: slow ranks, growth, changes, and runs without any.

use std::collections::BTreeMap;

use callgrove_model::{
    DurationNs, ExecIdx, FuncEventKind, FuncId, LaneIdx, Metadata, NameTable, ProgramId, Progress,
    RankBuilder, RankId, StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_trends::{
    LaneWindows, OwnTimeWindows, TimeWindow, Trend, TrendDoubt, TrendKind, TrendLane, Trends,
};

const NUM_RANKS: u32 = 8;
const NUM_STEPS: i64 = 200;
const THREAD: ThreadId = ThreadId(0);
/// Time of the kernel of a step.
const KERNEL_US: i64 = 1_000;
/// Time of the update of a step.
const UPDATE_US: i64 = 300;

/// One rank while it runs.
struct Rank {
    number: u32,
    names: NameTable,
    batch: StepBatch,
    time_us: i64,
    noise: u64,
}

impl Rank {
    fn new(number: u32) -> Self {
        let mut batch = StepBatch::empty(ProgramId(0), RankId(number), StepId(0));
        batch.metadata.push(Metadata {
            program: ProgramId(0),
            rank: RankId(number),
            thread: THREAD,
            key: "Hostname".to_owned(),
            value: format!("nid{}", number / 2),
        });
        Self {
            number,
            names: NameTable::default(),
            batch,
            time_us: 1_000,
            noise: 1 + u64::from(number),
        }
    }

    fn event(&mut self, kind: FuncEventKind, name: &str) {
        let row = u32::try_from(self.batch.funcs.len()).expect("a short run");
        let func = self.names.intern(name);
        let time = TimeNs(self.time_us * 1_000);
        self.batch.funcs.push(THREAD, kind, func, time, row);
    }

    fn enter(&mut self, name: &str) {
        self.event(FuncEventKind::Entry, name);
    }

    fn leave(&mut self, name: &str) {
        self.event(FuncEventKind::Exit, name);
    }

    /// Adds a call of `us` microseconds, give or take 3 %.
    fn call(&mut self, name: &str, us: i64) {
        self.noise = self.noise.wrapping_mul(6_364_136_223_846_793_005) + 1_442_695;
        let noise = i64::try_from(self.noise >> 33).expect("31 bits") % 61 - 30;
        self.enter(name);
        self.time_us += us + us * noise / 1_000;
        self.leave(name);
    }
}

/// Returns a run of ranks on hosts of two: each step has a kernel and an update with the durations of `work`, then
/// all wait for the last.
fn run(work: impl Fn(u32, i64) -> Vec<(&'static str, i64)>) -> Trace {
    run_of(NUM_RANKS, work)
}

fn run_of(num_ranks: u32, work: impl Fn(u32, i64) -> Vec<(&'static str, i64)>) -> Trace {
    let mut ranks: Vec<Rank> = (0..num_ranks).map(Rank::new).collect();
    for rank in &mut ranks {
        rank.enter("main");
    }
    for step in 0..NUM_STEPS {
        for rank in &mut ranks {
            rank.enter("Solver::step");
            for (name, us) in work(rank.number, step) {
                rank.call(name, us);
            }
            rank.enter("MPI_Allreduce()");
        }
        let last_us = ranks.iter().map(|rank| rank.time_us).max().unwrap_or(0);
        for rank in &mut ranks {
            rank.time_us = last_us + 5;
            rank.leave("MPI_Allreduce()");
            rank.leave("Solver::step");
        }
    }
    let finished = ranks.into_iter().map(|mut rank| {
        rank.leave("main");
        let mut builder = RankBuilder::new(ProgramId(0), RankId(rank.number));
        builder.push(rank.batch);
        builder.finish(rank.names, NameTable::default())
    });
    Trace::assemble(finished.collect(), Warnings::default())
}

/// Returns the usual work of a step, each part times a factor in percent.
fn usual(kernel_percent: i64, update_percent: i64) -> Vec<(&'static str, i64)> {
    vec![
        ("Solver::kernel", KERNEL_US * kernel_percent / 100),
        ("Solver::update", UPDATE_US * update_percent / 100),
    ]
}

fn found(trace: &Trace) -> Vec<Trend> {
    let trends = Trends::find(trace, Progress::none()).expect("no cancellation");
    trends.all().to_vec()
}

/// Returns the only finding.
fn only(trace: &Trace) -> Trend {
    let found = found(trace);
    let words: Vec<String> = found.iter().map(|it| it.summary(trace)).collect();
    assert_eq!(found.len(), 1, "{words:?}");
    found[0].clone()
}

fn ranks(trend: &Trend) -> Vec<u32> {
    trend.ranks.iter().map(|rank| rank.0).collect()
}

#[test]
fn a_slow_host_is_named_with_its_peers_and_its_factor() {
    let trace = run(|rank, _| match rank {
        4 | 5 => usual(130, 130),
        _ => usual(100, 100),
    });
    let trend = only(&trace);
    assert_eq!(
        trend.summary(&trace),
        "ranks 4 and 5, host nid2, 1.30 times their peers in Solver::kernel throughout, as in Solver::update; \
         peers: ranks 0 to 3, 6 and 7"
    );
    assert_eq!(trend.doubt, None);
    let cost_us = trend.cost.as_us();
    let expected_us = 2 * NUM_STEPS * (KERNEL_US + UPDATE_US) * 30 / 100;
    assert!(
        (cost_us - expected_us).abs() < expected_us / 20,
        "{cost_us}"
    );
}

#[test]
fn a_slow_rank_among_slower_ones_is_named_as_well() {
    let trace = run_of(12, |rank, _| match rank {
        9 => usual(165, 165),
        7.. => usual(120, 120),
        _ => usual(100, 100),
    });
    let mut found = found(&trace);
    found.sort_by_key(ranks);
    let words: Vec<String> = found.iter().map(|it| it.summary(&trace)).collect();
    assert_eq!(
        words,
        [
            "ranks 7, 8, 10 and 11 1.20 times their peers in Solver::kernel throughout, as in Solver::update; peers: \
             ranks 0 to 6",
            "rank 9, host nid4, 1.37 times its peers in Solver::kernel throughout, as in Solver::update; peers: ranks \
             7, 8, 10 and 11",
        ]
    );
}

#[test]
fn growth_is_found_on_the_rank_that_grows_and_not_on_those_that_wait() {
    let trace = run(|rank, step| match rank {
        6 => usual(100 + step * 100 / NUM_STEPS, 100),
        _ => usual(100, 100),
    });
    let trend = only(&trace);
    assert_eq!(ranks(&trend), [6]);
    let TrendKind::Growth { from, to } = trend.kind else {
        panic!("no growth: {trend:?}");
    };
    assert!((from.as_us() - 1_000).abs() < 60, "{from}");
    assert!((to.as_us() - 2_000).abs() < 80, "{to}");
    let words = trend.summary(&trace);
    assert!(
        words.starts_with("rank 6, host nid3, grows from "),
        "{words}"
    );
    assert!(words.ends_with(" a call in Solver::kernel"), "{words}");
}

#[test]
fn a_change_is_found_with_its_time() {
    let change = 130;
    let trace = run(|rank, step| match (rank, step) {
        (3, 130..) => usual(140, 140),
        _ => usual(100, 100),
    });
    let trend = only(&trace);
    assert_eq!(ranks(&trend), [3]);
    let TrendKind::Change { from, to, at, .. } = trend.kind else {
        panic!("no change: {trend:?}");
    };
    assert!((from.as_us() - 1_000).abs() < 40, "{from}");
    assert!((to.as_us() - 1_400).abs() < 60, "{to}");
    let kernel = trace.names.get("Solver::kernel").expect("it is called");
    let executions = &trace.lanes[3].executions;
    let kernels = (0..executions.len()).filter(|&row| executions.func[row] == kernel);
    let entries: Vec<TimeNs> = kernels.map(|row| executions.entry[row]).collect();
    assert_eq!(entries.iter().position(|&it| it == at), Some(change));
}

#[test]
fn changes_of_all_ranks_are_doubted_even_to_shorter_times() {
    let trace = run(|_, step| match step {
        0..80 => usual(150, 100),
        _ => usual(100, 100),
    });
    let trend = only(&trace);
    assert_eq!(trend.doubt, Some(TrendDoubt::AllLanes));
    let words = trend.summary(&trace);
    assert!(words.starts_with("all 8 ranks take "), "{words}");
}

#[test]
fn nothing_is_found_in_a_clean_run() {
    assert_eq!(found(&run(|_, _| usual(100, 100))), []);
}

#[test]
fn a_rank_that_makes_more_calls_works_more_in_every_iteration() {
    let trace = run(|rank, _| match rank {
        1 => [usual(100, 100), usual(100, 100)].concat(),
        _ => usual(100, 100),
    });
    let trend = only(&trace);
    assert_eq!(trend.ranks, [RankId(1)]);
    assert_eq!(trend.doubt, Some(TrendDoubt::MoreToDo));
    assert!(matches!(trend.kind, TrendKind::SlowIterations { .. }));
}

#[test]
fn outliers_and_disturbances_that_end_are_no_trends() {
    // Rank 2 has an outlier in every fifth step, rank 3 is slow for a third of the run.
    let trace = run(|rank, step| match (rank, step) {
        (2, _) if step % 5 == 0 => usual(2_000, 100),
        (3, 60..120) => usual(150, 150),
        _ => usual(100, 100),
    });
    assert_eq!(found(&trace), []);
}

#[test]
fn more_than_half_of_the_ranks_are_not_slow() {
    let slow_from = |first| run(move |rank, _| usual(if rank < first { 100 } else { 130 }, 100));
    assert_eq!(ranks(&only(&slow_from(4))), [4, 5, 6, 7]);
    assert_eq!(found(&slow_from(3)), []);
}

#[test]
fn a_rank_that_is_slow_in_a_part_of_its_work_is_doubted() {
    let trace = run(|rank, _| {
        let percent = if rank == 7 { 250 } else { 100 };
        vec![
            ("Solver::edge", 100 * percent / 100),
            ("Solver::kernel", KERNEL_US),
        ]
    });
    let trend = only(&trace);
    assert_eq!(
        (ranks(&trend), trend.doubt),
        (vec![7], Some(TrendDoubt::OtherWorkUsual))
    );
}

#[test]
fn cheap_findings_are_dropped() {
    let trace = run(|rank, _| {
        let us = if rank == 7 { 20 } else { 10 };
        vec![("Solver::edge", us), ("Solver::kernel", KERNEL_US)]
    });
    assert_eq!(found(&trace), []);
}

#[test]
fn a_run_without_calls_and_a_selection_have_no_findings() {
    assert_eq!(found(&Trace::default()), []);
    let mut trace = run(|rank, _| usual(if rank == 4 { 150 } else { 100 }, 100));
    assert_eq!(found(&trace).len(), 1);
    trace.is_selection = true;
    assert_eq!(found(&trace), []);
}

#[test]
fn handles_times_that_go_back_or_never_end() {
    let mut trace = run(|_, _| usual(100, 100));
    for lane in &mut trace.lanes {
        for (row, own) in lane.executions.exclusive.iter_mut().enumerate() {
            own.0 = match row % 4 {
                0 => i64::MAX,
                1 => i64::MIN,
                2 => -1,
                _ => i64::MAX / 200 * i64::try_from(row % 200).unwrap_or(0),
            };
        }
    }
    found(&trace);
}

/// Start and duration of each call.
type Calls = Vec<(TimeNs, DurationNs)>;

/// Returns the findings from windows of `NUM_CALLS` calls, as for a running job.
fn found_in_windows(trace: &Trace) -> Vec<Trend> {
    const NUM_CALLS: usize = 4;
    let mut contexts: BTreeMap<(FuncId, Option<FuncId>), Vec<LaneWindows>> = BTreeMap::new();
    for (lane, held) in trace.lanes() {
        let executions = &held.executions;
        let mut calls: BTreeMap<(FuncId, Option<FuncId>), Calls> = BTreeMap::new();
        for row in 0..executions.len() {
            let caller = executions.parent(ExecIdx::from_index(row));
            let caller = caller.map(|caller| executions.func[caller.index()]);
            let call = (executions.entry[row], executions.exclusive[row]);
            let context = (executions.func[row], caller);
            calls.entry(context).or_default().push(call);
        }
        for (context, calls) in calls {
            let window = |calls: &[(TimeNs, DurationNs)]| {
                let mut own: Vec<DurationNs> = calls.iter().map(|call| call.1).collect();
                own.sort_unstable();
                TimeWindow {
                    start: calls[0].0,
                    num_calls: u64::try_from(calls.len()).expect("a few"),
                    usual: own[(own.len() - 1) * 2 / 5],
                    total: own.iter().copied().sum(),
                }
            };
            contexts.entry(context).or_default().push(LaneWindows {
                lane,
                windows: calls.chunks(NUM_CALLS).map(window).collect(),
            });
        }
    }
    let contexts = contexts
        .into_iter()
        .map(|((func, caller), lanes)| OwnTimeWindows {
            program: ProgramId(0),
            func,
            caller,
            lanes,
        });
    let lanes = trace.lanes().map(|(_, lane)| TrendLane {
        program: lane.program,
        rank: lane.rank,
        thread: lane.thread,
        host: format!("nid{}", lane.rank.0 / 2),
    });
    let (start, end) = trace.time_span().expect("it ran");
    let trends = Trends::of_windows(
        contexts.collect(),
        &lanes.collect::<Vec<_>>(),
        |func| trace.names.name(func),
        start..end,
        DurationNs(1_000),
    );
    trends.all().to_vec()
}

#[test]
fn windows_and_traces_give_the_same_findings() {
    let check = |name: &str, trace: &Trace| {
        let lane = |lane: LaneIdx| (trace.lane(lane).rank, trace.lane(lane).thread);
        let whole = found(trace);
        let windowed = found_in_windows(trace);
        let kinds = |trends: &[Trend]| -> Vec<(&'static str, Vec<u32>, String)> {
            let kind = |it: &Trend| (it.kind.name(), ranks(it), it.host.clone());
            trends.iter().map(kind).collect()
        };
        assert_eq!(kinds(&windowed), kinds(&whole), "{name}");
        for (own, other) in windowed.iter().zip(&whole) {
            let ratio = |it: &Trend| {
                let (own, usual) = it.kind.times();
                own.0 as f64 / usual.0 as f64
            };
            let words = own.sentence(|func| trace.names.name(func), lane);
            assert!((ratio(own) / ratio(other) - 1.0).abs() < 0.05, "{words}");
            assert_eq!(own.func, other.func, "{words}");
        }
        whole.len()
    };
    let slow = run(|rank, _| match rank {
        4 | 5 => usual(130, 130),
        _ => usual(100, 100),
    });
    assert_eq!(check("slow", &slow), 1);
    let growing = run(|rank, step| match rank {
        6 => usual(100 + step / 2, 100),
        _ => usual(100, 100),
    });
    assert_eq!(check("growing", &growing), 1);
    let changed = run(|rank, step| match (rank, step) {
        (2, 120..) => usual(150, 100),
        _ => usual(100, 100),
    });
    assert_eq!(check("changed", &changed), 1);
    assert_eq!(check("nothing", &run(|_, _| usual(100, 100))), 0);
}
