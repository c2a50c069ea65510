//! Stored traces are read with the same results as other tools: the figures, the executions of the ground truth, and
//! the first executions as text.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;
use std::{fs, ops::ControlFlow};

use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_local::Threads;
use callgrove_model::{CommKind, ExecIdx, Lane, Progress, Trace};
use callgrove_source::SourceError;
use callgrove_tau::TauError;
use support::{bp4_run, bp5_run, killed_run, read, read_with, read_without_adios2, registry};

fn check(run: &Path, expected: &str) {
    let found = describe(&read(run).unwrap());
    assert_eq!(
        found.trim_end(),
        expected.trim_end(),
        "\n--- found ---\n{found}"
    );
}

#[test]
fn a_bp5_run_reads_as_recorded() {
    check(&bp5_run(), include_str!("golden/lammps-4r-small.txt"));
}

#[test]
fn a_bp4_run_reads_as_recorded() {
    check(&bp4_run(), include_str!("golden/lammps-4r-small-bp4.txt"));
}

#[test]
fn a_killed_run_reads_up_to_its_last_complete_step() {
    check(&killed_run(), include_str!("golden/lammps-4r-killed.txt"));
}

#[test]
fn only_unclosed_streams_need_adios2() {
    for run in [bp4_run(), bp5_run()] {
        assert!(read_without_adios2(&run).unwrap().num_executions() > 0);
    }
    let error = read_without_adios2(&killed_run()).unwrap_err();
    let cause = error.of_format();
    assert!(matches!(cause, Some(TauError::Adios2(_))), "{error}");
}

#[test]
fn every_execution_of_the_ground_truth_has_its_times() {
    let trace = read(&bp5_run()).unwrap();
    let mut found = Vec::new();
    for lane in &trace.lanes {
        let execs = &lane.executions;
        for row in 0..execs.len() {
            if trace
                .names
                .name(execs.func[row])
                .starts_with("LAMMPS_NS::PairEAM::compute(")
            {
                let (entry, exit) = (
                    execs.entry[row].as_us(),
                    execs.exit(ExecIdx::from_index(row)).as_us(),
                );
                found.push(format!("{},{entry},{exit},{}", lane.rank, execs.step[row]));
            }
        }
    }
    let table = fs::read_to_string(bp5_run().join("ground_truth.csv")).unwrap();
    let mut rows = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let column = |name| header.iter().position(|column| *column == name).unwrap();
    let columns = ["rank", "entry_us", "exit_us", "io_step"].map(column);
    let expected: Vec<_> = rows
        .map(|row| columns.map(|column| row[column]).join(","))
        .collect();
    assert_eq!(expected.len(), 196);
    assert_eq!(found, expected);
}

#[test]
fn the_trace_does_not_depend_on_the_number_of_threads() {
    let one = read_with(&bp5_run(), 1).unwrap();
    for num_threads in [2, 4, 64] {
        let many = read_with(&bp5_run(), num_threads).unwrap();
        assert_eq!(format!("{:?}", one.lanes), format!("{:?}", many.lanes));
        assert_eq!(one.messages, many.messages);
        assert_eq!(one.metadata, many.metadata);
        assert_eq!(one.warnings, many.warnings);
        assert!(one.names.iter().eq(many.names.iter()));
        assert!(one.counter_names.iter().eq(many.counter_names.iter()));
    }
}

#[test]
fn progress_rises_to_the_end_and_cancel_stops() {
    let registry = registry(LibraryOnDemand::of_this_machine());
    let run = registry.open(&bp5_run()).unwrap();
    let threads = Threads::of_this_machine();
    let seen = Mutex::new(Vec::new());
    let watch = |fraction| {
        seen.lock().unwrap().push(fraction);
        ControlFlow::Continue(())
    };
    run.load(&threads, Progress::new(&watch)).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.is_sorted() && seen.len() > 16, "{seen:?}");
    assert_eq!((seen[0], seen[seen.len() - 1]), (0.0, 1.0));

    let half = |fraction| {
        if fraction < 0.5 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let stopped = run.load(&threads, Progress::new(&half));
    assert!(matches!(stopped, Err(SourceError::Cancelled(_))));
}

fn describe(trace: &Trace) -> String {
    let mut text = String::new();
    let calls = trace.num_executions();
    let line = format!(
        "{} steps, {calls} calls, {} messages matched",
        trace.num_steps,
        trace.messages.len()
    );
    writeln!(
        text,
        "{line}, {} names, {} counters",
        trace.names.len(),
        trace.counter_names.len()
    )
    .unwrap();
    for lane in &trace.lanes {
        describe_lane(trace, lane, &mut text).unwrap();
    }
    for write in &trace.writes {
        let lane = trace.lane(write.lane);
        let after = write.start.since(lane.executions.entry[0]).as_us();
        let length = write.duration().as_us();
        writeln!(
            text,
            "rank {} wrote its trace at +{after} us for {length} us",
            lane.rank
        )
        .unwrap();
    }
    for warning in trace.warnings.iter() {
        let rank = warning
            .rank
            .map_or(String::new(), |rank| format!(" on rank {rank}"));
        writeln!(
            text,
            "warning{rank}: {} x {:?}",
            warning.count, warning.kind
        )
        .unwrap();
    }
    if let Some(lane) = trace.lanes.first() {
        writeln!(text, "rank {} begins:", lane.rank).unwrap();
        describe_executions(trace, lane, &mut text).unwrap();
        for entry in trace
            .metadata
            .iter()
            .filter(|entry| entry.key.starts_with("TAU_"))
            .take(3)
        {
            writeln!(text, "{} = {}", entry.key, entry.value).unwrap();
        }
    }
    text
}

fn describe_lane(trace: &Trace, lane: &Lane, text: &mut String) -> std::fmt::Result {
    let execs = &lane.executions;
    let num_steps = execs.step.last().map_or(0, |step| step.0 + 1);
    let deepest = execs.depth.iter().max().map_or(0, |depth| depth + 1);
    let unclosed = execs.closed.iter().filter(|closed| !**closed).count();
    let num_sends = lane
        .comms
        .kind
        .iter()
        .filter(|kind| **kind == CommKind::Send)
        .count();
    let attached = lane
        .counters
        .exec
        .iter()
        .filter(|exec| exec.is_some())
        .count();
    write!(
        text,
        "rank {} thread {}: {num_steps} steps, {} calls, ",
        lane.rank,
        lane.thread,
        execs.len()
    )?;
    write!(
        text,
        "deepest {deepest}, {unclosed} unclosed, {num_sends} sent, "
    )?;
    write!(
        text,
        "{} received, {} counter rows",
        lane.comms.len() - num_sends,
        lane.counters.len()
    )?;
    let metadata = trace
        .metadata
        .iter()
        .filter(|entry| entry.rank == lane.rank)
        .count();
    writeln!(text, " ({attached} inside a call), {metadata} metadata")
}

fn describe_executions(trace: &Trace, lane: &Lane, text: &mut String) -> std::fmt::Result {
    let execs = &lane.executions;
    for row in 0..execs.len().min(24) {
        let indent = "  ".repeat(usize::from(execs.depth[row]));
        let name = trace.names.name(execs.func[row]);
        let start = execs.entry[row].since(execs.entry[0]).as_us();
        let (inclusive, exclusive) = (execs.inclusive[row].as_us(), execs.exclusive[row].as_us());
        writeln!(
            text,
            "{}:{} {indent}{name} +{start} us, {inclusive} us, {exclusive} us",
            execs.step[row], execs.row[row]
        )?;
    }
    Ok(())
}

#[test]
fn a_trace_has_the_identity_of_its_run() {
    let small = read(&bp4_run()).unwrap();
    assert_eq!(
        small.identity.to_string(),
        "lmp_tau on vm, started 2026-11-21 03:28:57 UTC"
    );
    let one_rank = read(&bp4_run().join("bp/tau-metrics-lmp_tau-2.bp")).unwrap();
    assert!(small.identity.is_same_run(&one_rank.identity));
    let killed = read(&killed_run()).unwrap();
    assert!(!killed.identity.is_same_run(&small.identity));
}
