//! Measures the reader's budget: reading a complete run into executions within twice the time in which ADIOS2 reads the
//! same arrays and discards them. It also measures reading the steps alone, which online detection does. It prints the
//! CPU time of both as well, which other work on the machine does not affect (Linux only).
//!
//! `cargo run --release --package callgrove-tau --example read_budget -- RUN [REPEATS]`

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_adios2_sys::{Adios, AdiosEngine, Library, LibraryOnDemand, OpenMode, StepStatus};
use callgrove_local::{LocalFiles, Threads};
use callgrove_model::Progress;
use callgrove_source::{Next, Part as _, Projection, Registry};
use callgrove_tau::TauFormat;

const ARRAYS: [(&str, &str, usize); 3] = [
    ("timer_event_count", "event_timestamps", 6),
    ("counter_event_count", "counter_values", 6),
    ("comm_count", "comm_timestamps", 8),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let run = arguments.next().ok_or("usage: read_budget RUN [REPEATS]")?;
    let repeats: usize = arguments.next().map_or(Ok(5), |repeats| repeats.parse())?;
    let adios2 = LibraryOnDemand::of_this_machine();
    let format = TauFormat::new(adios2.clone(), None);
    let registry = Registry::new(Arc::new(LocalFiles), vec![Box::new(format.clone())]);
    let streams = registry.find(Path::new(&run))?;
    let library = adios2.get()?;
    println!("{} streams, {library:?}", streams.len());

    let (mut bare, mut trace) = (Vec::new(), [Vec::new(), Vec::new()]);
    let (mut bare_cpu, mut steps_cpu) = (Vec::new(), Vec::new());
    let (mut bytes, mut num_events) = (0, 0);
    for _ in 0..repeats {
        let (start, cpu) = (Instant::now(), cpu_time());
        bytes = read_arrays(&streams, &library)?;
        bare.push(start.elapsed());
        bare_cpu.push(cpu_time().saturating_sub(cpu));
        let cpu = cpu_time();
        num_events = read_steps(&streams, &format)?;
        steps_cpu.push(cpu_time().saturating_sub(cpu));
        for (num_threads, times) in (1..).zip(&mut trace) {
            let num_threads = NonZeroUsize::new(num_threads).ok_or("no thread")?;
            let start = Instant::now();
            let trace = registry.load(
                Path::new(&run),
                &Threads::new(num_threads),
                Progress::none(),
            )?;
            times.push(start.elapsed());
            println!(
                "{} executions with {num_threads} thread(s)",
                trace.num_executions()
            );
        }
    }
    let bare = best(&bare);
    println!("ADIOS2 alone: {bare:?} for {bytes} bytes");
    let (bare_cpu, steps_cpu) = (best(&bare_cpu), best(&steps_cpu));
    println!(
        "CPU: ADIOS2 alone {bare_cpu:?}, to steps {steps_cpu:?} = {:.1} ns per function event",
        steps_cpu.as_secs_f64() * 1e9 / num_events as f64
    );
    for (num_threads, times) in (1..).zip(trace) {
        let time = best(&times);
        println!(
            "to executions, {num_threads} thread(s): {time:?} = {:.2} x",
            time.as_secs_f64() / bare.as_secs_f64()
        );
    }
    Ok(())
}

/// Returns the time of the least disturbed run.
fn best(times: &[Duration]) -> Duration {
    times.iter().min().copied().unwrap_or_default()
}

/// Returns the CPU time of this thread; zero where it cannot be measured.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Decodes all steps one after another, discards them, and returns the number of function events.
fn read_steps(streams: &[PathBuf], format: &TauFormat) -> Result<usize, Box<dyn Error>> {
    let mut num_events = 0;
    for stream in streams {
        let mut source = format.part(stream).open(&Projection::default())?;
        while let Next::Step(batch) = source.next_step(Duration::ZERO)? {
            num_events += batch.funcs.len();
        }
    }
    Ok(num_events)
}

/// Reads all arrays of all streams one after another, and discards them.
fn read_arrays(streams: &[PathBuf], library: &Library) -> Result<usize, Box<dyn Error>> {
    let mut bytes = 0;
    let mut rows = Vec::new();
    for stream in streams {
        let io = Adios::new(library)?.declare_io("TAU trace data")?;
        io.set_parameters([("OpenTimeoutSecs", "0"), ("Threads", "1")])?;
        let mut engine = io.open(stream, OpenMode::Read)?;
        while engine.begin_step(Duration::ZERO)? == StepStatus::Ok {
            for (count, name, num_columns) in ARRAYS {
                bytes += read_array(&engine, count, name, num_columns, &mut rows)?;
            }
            engine.end_step()?;
        }
    }
    Ok(bytes)
}

fn read_array(
    engine: &AdiosEngine,
    count: &str,
    name: &str,
    num_columns: usize,
    rows: &mut Vec<u64>,
) -> Result<usize, Box<dyn Error>> {
    let count = engine.io().variable(count)?.ok_or("not a trace of TAU")?;
    let num_rows = engine.get_value::<u64>(&count)? as usize;
    if num_rows == 0 {
        return Ok(0);
    }
    let variable = engine.io().variable(name)?.ok_or("not a trace of TAU")?;
    variable.set_selection(&[0, 0], &[num_rows, num_columns])?;
    rows.resize(num_rows * num_columns, 0);
    engine.get(&variable, rows)?;
    Ok(size_of_val(rows.as_slice()))
}
