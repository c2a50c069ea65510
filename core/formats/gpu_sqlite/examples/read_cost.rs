//! Reads files and prints what is in them, and what reading them cost: `read_cost FILE…`.

#![expect(clippy::print_stdout, reason = "an example that reports to a person")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callgrove_gpu_sqlite::GpuSqliteFormat;
use callgrove_local::LocalFiles;
use callgrove_model::FuncEventKind;
use callgrove_source::{Contents, FileSystem, Format, Input, Next, Projection, SourceError};

/// Returns user and system time of this process in ticks of a hundredth of a second, and its peak memory in MiB.
fn cost() -> (u64, u64) {
    let number = |text: Option<&str>| text.and_then(|it| it.parse().ok()).unwrap_or(0);
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.split(' ').collect();
    let ticks: u64 = number(fields.get(13).copied()) + number(fields.get(14).copied());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    let peak = number(peak.and_then(|it| it.split_whitespace().next()));
    (ticks, peak >> 10)
}

fn main() -> Result<(), SourceError> {
    let files: Arc<dyn FileSystem> = Arc::new(LocalFiles);
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let input = Input::new(&path, &files);
        let is_known = GpuSqliteFormat.probe(&input);
        let Contents::Events(parts) = GpuSqliteFormat.open(&input)? else {
            continue;
        };
        for part in parts {
            let mut stream = part.open(&Projection::default())?;
            let (mut num_events, mut num_launches, mut num_steps) = (0, 0, 0_u64);
            let (mut num_messages, mut num_collectives, mut sum_ns) = (0, 0, 0_i128);
            loop {
                match stream.next_step(Duration::ZERO)? {
                    Next::Step(batch) => {
                        num_events += batch.funcs.len();
                        for event in batch.funcs.segments().flat_map(|(_, events)| events) {
                            match event.kind() {
                                FuncEventKind::Entry => sum_ns -= i128::from(event.time.0),
                                FuncEventKind::Exit => sum_ns += i128::from(event.time.0),
                            }
                        }
                        num_launches += batch.launches.len();
                        num_messages += batch.comms.len();
                        num_collectives += batch.collectives.len();
                        num_steps += 1;
                    }
                    Next::End => break,
                    Next::NotReady | Next::Reading => {}
                }
            }
            let (ticks, peak_mib) = cost();
            println!(
                "{}: known {is_known}, {num_events} events, calls of {sum_ns} ns, {num_launches} launches, {num_messages} ends of messages, \
                 {num_collectives} collectives, {num_steps} steps; {ticks} ticks, {peak_mib} MiB",
                path.display()
            );
            for warning in stream.take_warnings().iter() {
                println!(
                    "  {}: {} {:?}",
                    warning.count, warning.kind, warning.first.place
                );
            }
        }
    }
    Ok(())
}
