//! Measures patterns and iterations of a run folder: `cargo run --release -p callgrove-benches --example patterns --
//! RUN [DEPTH]`. It prints CPU seconds and memory of both, whether the grammar reproduces each lane's events, and the
//! definitions with the largest total time, unfolded DEPTH levels.

use std::error::Error;
use std::path::Path;

use callgrove_benches::meter::{cpu_seconds, memory_bytes, peak_memory_bytes, reset_peak_memory};
use callgrove_model::{Progress, Trace};
use callgrove_patterns::{
    DEFAULT_ANOMALY_FACTOR, DEFAULT_REFERENCE_SHARE, Iterations, Patterns, events,
};

/// Number of printed patterns.
const NUM_SHOWN: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let run = arguments.next().ok_or("usage: patterns RUN [DEPTH]")?;
    let depth = arguments.next().map_or(Ok(1), |depth| depth.parse())?;
    let trace = callgrove_formats::load(Path::new(&run), Progress::none())?;
    let num_events = 2 * trace.num_executions();
    let before = memory_bytes();
    reset_peak_memory();

    let (patterns, finding) = cpu_seconds(|| Patterns::find(&trace, Progress::none()));
    let patterns = patterns?;
    let (iterations, counting) =
        cpu_seconds(|| Iterations::find(&trace, &patterns, Progress::none()));
    let iterations = iterations?;
    println!(
        "{num_events} events, {} patterns; CPU: patterns {finding:.3} s, iterations {counting:.3} s; {} MiB in addition to \
         the {} of the trace",
        patterns.all().len(),
        peak_memory_bytes().saturating_sub(before) >> 20,
        before >> 20,
    );
    check(&trace, &patterns);
    describe(&trace, &patterns, depth);
    if let Some(iterations) = iterations {
        print_iterations(&trace, &iterations);
    } else {
        println!("no iterations");
    }
    Ok(())
}

fn check(trace: &Trace, patterns: &Patterns) {
    let wrong = trace
        .lanes()
        .filter(|(at, lane)| !patterns.expand(*at).eq(events(&lane.executions)));
    println!(
        "lanes that the grammar does not reproduce: {}",
        wrong.count()
    );
}

fn describe(trace: &Trace, patterns: &Patterns, depth: usize) {
    let (q, s) = (DEFAULT_REFERENCE_SHARE, DEFAULT_ANOMALY_FACTOR);
    for pattern in patterns.all().iter().take(NUM_SHOWN) {
        let curve = pattern.curve();
        let [reference, undecided, anomalous] = curve.counts(q, s);
        println!(
            "#{} {:016x}: {} occurrences, {}-{} events, total {}, d {}: {reference} + {undecided} + {anomalous}",
            pattern.id.0,
            pattern.content,
            pattern.occurrences.len(),
            pattern.num_events.min,
            pattern.num_events.max,
            pattern.total,
            curve.reference(q),
        );
        println!("    {}", patterns.define(pattern.id, &trace.names, depth));
    }
    if let Some((lane, _)) = trace.lanes().next() {
        let mut text = patterns.define_lane(lane, &trace.names, 0);
        text.truncate(text.floor_char_boundary(6_000));
        println!("first lane: {text}");
    }
}

fn print_iterations(trace: &Trace, iterations: &Iterations) {
    let on_lanes: Vec<usize> = trace
        .lanes()
        .map(|(lane, _)| iterations.on_lane(lane).starts.len())
        .collect();
    println!(
        "{} iterations of {}, on lanes {on_lanes:?}, pattern {:?}",
        iterations.len(),
        iterations.name(trace),
        iterations.pattern
    );
    let mut uneven = iterations.imbalances();
    uneven.sort_by(|left, right| right.share().total_cmp(&left.share()));
    for it in uneven.iter().take(3) {
        println!(
            "iteration {}: {}; busy {} on average, {} on lane {} ({:.0} % more)",
            it.iteration,
            it.duration,
            it.mean_busy,
            it.most_busy,
            it.slowest,
            it.share() * 100.0
        );
    }
}
