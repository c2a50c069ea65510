//! Streams that are read while they are written, through the real engines: replays, of which the output equals the
//! input, and readers that wait for their writers.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use callgrove_model::{Cancelled, ProgramId, Progress};
use callgrove_source::{EventStream, Next, Part as _, Projection, Ranks, SourceError};
use callgrove_tau::{
    LiveEngine, LiveOptions, PublisherProgram, ReplayOptions, ReplaySummary, SstWriter, TauError,
    TauFormat, TauStep, TauWriter, WriterEngine, open_live, publish, replay,
};
use support::streams::{
    SST, TIMEOUT, adios2, library, live, one_call, spawn, start_writer, step_numbers, texts,
    wait_for_end, writer_arguments,
};
use support::{bp4_run, bp5_run, find_streams, killed_run, stream};

/// The contact file of a process that has ended, written by ADIOS2 2.12.1.
const DEAD: &str = "#ADIOS2-SST v0\n0x7f05bc04b150:AAMAAJTJ8o3vqAAAATkCmAICAMDe55DEmGxYPQ==";
/// The test that publishes a stream if it is started with the arguments of a replay.
const PUBLISHER: &str = "a_trace_replayed_into_files_is_unchanged";

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
    let publisher = PublisherProgram {
        program: std::env::current_exe().unwrap(),
        arguments: ["--nocapture", "--exact", PUBLISHER]
            .map(OsString::from)
            .to_vec(),
    };
    ReplayOptions {
        speed: 0.0,
        ..ReplayOptions::new(out, engine, publisher)
    }
}

/// Returns the arguments of a replay, in a process that it has started.
fn publisher_arguments() -> Option<Vec<OsString>> {
    let arguments = std::env::args_os().skip_while(|it| it != PUBLISHER).skip(1);
    let arguments: Vec<_> = arguments.collect();
    (arguments.len() == 3).then_some(arguments)
}

#[test]
fn a_trace_replayed_over_sst_equals_the_files() {
    for run in [bp5_run(), bp4_run()] {
        let folder = tempfile::tempdir().unwrap();
        let streams = find_streams(&run);
        let replayed = spawn_replay(&streams, folder.path());
        let readers: Vec<_> = streams
            .iter()
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
        for (path, reader) in streams.iter().zip(readers) {
            assert_eq!(reader.join().unwrap(), read_file(path));
        }
        replayed.join().unwrap().unwrap();
    }
}

/// Starts a replay over SST to a folder.
fn spawn_replay(streams: &[PathBuf], folder: &Path) -> JoinHandle<Result<ReplaySummary, TauError>> {
    let (streams, options) = (streams.to_vec(), options(folder, SST));
    spawn(move || replay(&streams, &options, Progress::none()))
}

#[test]
fn the_readers_of_a_replay_may_come_in_any_order() {
    let streams = find_streams(&bp5_run());
    for order in [[3, 2, 1, 0], [1, 3, 0, 2]] {
        let folder = tempfile::tempdir().unwrap();
        let replayed = spawn_replay(&streams, folder.path());
        // One after another: each is admitted before the next one comes.
        let open = |rank: usize| {
            let name = folder.path().join(streams[rank].file_name().unwrap());
            let source = open_live(&name, &live(LiveEngine::Sst), &library()).unwrap();
            (rank, source)
        };
        let sources = order.map(open);
        let readers = sources.map(|(rank, source)| (rank, spawn(move || read_all(source))));
        for (rank, reader) in readers {
            assert_eq!(
                reader.join().unwrap(),
                read_file(&streams[rank]),
                "{order:?}"
            );
        }
        replayed.join().unwrap().unwrap();
    }
}

#[test]
fn a_trace_replayed_into_files_is_unchanged() {
    if let Some(arguments) = publisher_arguments() {
        return publish(&arguments, &adios2()).unwrap();
    }
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
    let start = Instant::now();
    cancel_replay(folder.path());
    assert!(start.elapsed() < TIMEOUT);
}

/// Starts a replay over SST and cancels it after 300 ms.
fn cancel_replay(folder: &Path) {
    let start = Instant::now();
    let sink = |_| {
        if start.elapsed() > Duration::from_millis(300) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let streams = find_streams(&bp5_run());
    let error = replay(&streams, &options(folder, SST), Progress::new(&sink)).unwrap_err();
    assert!(
        matches!(error, TauError::Common(SourceError::Cancelled(Cancelled))),
        "{error}"
    );
}

#[test]
fn a_cancelled_replay_leaves_no_thread_and_no_process_and_no_lock() {
    if let Some((path, _)) = writer_arguments() {
        let before = threads_and_children();
        cancel_replay(path.parent().unwrap());
        // The system removes a thread shortly after its last instruction.
        let start = Instant::now();
        while threads_and_children() != before {
            let left = threads_and_children();
            assert!(start.elapsed() < Duration::from_secs(5), "{left:?}");
            thread::sleep(Duration::from_millis(5));
        }
        // As if another test of this process followed.
        let unread = SstWriter {
            num_readers: 0,
            ..SstWriter::default()
        };
        let mut writer = TauWriter::open(&path, WriterEngine::Sst(unread), &library()).unwrap();
        writer.write(&one_call(0)).unwrap();
        return writer.close().unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "a_cancelled_replay_leaves_no_thread_and_no_process_and_no_lock";
    let mut process = start_writer(test, &folder.path().join("next-0.bp"), "");
    let status = wait_for_end(&mut process);
    assert!(status.success(), "{status}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_streams_of_a_killed_replay_look_like_those_of_a_killed_job() {
    let streams = [stream(&bp5_run(), 0)];
    if let Some((path, _)) = writer_arguments() {
        let mut options = options(path.parent().unwrap(), SST);
        options.speed = 1e-3;
        replay(&streams, &options, Progress::none()).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(streams[0].file_name().unwrap());
    let test = "the_streams_of_a_killed_replay_look_like_those_of_a_killed_job";
    let mut process = start_writer(test, &path, "");
    let mut source = open_live(&path, &live(LiveEngine::Sst), &library()).unwrap();
    let first = source.next_step(TIMEOUT).unwrap();
    assert!(matches!(first, Next::Step(_)), "{first:?}");
    process.kill().unwrap();
    process.wait().unwrap();
    let (numbers, warnings) = step_numbers(source);
    assert!(numbers.is_empty(), "{numbers:?}");
    let expected = "StreamTruncated x1 the writer has ended";
    assert!(
        warnings.len() == 1 && warnings[0].starts_with(expected),
        "{warnings:?}"
    );
}

/// Returns the names of this process's threads, and the ids of its children.
fn threads_and_children() -> [Vec<String>; 2] {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let tasks: Vec<PathBuf> = tasks.map(|it| it.unwrap().path()).collect();
    let mut texts = ["comm", "children"].map(|file| {
        // A thread may end meanwhile.
        let text = |task: &PathBuf| std::fs::read_to_string(task.join(file)).ok();
        let texts = tasks.iter().filter_map(text);
        texts.filter(|it| !it.is_empty()).collect::<Vec<_>>()
    });
    for names in &mut texts {
        names.sort();
    }
    texts
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
    if let Some((path, _)) = writer_arguments() {
        let mut writer = TauWriter::open(&path, SST, &library()).unwrap();
        writer.write(&TauStep::default()).unwrap();
        return writer.close().unwrap();
    }
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
    let test = "the_file_of_a_dead_job_does_not_end_the_wait";
    let status = wait_for_end(&mut start_writer(test, &path, "SST"));
    assert!(status.success(), "{status}");
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
