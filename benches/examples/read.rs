//! Reads all events of a run on one thread and forgets them: the cost of the reader alone, in CPU time of the process.
//! `cargo run --release -p callgrove-benches --example read -- RUN…`

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use callgrove_benches::meter::cpu_seconds;
use callgrove_formats::local_registry;
use callgrove_source::{Next, Projection, SourceError};

/// The number of events of each kind.
#[derive(Default)]
struct EventNumbers {
    function_events: usize,
    messages: usize,
    samples: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    for run in std::env::args().skip(1) {
        let (numbers, cpu_s) = cpu_seconds(|| read(Path::new(&run)));
        let EventNumbers {
            function_events,
            messages,
            samples,
        } = numbers?;
        println!(
            "{run}: {:.1} million function events per CPU second ({function_events}, {messages} message events, \
             {samples} samples in {cpu_s:.3} s)",
            function_events as f64 * 1e-6 / cpu_s
        );
    }
    Ok(())
}

fn read(run: &Path) -> Result<EventNumbers, SourceError> {
    let mut numbers = EventNumbers::default();
    for part in local_registry(None).open(run)?.into_parts()? {
        let mut stream = part.open(&Projection::default())?;
        loop {
            match stream.next_step(Duration::ZERO)? {
                Next::Step(batch) => {
                    numbers.function_events += batch.funcs.len();
                    numbers.messages += batch.comms.time.len();
                    numbers.samples += batch.counters.time.len();
                }
                Next::Reading => {}
                Next::NotReady | Next::End => break,
            }
        }
    }
    Ok(numbers)
}
