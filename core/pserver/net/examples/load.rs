//! A load test: how many AD instances one parameter server sustains. Real clients run against a server in its own
//! process.
//!
//! ```text
//! cargo run --release -p callgrove-pserver-net --example load -- \
//!     --clients 64 --seconds 60 --functions 100 --executions 100 --pace-ms 0
//! ```
//!
//! Each client repeatedly syncs the models of all functions, with `--executions` new executions of each and a report of
//! the step, as an AD instance does step after step. `--pace-ms` is the time from one step to the next (0: no pause).
//! The output is syncs per second, the latency seen by the clients, and the server's CPU time.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_detect::{FuncModel, Moments, Params};
use callgrove_incidents::StallSummary;
use callgrove_model::{FuncId, ProgramId, RankId, RunIdentity, StepId};
use callgrove_pserver::{
    AnomalySummary, CounterReport, FunctionReport, Hello, Link, ModelExchange, ServerState,
    StateOptions, StepReport, TreePValues,
};
use callgrove_pserver_net::{ExchangeOptions, connect, service};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Copy, Debug)]
struct Load {
    clients: u64,
    seconds: u64,
    functions: u64,
    executions: u64,
    pace_ms: u64,
}

fn main() -> Result<(), Failure> {
    let mut load = Load {
        clients: 64,
        seconds: 60,
        functions: 100,
        executions: 100,
        pace_ms: 0,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let place = match name.as_str() {
            "--serve" => return serve(),
            "--clients" => &mut load.clients,
            "--seconds" => &mut load.seconds,
            "--functions" => &mut load.functions,
            "--executions" => &mut load.executions,
            "--pace-ms" => &mut load.pace_ms,
            _ => return Err(format!("unknown option {name}").into()),
        };
        let value = args.next().ok_or(format!("{name} needs a number"))?;
        *place = value.parse()?;
    }
    let (mut server, address) = start_server()?;
    let result = run(load, &address, server.id());
    server.kill()?;
    server.wait()?;
    result
}

/// Runs the server process: folds once a second, and ends when its standard input closes.
fn serve() -> Result<(), Failure> {
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let runtime = tokio::runtime::Runtime::new()?;
    let in_runtime = runtime.enter();
    let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into())?;
    println!("{}", incoming.local_addr()?);
    let server = Server::builder().serve_with_incoming(service(Arc::clone(&state)), incoming);
    runtime.spawn(server);
    drop(in_runtime);
    std::thread::Builder::new()
        .name(String::from("fold"))
        .spawn(move || {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                state.fold();
                drop(state.take_packet(0));
            }
        })?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn start_server() -> Result<(Child, String), Failure> {
    let mut server = Command::new(std::env::current_exe()?)
        .arg("--serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut address = String::new();
    let output = server.stdout.take().ok_or("the server has no output")?;
    BufReader::new(output).read_line(&mut address)?;
    Ok((server, address.trim().to_owned()))
}

fn run(load: Load, address: &str, server_pid: u32) -> Result<(), Failure> {
    let start = Instant::now();
    let clients: Vec<_> = (0..load.clients)
        .map(|rank| {
            let address = address.to_owned();
            std::thread::Builder::new()
                .name(format!("client-{rank}"))
                .spawn(move || client(load, rank, &address))
        })
        .collect::<Result<_, _>>()?;
    let mut latencies = Vec::new();
    let mut num_down = 0;
    for client in clients {
        let (of_client, down) = client
            .join()
            .map_err(|panic| format!("a client panicked: {panic:?}"))??;
        latencies.extend(of_client);
        num_down += down;
    }
    let elapsed = start.elapsed();
    latencies.sort_unstable();
    let quantile = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    println!("{load:?}");
    println!(
        "{} syncs in {elapsed:.1?}: {:.0} syncs/s, {num_down} without an answer",
        latencies.len(),
        latencies.len() as f64 / elapsed.as_secs_f64()
    );
    println!(
        "latency p50 {:.2?}, p90 {:.2?}, p99 {:.2?}, max {:.2?}",
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(1.0)
    );
    if let Some(cpu) = cpu_seconds(server_pid) {
        let per_sync_us = cpu / latencies.len() as f64 * 1e6;
        println!("server: {cpu:.1} s of CPU, {per_sync_us:.0} µs for each sync");
    }
    Ok(())
}

/// Returns the user and system time of a process in seconds; `None` without `/proc`.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn client(load: Load, rank: u64, address: &str) -> Result<(Vec<Duration>, u64), Failure> {
    let mut session = connect(ExchangeOptions::new(address))?;
    session.register(&Hello {
        instance: format!("load:{rank}"),
        program: ProgramId(0),
        ranks: vec![RankId(rank as u32)],
        run: RunIdentity::default(),
        recorded_ranks: None,
    })?;
    let names: Vec<String> = (0..load.functions)
        .map(|i| format!("function {i}"))
        .collect();
    let fids = session.functions(ProgramId(0), &names)?;
    // Builds several different steps before the clock starts.
    let steps: Vec<_> = (0..8).map(|seed| step(load, rank, seed, &fids)).collect();
    let new_model = Arc::new(FuncModel::new(&Params::default().check()?));
    let mut models: Vec<_> = fids
        .iter()
        .map(|&fid| (fid, Arc::clone(&new_model)))
        .collect();
    let mut latencies = Vec::new();
    let mut num_down = 0;
    let end = Instant::now() + Duration::from_secs(load.seconds);
    let mut next = Instant::now() + Duration::from_millis(load.pace_ms * rank / load.clients);
    let mut number = 0;
    while Instant::now() < end {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += Duration::from_millis(load.pace_ms);
        let Step { values, report } = &steps[number % steps.len()];
        let mut report = report.clone();
        report.step = StepId(number as u32);
        number += 1;
        let parts = models.iter().zip(values).map(|((fid, model), values)| {
            let mut part = model.new_part();
            part.extend(values);
            (*fid, part)
        });
        let parts = parts.collect();
        let sent = Instant::now();
        let synced = session.sync_and_report(parts, &[report])?;
        latencies.push(sent.elapsed());
        models = synced.models;
        num_down += u64::from(synced.link != Link::Up);
    }
    session.goodbye()?;
    Ok((latencies, num_down))
}

/// One step of one client.
struct Step {
    /// Runtimes of each function, in microseconds.
    values: Vec<Vec<u64>>,
    report: StepReport,
}

/// Returns a step with roughly log-normal runtimes (sums of uniform numbers), at a different scale for each function.
fn step(load: Load, rank: u64, seed: u64, fids: &[FuncId]) -> Step {
    let mut random = (rank * 8 + seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut uniform = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut all_values = Vec::new();
    let mut functions = Vec::new();
    for &fid in fids {
        let scale = 100.0 * f64::from(1 + fid.0 % 50);
        let values: Vec<u64> = (0..load.executions)
            .map(|_| {
                let normal = (0..6).map(|_| uniform() - 0.5).sum::<f64>();
                (scale * (normal * 0.7).exp()) as u64
            })
            .collect();
        let mut moments = Moments::default();
        moments.extend_from(&values);
        all_values.push(values);
        let mut anomalies = AnomalySummary::default();
        if fid.0 as u64 % 10 == seed {
            anomalies.push(50.0, scale, seed, seed + scale as u64);
        }
        functions.push(FunctionReport {
            fid,
            exclusive: moments,
            inclusive: moments,
            anomalies,
        });
    }
    let counters = vec![CounterReport {
        name: String::from("Memory Footprint (VmRSS) (KB)"),
        values: Moments::default(),
    }];
    let report = StepReport {
        program: ProgramId(0),
        rank: RankId(rank as u32),
        step: StepId(0),
        functions,
        counters,
        stall_summary: StallSummary::default(),
        tree_p_values: TreePValues::new(),
    };
    Step {
        values: all_values,
        report,
    }
}
