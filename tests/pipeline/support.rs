//! Shared by the tests of the pipeline.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use callgrove_adios2_sys::{Library, default_candidates};
use callgrove_provdb::Collection;
use callgrove_tau::{TauStep, TauWriter, WriterEngine};
use callgrove_tests::process::Process;
use callgrove_tests::program;
use serde_json::Value;

pub(crate) fn example() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.join("assets/lammps-4r-small")
        .to_string_lossy()
        .into_owned()
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = program::command().unwrap();
    command.args(args);
    command
}

pub(crate) fn start(args: &[&str]) -> Process {
    Process::start(&mut command(args)).unwrap()
}

/// Returns the standard output of a run that must succeed.
pub(crate) fn stdout(args: &[&str]) -> String {
    let output = command(args).output().unwrap();
    let error_output = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?} failed: {error_output}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn documents(provdb: &str, collection: Collection) -> Vec<Value> {
    lines(&stdout(&[
        "query",
        provdb,
        collection.name(),
        "--format",
        "json",
    ]))
}

/// Returns what a run found, without the row ids of the database.
pub(crate) fn found(provdb: &str) -> Vec<(Collection, Vec<Value>)> {
    let of = |collection| {
        let mut documents = documents(provdb, collection);
        for document in &mut documents {
            document.as_object_mut().unwrap().remove("__id");
        }
        documents.sort_by_key(ToString::to_string);
        (collection, documents)
    };
    Collection::ALL.map(of).into()
}

/// Asserts that two databases have the same documents.
pub(crate) fn assert_same(
    found: &[(Collection, Vec<Value>)],
    expected: &[(Collection, Vec<Value>)],
) {
    for ((collection, found), (_, expected)) in found.iter().zip(expected) {
        assert_eq!(found.len(), expected.len(), "{collection}");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found, expected, "{collection}");
        }
    }
}

pub(crate) fn check_schema(schema: &str, instances: &[Value]) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for instance in instances {
        let errors: Vec<String> = validator
            .iter_errors(instance)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:#?} in {instance:#}");
    }
}

/// Returns the number of calls in the profile of a run.
pub(crate) fn num_calls(func_stats: &[Value]) -> u64 {
    let count = |stats: &Value| stats["runtime_profile"]["exclusive_runtime"]["count"].as_u64();
    func_stats.iter().filter_map(count).sum()
}

/// Start time of generated runs.
pub(crate) const RUN_START_US: u64 = 1_795_231_715_000_000;

/// Records a run with one thread per rank in a new folder; `step` returns the events of each rank and step.
pub(crate) fn write_run(
    folder: &Path,
    num_ranks: u64,
    num_steps: u64,
    step: impl Fn(u64, u64) -> TauStep,
) {
    std::fs::create_dir(folder).unwrap();
    let library = Library::load(&default_candidates()).unwrap();
    for rank in 0..num_ranks {
        let path = folder.join(format!("tau-metrics-{rank}.bp"));
        let mut writer = TauWriter::open(&path, WriterEngine::Bp5, &library).unwrap();
        let mut num_timers = 0;
        for number in 0..num_steps {
            let mut step = step(rank, number);
            let names = step.attributes.iter();
            num_timers += names.filter(|(name, _)| name.starts_with("timer")).count();
            step.num_ranks = num_ranks as i32;
            step.num_threads = 1;
            step.num_timers = num_timers as i32;
            writer.write(&step).unwrap();
        }
        writer.close().unwrap();
    }
}

/// Adds a call of timer 0 that begins after `time_us`, with one of timer 1 of `wait_us` in it. Returns its end.
pub(crate) fn add_call_with_wait(step: &mut TauStep, rank: u64, time_us: u64, wait_us: u64) -> u64 {
    let mut time_us = time_us;
    for (event, timer, after_us) in [(0, 0, 10), (0, 1, 200), (1, 1, wait_us), (1, 0, 5)] {
        time_us += after_us;
        step.funcs.push([0, rank, 0, event, timer, time_us]);
    }
    time_us
}

/// Returns an address of this machine at which nothing listens yet.
pub(crate) fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Returns what the first step of a generated rank announces: its functions and its host.
pub(crate) fn named(rank: u64, functions: &[&str]) -> Vec<(String, String)> {
    let timer = |(index, name): (usize, &&str)| (format!("timer {index}"), (*name).to_owned());
    let host = (format!("MetaData:{rank}:0:Hostname"), "node".to_owned());
    let timers = functions.iter().enumerate().map(timer);
    timers.chain([host]).collect()
}

/// Starts a replay of the example to `out`; all its streams exist.
pub(crate) fn growing(out: &str, engine: &str, speed: &str) -> Process {
    let trace = example();
    let args = [
        "replay", &trace, "--out", out, "--engine", engine, "--speed", speed,
    ];
    let replay = start(&args);
    while streams(Path::new(out)).len() < 4 {
        thread::sleep(Duration::from_millis(20));
    }
    replay
}

/// Publishes a recorded run over SST to any reader; returns the names of its streams, in order of rank.
pub(crate) fn running_job(run: &str, out: &str, speed: &str) -> (Process, Vec<String>) {
    let replay = start(&["replay", run, "--out", out, "--speed", speed]);
    replay.line_with("waiting for a reader").unwrap();
    let streams = streams(Path::new(run));
    let names = streams.iter().filter_map(|stream| stream.file_name());
    let names = names.map(|name| format!("{out}/{}", name.to_string_lossy()));
    (replay, names.collect())
}

/// Waits until the database has records of the run.
pub(crate) fn wait_for_records(provdb: &str, collection: &str) {
    let count = || {
        let asked = command(&["query", provdb, collection, "--count"])
            .output()
            .unwrap();
        String::from_utf8(asked.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap_or(0_u64)
    };
    while count() == 0 {
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the streams of a run, in order of rank.
pub(crate) fn streams(run: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![run.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map_while(Result::ok)
        {
            let path = entry.path();
            if path.join("md.idx").is_file() {
                found.push(path);
            } else if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Asserts that each execution counts once, in the statistics and in the models, and that counted anomalies are stored.
pub(crate) fn check_counts(of_server: &str, of_instance: &str, executions: Option<u64>) {
    let stats = documents(of_server, Collection::FuncStats);
    assert_eq!(Some(num_calls(&stats)), executions, "statistics");
    let models = documents(of_server, Collection::AdModel);
    let counts = models
        .iter()
        .filter_map(|it| it["model"]["histogram"]["Histogram Bin Counts"].as_array());
    let num_learnt: u64 = counts.flatten().filter_map(Value::as_u64).sum();
    assert_eq!(Some(num_learnt), executions, "models");
    let num_counted: u64 = stats
        .iter()
        .filter_map(|it| it["anomaly_metrics"]["anomaly_count"]["accumulate"].as_f64())
        .map(|count| count as u64)
        .sum();
    let anomalies = documents(of_instance, Collection::Anomalies);
    assert_eq!(
        anomalies.len() as u64,
        num_counted,
        "counted anomalies are stored"
    );
    let normal = documents(of_instance, Collection::NormalExecs);
    let is_in_both = |it: &Value| {
        normal
            .iter()
            .any(|other| other["event_id"] == it["event_id"])
    };
    assert!(
        !anomalies.iter().any(is_in_both),
        "an anomaly is not normal"
    );
}

/// Returns a path in a folder of the test.
pub(crate) fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_string_lossy().into_owned()
}

/// Starts a parameter server that saves in `store`; returns it and its address.
pub(crate) fn pserver(store: &str) -> (Process, String) {
    let server = start(&["pserver", "--provdb", store, "--listen", "127.0.0.1:0"]);
    let url = server.url().unwrap();
    (server, url)
}

/// Returns the arguments of an AD instance that follows a growing run and reports to `servers`.
pub(crate) fn following<'a>(live: &'a str, servers: &[&'a str]) -> Vec<&'a str> {
    [&["ad", live, "--follow", "--format", "json"], servers].concat()
}
