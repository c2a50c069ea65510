//! Reads traces and prints what they hold, or only how much with `--count`, which measures the reader.
//!
//! `cargo run --release --package callgrove-perfetto --example perfetto_calls -- [--count] PATH`

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_local::LocalFiles;
use callgrove_model::Progress;
use callgrove_perfetto::PerfettoFormat;
use callgrove_source::{Next, OneByOne, Projection, RecordedRun, Registry, call_lines};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: perfetto_calls [--count] PATH";
    let path = arguments.last().ok_or(usage)?;
    let registry = Registry::new(Arc::new(LocalFiles), vec![Box::new(PerfettoFormat)]);
    let run = registry.open(Path::new(path))?;
    if arguments.first().is_some_and(|it| it == "--count") {
        return count(run);
    }
    let trace = run.load(&OneByOne, Progress::none())?;
    for line in call_lines(&trace) {
        println!("call {line}");
    }
    for lane in &trace.lanes {
        let comms = &lane.comms;
        for row in 0..comms.time.len() {
            println!(
                "message {}.{} {:?} {} tag {} {} bytes at {}",
                lane.rank,
                lane.thread.0,
                comms.kind[row],
                comms.partner[row],
                comms.tag[row],
                comms.size_bytes[row],
                comms.time[row].0
            );
        }
        let counters = &lane.counters;
        for row in 0..counters.time.len() {
            let name = trace.counter_names.name(counters.counter[row]);
            println!(
                "counter {}.{} {name} {} at {}",
                lane.rank, lane.thread.0, counters.value[row], counters.time[row].0
            );
        }
    }
    for it in &trace.launches {
        let (lane, by) = (it.lane.0, it.by.0);
        println!("launch lane {lane} {} by {by} {}", it.time.0, it.launched.0);
    }
    for it in &trace.metadata {
        let (rank, thread) = (it.rank, it.thread.0);
        println!("metadata {rank}.{thread} {}={}", it.key, it.value);
    }
    println!("matched {}", trace.messages.len());
    for it in trace.warnings.iter() {
        println!("warning {it:?}");
    }
    Ok(())
}

fn count(run: RecordedRun) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut num_events = 0;
    for part in run.into_parts()? {
        let mut stream = part.open(&Projection::default())?;
        let mut has_steps = false;
        loop {
            match stream.next_step(Duration::ZERO)? {
                Next::Step(batch) => {
                    if !has_steps {
                        println!("read after {:?}", start.elapsed());
                    }
                    has_steps = true;
                    num_events += batch.funcs.len();
                }
                Next::End => break,
                Next::Reading | Next::NotReady => {}
            }
        }
    }
    println!("{num_events} events in {:?}", start.elapsed());
    Ok(())
}
