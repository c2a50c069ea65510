//! Measures the cost of live AD instances: many streams in one instance, many steps, and many instances at one
//! parameter server.
//!
//! ```text
//! cargo run --release -p callgrove-benches --example live -- streams NUM SECONDS
//! cargo run --release -p callgrove-benches --example live -- steps NUM
//! cargo run --release -p callgrove-benches --example live -- exchange INSTANCES FUNCTIONS SECONDS ADDRESS [PAUSE [RANKS [GROUPS]]]
//! ```
//!
//! `streams`: each stream has a step of twenty calls every second; measures how long steps wait until they are taken.
//! `steps`: NUM steps of four streams in sequence; prints the memory as it goes. `exchange`: each instance sends the
//! server at ADDRESS, or over the message bus at `nats://…`, the updates of a step to the models of its functions, as fast
//! as the server answers or with a pause in milliseconds between them. It reports a step of each of its RANKS (1) with
//! them. On a bus with GROUPS, a merger must run for each.

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_ad::{AdOptions, Instance, Pacing, Stream, WriterGone};
use callgrove_benches::meter::{cpu_seconds, memory_bytes};
use callgrove_detect::{CallerKey, FuncModel, Params, ValidParams};
use callgrove_incidents::StallSummary;
use callgrove_model::{
    CounterId, FuncEventKind, FuncId, NameTable, ProgramId, RankId, RunIdentity, StepBatch, StepId,
    ThreadId, TimeNs, Warnings,
};
use callgrove_pserver::{
    AnomalySummary, FunctionReport, Hello, ModelExchange, PserverError, ServerState, StateOptions,
    StepReport, TreePValues,
};
use callgrove_pserver_net::{ExchangeOptions, connect, connect_to_bus};
use callgrove_source::{EventStream, Next, SourceError};

const NUM_FUNCTIONS: u32 = 10;
const CALLS_PER_STEP: u32 = 20;
/// Number of different updates that instances send to a server.
const NUM_DELTAS: u32 = 32;

type Waits = Arc<Mutex<Vec<Duration>>>;

/// A stream whose steps come one `pause` apart, even if the previous one was taken late.
struct PacedSource {
    rank: RankId,
    names: NameTable<FuncId>,
    counters: NameTable<CounterId>,
    num_left: u32,
    next: StepId,
    due: Instant,
    pause: Duration,
    /// Time when the newest step was handed over.
    handed: Option<Instant>,
    /// Time that each step waited until the next was requested, which is when it has been taken.
    waits: Waits,
}

impl PacedSource {
    fn stream(rank: u32, num_steps: u32, pause: Duration, waits: &Waits) -> Stream {
        let mut names = NameTable::default();
        (0..NUM_FUNCTIONS).for_each(|function| {
            names.intern(&format!("function_{function}"));
        });
        // Streams of a job do not write simultaneously.
        let offset = pause.mul_f64(f64::from(rank % 997) / 997.0);
        let source = Self {
            rank: RankId(rank),
            names,
            counters: NameTable::default(),
            num_left: num_steps,
            next: StepId(0),
            due: Instant::now() + pause + offset,
            pause,
            handed: None,
            waits: Arc::clone(waits),
        };
        Stream {
            rank: RankId(rank),
            open: Box::new(move || Ok(Box::new(source))),
            path: format!("stream {rank}"),
            reopen: None,
            writer_gone: WriterGone::default(),
        }
    }

    fn step(&mut self) -> StepBatch {
        let step = self.next;
        self.next.0 += 1;
        let mut batch = StepBatch::empty(ProgramId(0), self.rank, step);
        for call in 0..CALLS_PER_STEP {
            let at_us = i64::from(step.0) * 1_000_000 + i64::from(call) * 1_000;
            let took_us = i64::from(100 + (call * 7 + step.0 * 13 + self.rank.0) % 23);
            let func = FuncId(call % NUM_FUNCTIONS);
            let events = [
                (FuncEventKind::Entry, at_us),
                (FuncEventKind::Exit, at_us + took_us),
            ];
            for (row, (kind, time_us)) in (2 * call..).zip(events) {
                let time = TimeNs(time_us * 1_000);
                batch.funcs.push(ThreadId(0), kind, func, time, row);
            }
        }
        batch
    }
}

impl EventStream for PacedSource {
    fn next_step(&mut self, wait: Duration) -> Result<Next, SourceError> {
        if let Some(handed) = self.handed.take() {
            let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
            waits.push(handed.elapsed());
        }
        if self.num_left == 0 {
            return Ok(Next::End);
        }
        let left = self.due.saturating_duration_since(Instant::now());
        thread::sleep(left.min(wait));
        if left > wait {
            return Ok(Next::NotReady);
        }
        self.due += self.pause;
        self.num_left -= 1;
        let step = self.step();
        self.handed = Some(Instant::now());
        Ok(Next::Step(Box::new(step)))
    }

    fn rank(&self) -> Option<RankId> {
        Some(self.rank)
    }

    fn num_ranks(&self) -> Option<u32> {
        None
    }

    fn position(&self) -> f32 {
        0.0
    }

    fn names(&self) -> &NameTable<FuncId> {
        &self.names
    }

    fn counter_names(&self) -> &NameTable<CounterId> {
        &self.counters
    }

    fn take_warnings(&mut self) -> Warnings {
        Warnings::default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["streams", num, seconds] => streams(num.parse()?, seconds.parse()?),
        ["steps", num] => steps(num.parse()?),
        ["exchange", instances, functions, seconds, address, ref rest @ ..] => {
            let number = |at: usize, default| match rest.get(at) {
                Some(text) => text.parse::<u32>(),
                None => Ok(default),
            };
            exchange(&ExchangeLoad {
                num_instances: instances.parse()?,
                num_functions: functions.parse()?,
                length: Duration::from_secs(seconds.parse()?),
                address,
                pause: Duration::from_millis(number(0, 0)?.into()),
                num_ranks: number(1, 1)?,
                num_groups: number(2, 0)?,
            })
        }
        _ => Err(
            "usage: live streams NUM SECONDS | steps NUM | exchange INSTANCES FUNCTIONS SECONDS ADDRESS [PAUSE [RANKS [GROUPS]]]"
                .into(),
        ),
    }
}

fn instance(streams: Vec<Stream>) -> Result<Instance, Box<dyn Error>> {
    let options = AdOptions::new(Params::default(), Pacing::Live)?;
    let server = Arc::new(ServerState::new(StateOptions {
        fold_on_sync: true,
        ..StateOptions::default()
    }));
    let session = Box::new(server.session());
    Ok(Instance::start(streams, options, session, None, "live")?)
}

fn streams(num: u32, seconds: u32) -> Result<(), Box<dyn Error>> {
    let waits = Waits::default();
    let stream = |rank| PacedSource::stream(rank, seconds, Duration::from_secs(1), &waits);
    let instance = instance((0..num).map(stream).collect())?;
    let (status, cpu) = cpu_seconds(|| instance.run(|_| ControlFlow::Continue(())));
    let num_steps = status?.num_steps;
    let waits = std::mem::take(&mut *waits.lock().unwrap_or_else(PoisonError::into_inner));
    println!(
        "{num_steps} steps of {num} streams, {cpu:.2} CPU s; a step waits {}",
        percentiles(waits)
    );
    Ok(())
}

fn steps(num: u32) -> Result<(), Box<dyn Error>> {
    const NUM_STREAMS: u32 = 4;
    let waits = Waits::default();
    let stream = |rank| PacedSource::stream(rank, num, Duration::ZERO, &waits);
    let instance = instance((0..NUM_STREAMS).map(stream).collect())?;
    let mut next_report = 200 * u64::from(NUM_STREAMS);
    instance.run(|status| {
        if status.num_steps >= next_report {
            let steps = status.num_steps / u64::from(NUM_STREAMS);
            println!("{steps} steps: {:.1} MB", memory_bytes() as f64 * 1e-6);
            next_report *= 2;
        }
        ControlFlow::Continue(())
    })?;
    println!("{num} steps: {:.1} MB", memory_bytes() as f64 * 1e-6);
    Ok(())
}

/// The load of many instances.
struct ExchangeLoad<'a> {
    num_instances: u32,
    num_functions: u32,
    length: Duration,
    address: &'a str,
    pause: Duration,
    /// Ranks of each instance.
    num_ranks: u32,
    /// Groups on a message bus; 0 for none.
    num_groups: u32,
}

impl ExchangeLoad<'_> {
    /// Sends the updates of one instance. Returns how long each took.
    fn run_instance(&self, number: u32) -> Result<Vec<Duration>, PserverError> {
        let options = ExchangeOptions {
            startup_wait: Duration::from_mins(1),
            deadline: Duration::from_secs(30),
            group: number.checked_rem(self.num_groups),
            ..ExchangeOptions::new(self.address)
        };
        let mut session: Box<dyn ModelExchange> = if self.address.starts_with("nats://") {
            Box::new(connect_to_bus(options)?)
        } else {
            Box::new(connect(options)?)
        };
        let ranks: Vec<RankId> = (0..self.num_ranks)
            .map(|it| RankId(number * self.num_ranks + it))
            .collect();
        session.register(&Hello {
            instance: format!("live-{number}"),
            program: ProgramId(0),
            ranks: ranks.clone(),
            run: RunIdentity::default(),
            recorded_ranks: None,
        })?;
        let names: Vec<String> = (0..self.num_functions)
            .map(|it| format!("function_{it}"))
            .collect();
        let fids = session.functions(ProgramId(0), &names)?;
        let params = Params::default().check();
        let params = params.map_err(|error| PserverError::BadOption {
            option: "the parameters".to_owned(),
            cause: error.to_string(),
        })?;
        let deltas: Vec<FuncModel> = (0..NUM_DELTAS).map(|step| delta(&params, step)).collect();
        let (start, mut waits, mut step) = (Instant::now(), Vec::new(), 0);
        while start.elapsed() < self.length {
            // Learning the updates is part of the detectors' cost, so it is done before.
            let delta = |(place, &fid): (usize, &FuncId)| {
                (fid, deltas[(place + step as usize) % deltas.len()].clone())
            };
            let models: Vec<_> = fids.iter().enumerate().map(delta).collect();
            let steps: Vec<_> = ranks.iter().map(|&rank| (rank, StepId(step))).collect();
            let reports: Vec<StepReport> = steps
                .iter()
                .map(|&(rank, step)| report(rank, step, &models))
                .collect();
            let asked = Instant::now();
            session.learn_steps(&steps);
            session.sync_and_report(models, &reports)?;
            waits.push(asked.elapsed());
            thread::sleep(self.pause.saturating_sub(asked.elapsed()));
            step += 1;
        }
        session.goodbye()?;
        Ok(waits)
    }
}

fn exchange(load: &ExchangeLoad<'_>) -> Result<(), Box<dyn Error>> {
    let waits = thread::scope(|scope| {
        let instances: Vec<_> = (0..load.num_instances)
            .map(|number| scope.spawn(move || load.run_instance(number)))
            .collect();
        let joined = instances.into_iter().map(|it| match it.join() {
            Ok(waits) => waits.map_err(|error| error.to_string()),
            Err(_) => Err("a panic".to_owned()),
        });
        joined.collect::<Result<Vec<_>, _>>()
    })?;
    let waits: Vec<Duration> = waits.into_iter().flatten().collect();
    println!(
        "{} instances of {} ranks and {} functions: {:.0} updates a second; one takes {}",
        load.num_instances,
        load.num_ranks,
        load.num_functions,
        waits.len() as f64 / load.length.as_secs_f64(),
        percentiles(waits)
    );
    Ok(())
}

/// Returns the report of a step whose executions are those of `models`.
fn report(rank: RankId, step: StepId, models: &[(FuncId, FuncModel)]) -> StepReport {
    let function = |(fid, model): &(FuncId, FuncModel)| FunctionReport {
        fid: *fid,
        exclusive: *model.moments(),
        inclusive: *model.moments(),
        anomalies: AnomalySummary::default(),
    };
    StepReport {
        program: ProgramId(0),
        rank,
        step,
        functions: models.iter().map(function).collect(),
        counters: Vec::new(),
        stall_summary: StallSummary::default(),
        tree_p_values: TreePValues::new(),
    }
}

/// Returns what a step of twenty calls adds to the model of a function.
fn delta(params: &ValidParams, step: u32) -> FuncModel {
    let mut model = FuncModel::new(params);
    let times: Vec<u64> = (0..20)
        .map(|it| 100 + (it * 7 + u64::from(step)) % 23)
        .collect();
    model.extend_in(StepId(step), CallerKey::NONE, &times);
    model
}

/// Returns the median, the 99th percentile and the maximum as text.
fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: f64| {
        let place = (share * (times.len().max(1) - 1) as f64) as usize;
        times.get(place).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    format!(
        "median {:.1} ms, p99 {:.1}, max {:.1}",
        at(0.5),
        at(0.99),
        at(1.0)
    )
}
