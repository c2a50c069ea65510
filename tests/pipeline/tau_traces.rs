//! Traces of TAU that are unusual: every command reads them alike.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use callgrove_adios2_sys::{Library, default_candidates};
use callgrove_provdb::Collection;
use callgrove_tau::{TauStep, TauWriter, WriterEngine};
use serde_json::Value;

use crate::support::*;

const ENTRY: u64 = 0;
const EXIT: u64 = 1;
/// The function that is in no other.
const MAIN: u64 = 0;
/// The function that [`MAIN`] calls.
const WORK: u64 = 1;
/// Limit on the duration of a command that fails at once.
const AT_ONCE: Duration = Duration::from_secs(30);

/// A function event: rank, thread, event type, function, time in µs since the start of the run.
type Event = [u64; 5];

/// Records a stream of `num_ranks` ranks with these events in each step.
fn write_stream(path: &Path, num_ranks: u64, steps: &[&[Event]]) {
    let library = Library::load(&default_candidates()).unwrap();
    let mut writer = TauWriter::open(path, WriterEngine::Bp4, &library).unwrap();
    for (number, events) in steps.iter().enumerate() {
        let mut step = TauStep {
            num_ranks: num_ranks as i32,
            num_threads: 2,
            num_timers: 2,
            ..TauStep::default()
        };
        if number == 0 {
            step.attributes = named(0, &["main", "work"]);
        }
        let row = |&[rank, thread, kind, func, time]: &Event| {
            [0, rank, thread, kind, func, RUN_START_US + time]
        };
        step.funcs = events.iter().map(row).collect();
        writer.write(&step).unwrap();
    }
    writer.close().unwrap();
}

/// Runs a command that must end by itself, and returns its output.
fn output_of(args: &[&str]) -> Output {
    let mut child = command(args)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let start = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > AT_ONCE {
            child.kill().unwrap();
            panic!("{args:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command on a run that it reads completely, and returns its first JSON document and its warnings.
fn read_by(args: &[&str]) -> (Value, String) {
    let output = output_of(args);
    let stderr = stderr_of(&output);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {stderr}");
    let text = String::from_utf8(output.stdout).unwrap();
    let document = serde_json::from_str(&text).unwrap_or_else(|_| lines(&text).remove(0));
    (document, stderr)
}

#[test]
fn a_call_that_ends_on_another_thread_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let run = path_in(&folder, "run");
    std::fs::create_dir(&run).unwrap();
    let mut first = vec![[0, 0, ENTRY, MAIN, 0]];
    for call in 0..10 {
        first.push([0, 0, ENTRY, WORK, 10 * call + 1]);
        first.push([0, 1, EXIT, WORK, 10 * call + 5]);
    }
    first.push([0, 0, ENTRY, WORK, 200]);
    // The last call lasts over the end of the step.
    let second = [[0, 1, EXIT, WORK, 210], [0, 0, EXIT, MAIN, 300]];
    let path = Path::new(&run).join("tau-metrics-0.bp");
    write_stream(&path, 1, &[&first, &second]);
    let (contents, _) = read_by(&["info", &run, "--format", "json"]);
    assert_eq!(contents["calls"], 12);
    let provdb = path_in(&folder, "found");
    for args in [
        &["run", &run, "--provdb", &provdb, "--format", "json"][..],
        &["ad", &run, "--format", "json"],
    ] {
        let (summary, stderr) = read_by(args);
        assert_eq!(summary["executions"], 12, "{args:?}: {stderr}");
        assert!(!stderr.contains("without ENTRY"), "{args:?}: {stderr}");
        assert!(stderr.contains("other thread"), "{args:?}: {stderr}");
    }
    let profile = documents(&provdb, Collection::FuncStats);
    let total_us = |name: &str| {
        let of = profile.iter().find(|it| it["fname"] == name).unwrap();
        of["runtime_profile"]["exclusive_runtime"]["accumulate"].as_f64()
    };
    assert_eq!(total_us("work"), Some(50.0));
    assert_eq!(total_us("main"), Some(250.0));
}

#[test]
fn all_ranks_of_one_stream_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let run = path_in(&folder, "run");
    std::fs::create_dir(&run).unwrap();
    let calls = |rank: u64, num_calls: u64| {
        let call = move |at: u64| {
            [
                [rank, 0, ENTRY, MAIN, 10 * at],
                [rank, 0, EXIT, MAIN, 10 * at + 5],
            ]
        };
        (0..num_calls).flat_map(call).collect::<Vec<Event>>()
    };
    let first = [calls(0, 3), calls(1, 4)].concat();
    // The third rank has its first rows in the second step.
    let second = calls(2, 5);
    let path = Path::new(&run).join("tau-metrics.bp");
    write_stream(&path, 3, &[&first, &second]);
    let (contents, _) = read_by(&["info", &run, "--format", "json"]);
    assert_eq!(
        (&contents["ranks"], &contents["calls"]),
        (&3.into(), &12.into())
    );
    let provdb = path_in(&folder, "found");
    for args in [
        &["run", &run, "--provdb", &provdb, "--format", "json"][..],
        &["ad", &run, "--format", "json"],
    ] {
        let (summary, stderr) = read_by(args);
        assert_eq!(summary["executions"], 12, "{args:?}: {stderr}");
    }
    let profile = documents(&provdb, Collection::FuncStats);
    assert_eq!(num_calls(&profile), 12);
}

#[test]
fn of_several_programs_in_one_stream_one_is_judged_and_the_others_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tau-metrics.bp");
    let library = Library::load(&default_candidates()).unwrap();
    let mut writer = TauWriter::open(&path, WriterEngine::Bp4, &library).unwrap();
    let calls = |program: u64, num_calls: u64| {
        let row = move |kind, time| [program, 0, 0, kind, MAIN, RUN_START_US + time];
        (0..num_calls).flat_map(move |at| [row(ENTRY, 10 * at), row(EXIT, 10 * at + 5)])
    };
    let step = TauStep {
        num_ranks: 1,
        num_threads: 1,
        num_timers: 1,
        attributes: named(0, &["main"]),
        funcs: calls(0, 3).chain(calls(1, 4)).collect(),
        ..TauStep::default()
    };
    writer.write(&step).unwrap();
    writer.close().unwrap();
    let path = path.to_string_lossy();
    for (args, executions, other) in [
        (&["run", &*path, "--format", "json"][..], 3, "1"),
        (
            &["run", &path, "--program", "1", "--format", "json"],
            4,
            "0",
        ),
    ] {
        let output = output_of(args);
        let stderr = stderr_of(&output);
        assert_eq!(output.status.code(), Some(3), "{args:?}: {stderr}");
        let remedy = format!("rank 0 of program {other}; read that with --program {other}");
        assert!(stderr.contains(&remedy), "{args:?}: {stderr}");
        let summary = lines(&String::from_utf8(output.stdout).unwrap()).remove(0);
        assert_eq!(summary["executions"], executions, "{args:?}: {stderr}");
    }
}

/// Checks that `serve` fails with the message of `info`, and returns the message.
fn refused(source: &Path) -> String {
    let source = source.to_string_lossy();
    let info = output_of(&["info", &source]);
    let serve = output_of(&["serve", &source, "--port", "0"]);
    assert_eq!(info.status.code(), Some(1), "{}", stderr_of(&info));
    assert_eq!(serve.status.code(), Some(1), "{}", stderr_of(&serve));
    assert!(serve.stdout.is_empty(), "it prints no address");
    assert_eq!(stderr_of(&serve), stderr_of(&info));
    stderr_of(&info)
}

#[test]
fn a_file_of_adios_1_is_refused_with_how_to_convert_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tau-metrics-0.bp");
    let mut file = vec![0_u8; 400];
    for start in [100_u64, 200, 300] {
        file.extend(start.to_le_bytes());
    }
    file.extend([0, 0, 0, 3]);
    std::fs::write(&path, file).unwrap();
    let error = refused(&path);
    assert!(error.contains("BP3 file of ADIOS 1.x"), "{error}");
    let command = "adios2_reorganize OLD.bp NEW.bp BPFile '' BP4 ''";
    assert!(error.contains(command), "{error}");
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formats.md");
    let formats = std::fs::read_to_string(formats).unwrap();
    assert!(formats.contains(command), "docs/formats.md");
}

#[test]
fn two_streams_of_one_rank_are_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let events: &[Event] = &[[0, 0, ENTRY, MAIN, 0], [0, 0, EXIT, MAIN, 5]];
    let streams: Vec<PathBuf> = (0..2)
        .map(|number| folder.path().join(format!("tau-metrics-{number}.bp")))
        .collect();
    for path in &streams {
        write_stream(path, 2, &[events]);
    }
    let error = refused(folder.path());
    assert!(error.contains("rank 0 occurs twice"), "{error}");
}
