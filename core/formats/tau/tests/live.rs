//! Streams that are read while they are written, through the real engines: the output equals the input, and writers
//! that drop steps or die have a defined end.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use callgrove_adios2_sys::{Library, LibraryOnDemand};
use callgrove_model::{Cancelled, ProgramId, Progress, Warnings};
use callgrove_source::{EventStream, Next, Part as _, Projection, Ranks, SourceError};
use callgrove_tau::{
    LiveEngine, LiveOptions, QueueFull, ReplayOptions, SstWriter, TauError, TauFormat, TauStep,
    TauWriter, WriterEngine, open_live, replay,
};
use support::{bp4_run, bp5_run, find_streams, killed_run, stream};

/// Longest wait of a test before it fails, longer than any operation here takes.
const TIMEOUT: Duration = Duration::from_secs(30);
const SST: WriterEngine = WriterEngine::Sst(SstWriter {
    num_readers: 1,
    queue_limit: 0,
    queue_full: QueueFull::Block,
});

fn adios2() -> LibraryOnDemand {
    LibraryOnDemand::of_this_machine()
}

fn library() -> Library {
    adios2().get().unwrap()
}

fn live(engine: LiveEngine) -> LiveOptions {
    LiveOptions {
        connect_timeout: TIMEOUT,
        ..LiveOptions::new(engine)
    }
}

fn spawn<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let builder = thread::Builder::new().name("reader".to_owned());
    builder.spawn(read).unwrap()
}

/// All output of a source: steps, then names.
#[derive(PartialEq, Debug)]
struct Read {
    steps: Vec<String>,
    names: Vec<String>,
    warnings: Vec<String>,
}

fn read_all(mut source: Box<dyn EventStream>) -> Read {
    let start = Instant::now();
    let mut steps = Vec::new();
    loop {
        match source.next_step(Duration::from_millis(100)).unwrap() {
            Next::Step(batch) => steps.push(format!("{batch:?}")),
            Next::NotReady | Next::Reading => {
                assert!(start.elapsed() < TIMEOUT, "{} steps", steps.len());
            }
            Next::End => break,
        }
    }
    let names = source.names().iter().map(|(_, name)| name.to_owned());
    let counters = source
        .counter_names()
        .iter()
        .map(|(_, name)| name.to_owned());
    let names = names.chain(counters).collect();
    let warnings = texts(&source.take_warnings());
    Read {
        steps,
        names,
        warnings,
    }
}

fn texts(warnings: &Warnings) -> Vec<String> {
    warnings
        .iter()
        .map(|warning| {
            format!(
                "{:?} x{} {}",
                warning.kind,
                warning.count,
                warning.first.since(None)
            )
        })
        .collect()
}

fn open_file(path: &Path, program: ProgramId) -> Box<dyn EventStream> {
    let projection = Projection {
        program,
        ranks: Ranks::Own,
        ..Projection::default()
    };
    let part = TauFormat::new(adios2(), None).part(path);
    part.open(&projection).unwrap()
}

fn read_file(path: &Path) -> Read {
    read_all(open_file(path, ProgramId(0)))
}

fn options(out: &Path, engine: WriterEngine) -> ReplayOptions {
    ReplayOptions {
        speed: 0.0,
        ..ReplayOptions::new(out, engine)
    }
}

/// A step of rank 0 with one call of function 0.
fn one_call(number: u64) -> TauStep {
    let time_us = 1_795_231_715_000_000 + number * 1_000;
    let mut step = TauStep {
        num_ranks: 1,
        num_threads: 1,
        num_timers: 1,
        funcs: vec![[0, 0, 0, 0, 0, time_us], [0, 0, 0, 1, 0, time_us + 5]],
        ..TauStep::default()
    };
    if number == 0 {
        step.attributes
            .push(("timer 0".to_owned(), "work".to_owned()));
    }
    step
}

/// Returns the numbers of the steps that arrive, and the warnings.
fn step_numbers(mut source: Box<dyn EventStream>) -> (Vec<u32>, Vec<String>) {
    let start = Instant::now();
    let mut numbers = Vec::new();
    loop {
        match source.next_step(Duration::from_millis(20)).unwrap() {
            Next::Step(batch) => numbers.push(batch.step.0),
            Next::NotReady | Next::Reading => assert!(start.elapsed() < TIMEOUT, "{numbers:?}"),
            Next::End => return (numbers, texts(&source.take_warnings())),
        }
    }
}

#[test]
fn a_trace_replayed_over_sst_equals_the_files() {
    let runs = [bp5_run(), bp4_run()];
    if let Some((folder, engine)) = writer_arguments() {
        let run = &runs[usize::from(engine == "second")];
        let streams = find_streams(run);
        replay(&streams, &options(&folder, SST), Progress::none()).unwrap();
        std::fs::write(folder.join("replayed"), "").unwrap();
        return;
    }
    for (run, which) in runs.iter().zip(["first", "second"]) {
        let folder = tempfile::tempdir().unwrap();
        let test = "a_trace_replayed_over_sst_equals_the_files";
        let mut writer = start_writer(test, folder.path(), which);
        let streams = find_streams(run);
        // In reverse order: no stream waits for another.
        let readers: Vec<_> = streams
            .iter()
            .rev()
            .map(|path| {
                // Every other name is that of the contact file.
                let mut name = folder.path().join(path.file_name().unwrap());
                if path.to_str().unwrap().ends_with("1.bp") {
                    name.set_extension("bp.sst");
                }
                spawn(move || {
                    let options = live(LiveEngine::Sst);
                    read_all(open_live(&name, &options, &library()).unwrap())
                })
            })
            .collect();
        for (path, reader) in streams.iter().rev().zip(readers) {
            assert_eq!(reader.join().unwrap(), read_file(path));
        }
        // The test does not cover ADIOS2's own threads at the end of a process that has replayed everything.
        let status = writer.wait().unwrap();
        assert!(folder.path().join("replayed").exists(), "{status}");
    }
}

#[test]
fn a_trace_replayed_into_files_is_unchanged() {
    for engine in [WriterEngine::Bp4, WriterEngine::Bp5] {
        for run in [bp5_run(), bp4_run()] {
            let folder = tempfile::tempdir().unwrap();
            let streams = find_streams(&run);
            replay(&streams, &options(folder.path(), engine), Progress::none()).unwrap();
            let copies = find_streams(folder.path());
            assert_eq!(copies.len(), 4);
            for (path, copy) in streams.iter().zip(copies) {
                let (mut original, copy) = (read_file(path), read_file(&copy));
                if engine == WriterEngine::Bp4 {
                    // This stream shows metadata at once, the other one as it arrives.
                    assert_eq!(original.names.len(), copy.names.len());
                    original.names.clone_from(&copy.names);
                }
                assert_eq!(original, copy, "{engine:?} of {}", run.display());
            }
        }
    }
}

#[test]
fn a_killed_run_is_replayed_up_to_its_last_complete_step() {
    let folder = tempfile::tempdir().unwrap();
    let streams = find_streams(&killed_run());
    let options = options(folder.path(), WriterEngine::Bp5);
    let summary = replay(&streams, &options, Progress::none()).unwrap();
    let found = texts(&summary.warnings);
    assert!(found[0].starts_with("StreamTruncated x1"), "{found:?}");
    let copy = find_streams(folder.path());
    assert_eq!(summary.num_steps, read_file(&copy[0]).steps.len() as u64);
}

#[test]
fn a_replay_takes_as_long_as_the_run_divided_by_the_speed() {
    let streams = [stream(&bp5_run(), 0)];
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path(), WriterEngine::Bp5);
    options.speed = 0.25;
    let start = Instant::now();
    replay(&streams, &options, Progress::none()).unwrap();
    let took = start.elapsed().as_secs_f64();
    let mut newest = Vec::new();
    let mut source = open_file(&streams[0], ProgramId(0));
    while let Next::Step(batch) = source.next_step(Duration::ZERO).unwrap() {
        newest.extend(batch.funcs.iter().map(|event| event.time).max());
    }
    let recorded = newest[newest.len() - 1].since(newest[0]).as_secs_f64();
    assert!(recorded > 0.1, "{recorded}");
    assert!(took >= recorded * 4.0 - 0.01, "{took} s for {recorded} s");
}

#[test]
fn a_replay_does_not_write_over_what_it_reads() {
    let run = support::copy(&bp5_run(), [0]);
    let streams = find_streams(run.path());
    let out = run.path().join("bp");
    let error = replay(
        &streams,
        &options(&out, WriterEngine::Bp5),
        Progress::none(),
    )
    .unwrap_err();
    assert!(matches!(error, TauError::SameFolder { .. }), "{error}");
    assert_eq!(read_file(&streams[0]), read_file(&stream(&bp5_run(), 0)));
}

#[test]
fn a_replay_that_waits_for_readers_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let streams = find_streams(&bp5_run());
    let start = Instant::now();
    let sink = |_| {
        if start.elapsed() > Duration::from_millis(300) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let error = replay(&streams, &options(folder.path(), SST), Progress::new(&sink)).unwrap_err();
    assert!(
        matches!(error, TauError::Common(SourceError::Cancelled(Cancelled))),
        "{error}"
    );
    assert!(start.elapsed() < TIMEOUT);
}

#[test]
fn files_are_followed_while_they_are_written() {
    for engine in [WriterEngine::Bp4, WriterEngine::Bp5] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run-0.bp");
        let reader = {
            let path = path.clone();
            spawn(move || {
                // The writer has not made any file yet.
                let mut source = open_live(&path, &live(LiveEngine::Bp), &library()).unwrap();
                let (start, mut waits) = (Instant::now(), 0_u128);
                let mut steps = Vec::new();
                loop {
                    match source.next_step(Duration::from_millis(5)).unwrap() {
                        Next::Step(batch) => steps.push((batch.step.0, batch.funcs.len())),
                        Next::NotReady | Next::Reading => waits += 1,
                        Next::End => break,
                    }
                    assert!(start.elapsed() < TIMEOUT, "{engine:?} {steps:?} {waits}");
                }
                assert!(source.take_warnings().is_empty());
                assert!(waits * 5 <= start.elapsed().as_millis(), "it did not wait");
                (steps, waits)
            })
        };
        thread::sleep(Duration::from_millis(50));
        let mut writer = TauWriter::open(&path, engine, &library()).unwrap();
        for number in 0..6 {
            let mut step = one_call(number);
            // Later steps are larger than the file was when it was opened.
            step.funcs = step.funcs.repeat(1 + 1_000 * number as usize);
            writer.write(&step).unwrap();
            thread::sleep(Duration::from_millis(60));
        }
        writer.close().unwrap();
        let (steps, waits) = reader.join().unwrap();
        let expected: Vec<_> = (0..6).map(|n| (n, 2 + 2_000 * n as usize)).collect();
        assert_eq!(steps, expected, "{engine:?}");
        assert!(waits > 0, "{engine:?}: it never had to wait");
    }
}

#[test]
fn a_stream_without_a_writer_is_an_error_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    for engine in [LiveEngine::Sst, LiveEngine::Bp] {
        let options = LiveOptions {
            connect_timeout: Duration::from_secs(1),
            ..LiveOptions::new(engine)
        };
        let path = folder.path().join("absent-0.bp");
        let Err(error) = open_live(&path, &options, &library()) else {
            panic!("{engine:?} opened nothing")
        };
        assert!(matches!(error, SourceError::NoWriter { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("no writer answered within 1 s"), "{text}");
        assert!(text.contains("is the program running") && text.contains("absent-0.bp"));
        assert!(!text.contains("release of ADIOS2"), "{text}");
    }
}

#[test]
fn the_file_of_a_dead_job_does_not_end_the_wait() {
    // The contact file of a process that has ended, written by ADIOS2 2.12.1.
    const DEAD: &str = "#ADIOS2-SST v0\n0x7f05bc04b150:AAMAAJTJ8o3vqAAAATkCmAICAMDe55DEmGxYPQ==";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late-0.bp");
    std::fs::write(path.with_extension("bp.sst"), DEAD).unwrap();
    let options = LiveOptions {
        connect_timeout: Duration::from_secs(2),
        ..LiveOptions::new(LiveEngine::Sst)
    };
    let start = Instant::now();
    let Err(error) = open_live(&path, &options, &library()) else {
        panic!("nothing is there to be opened")
    };
    assert!(matches!(error, SourceError::NoWriter { .. }), "{error}");
    let text = error.to_string();
    let state = "late-0.bp.sst is there, but its writer does not answer";
    assert!(
        text.contains(state) && text.contains("a run that has ended"),
        "{text}"
    );
    assert!(start.elapsed() >= options.connect_timeout);
    // A job that starts meanwhile is found.
    let reader = spawn({
        let path = path.clone();
        move || read_all(open_live(&path, &live(LiveEngine::Sst), &library()).unwrap())
    });
    thread::sleep(Duration::from_millis(300));
    let mut writer = TauWriter::open(&path, SST, &library()).unwrap();
    writer.write(&TauStep::default()).unwrap();
    writer.close().unwrap();
    assert_eq!(reader.join().unwrap().steps.len(), 1);
}

#[test]
fn the_program_of_a_workflow_replaces_the_one_that_tau_states() {
    let path = stream(&bp5_run(), 0);
    let mut source = open_file(&path, ProgramId(3));
    let Next::Step(batch) = source.next_step(Duration::ZERO).unwrap() else {
        panic!("no step")
    };
    assert_eq!(batch.program, ProgramId(3));
    assert!(!batch.funcs.is_empty());
    assert!(source.take_warnings().is_empty());
}

#[test]
fn dropped_steps_are_counted_and_numbers_are_kept() {
    if let Some((path, _)) = writer_arguments() {
        let sst = WriterEngine::Sst(SstWriter {
            num_readers: 1,
            queue_limit: 1,
            queue_full: QueueFull::Discard,
        });
        let mut writer = TauWriter::open(&path, sst, &library()).unwrap();
        // No reader is connected meanwhile.
        for number in 0..5 {
            writer.write(&one_call(number)).unwrap();
        }
        std::fs::write(path.with_extension("written"), "").unwrap();
        wait_for(&path.with_extension("read"));
        thread::sleep(Duration::from_secs(1));
        writer.write(&one_call(5)).unwrap();
        writer.close().unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run-0.bp");
    let test = "dropped_steps_are_counted_and_numbers_are_kept";
    let mut writer = start_writer(test, &path, "");
    let mut source = open_live(&path, &live(LiveEngine::Sst), &library()).unwrap();
    wait_for(&path.with_extension("written"));
    let Next::Step(first) = source.next_step(TIMEOUT).unwrap() else {
        panic!("the first step did not come")
    };
    assert_eq!(first.step.0, 0);
    std::fs::write(path.with_extension("read"), "").unwrap();
    let (numbers, warnings) = step_numbers(source);
    let status = writer.wait().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(numbers.last(), Some(&5));
    let missing = 5 - numbers.len();
    assert!(missing > 0, "{numbers:?}");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with(&format!("StepMissing x{missing} ")),
        "{numbers:?} {warnings:?}"
    );
}

fn wait_for(file: &Path) {
    let start = Instant::now();
    while !file.exists() {
        assert!(start.elapsed() < TIMEOUT, "{}", file.display());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a test again in a separate process, which writes to the path. As with TAU, the writer is another process than
/// the reader.
fn start_writer(test: &str, path: &Path, engine: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("CALLGROVE_TEST_WRITER", path)
        .env("CALLGROVE_TEST_ENGINE", engine)
        .spawn()
        .unwrap()
}

/// Returns the path and the engine to write with, in the process of a writer.
fn writer_arguments() -> Option<(PathBuf, String)> {
    let path = std::env::var_os("CALLGROVE_TEST_WRITER")?;
    Some((path.into(), std::env::var("CALLGROVE_TEST_ENGINE").unwrap()))
}

/// Writes three steps in the process of a writer, then waits to be killed.
fn write_three_steps(path: &Path, engine: &str) {
    let engine = match engine {
        "BP4" => WriterEngine::Bp4,
        "BP5" => WriterEngine::Bp5,
        _ => SST,
    };
    let mut writer = TauWriter::open(path, engine, &library()).unwrap();
    for number in 0..3 {
        writer.write(&one_call(number)).unwrap();
    }
    thread::sleep(TIMEOUT);
}

#[test]
fn writers_that_adios2_confuses_are_read_separately() {
    if let Some((path, _)) = writer_arguments() {
        // ADIOS2 identifies a process by its id plus the second of its start.
        let sum = path.with_extension("sum");
        wait_for(&sum);
        let sum: u64 = std::fs::read_to_string(sum).unwrap().parse().unwrap();
        let start = Duration::from_secs(sum - u64::from(std::process::id()));
        thread::sleep(start.saturating_sub(since_epoch()));
        let mut writer = TauWriter::open(&path, SST, &library()).unwrap();
        for number in 0..3 {
            writer.write(&one_call(number)).unwrap();
        }
        return writer.close().unwrap();
    }
    let folders = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let paths = folders.each_ref().map(|it| it.path().join("run-0.bp"));
    let test = "writers_that_adios2_confuses_are_read_separately";
    let mut writers = paths.each_ref().map(|path| start_writer(test, path, ""));
    let newest = writers.iter().map(Child::id).max().unwrap();
    let sum = since_epoch().as_secs() + 2 + u64::from(newest);
    for path in &paths {
        let written = path.with_extension("written");
        std::fs::write(&written, sum.to_string()).unwrap();
        std::fs::rename(&written, path.with_extension("sum")).unwrap();
    }
    let numbers = paths.each_ref().map(|path| {
        let contact = path.with_extension("bp.sst");
        wait_for(&contact);
        let contact = std::fs::read_to_string(contact).unwrap();
        contact.trim_end().chars().rev().take(8).collect::<String>()
    });
    assert_eq!(numbers[0], numbers[1], "ADIOS2 distinguishes them");
    let readers = paths.map(|path| {
        spawn(move || step_numbers(open_live(&path, &live(LiveEngine::Sst), &library()).unwrap()))
    });
    for reader in readers {
        assert_eq!(reader.join().unwrap(), (vec![0, 1, 2], Vec::new()));
    }
    for writer in &mut writers {
        let status = writer.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

#[test]
fn a_writer_that_is_killed_ends_its_sst_stream_with_a_warning() {
    if let Some((path, engine)) = writer_arguments() {
        return write_three_steps(&path, &engine);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run-0.bp");
    let test = "a_writer_that_is_killed_ends_its_sst_stream_with_a_warning";
    let mut writer = start_writer(test, &path, "SST");
    let mut source = open_live(&path, &live(LiveEngine::Sst), &library()).unwrap();
    for number in 0..3 {
        let Next::Step(batch) = source.next_step(TIMEOUT).unwrap() else {
            panic!("step {number} did not come")
        };
        assert_eq!(batch.step.0, number);
    }
    let next = source.next_step(Duration::from_millis(100)).unwrap();
    assert!(matches!(next, Next::NotReady), "{next:?}");
    writer.kill().unwrap();
    writer.wait().unwrap();
    let (numbers, warnings) = step_numbers(source);
    assert!(numbers.is_empty());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("StreamTruncated x1 the writer has ended"),
        "{warnings:?}"
    );
}

#[test]
fn a_writer_that_is_killed_ends_its_folder_after_the_timeout() {
    if let Some((path, engine)) = writer_arguments() {
        return write_three_steps(&path, &engine);
    }
    for engine in ["BP4", "BP5"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run-0.bp");
        let test = "a_writer_that_is_killed_ends_its_folder_after_the_timeout";
        let mut writer = start_writer(test, &path, engine);
        let options = LiveOptions {
            silence_timeout: Some(Duration::from_secs(2)),
            ..live(LiveEngine::Bp)
        };
        let mut source = open_live(&path, &options, &library()).unwrap();
        for number in 0..3 {
            let Next::Step(batch) = source.next_step(TIMEOUT).unwrap() else {
                panic!("step {number} did not come")
            };
            assert_eq!(batch.step.0, number);
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        let next = source.next_step(Duration::ZERO).unwrap();
        assert!(matches!(next, Next::NotReady), "{next:?}");
        let (numbers, warnings) = step_numbers(source);
        assert!(numbers.is_empty());
        assert!(
            warnings[0].starts_with("StreamTruncated x1 no step for 2s"),
            "{warnings:?}"
        );
    }
}
