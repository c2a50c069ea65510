//! Live streams whose writers drop steps, delay them, die, or share a number: each has a defined end.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use callgrove_source::Next;
use callgrove_tau::{
    LiveEngine, LiveOptions, QueueFull, SstWriter, TauWriter, WriterEngine, open_live,
};
use support::streams::{
    SST, TIMEOUT, library, live, one_call, spawn, start_writer, step_numbers, wait_for,
    wait_for_end, writer_arguments,
};

#[test]
fn a_reader_that_waits_for_a_step_does_not_delay_another() {
    if let Some((path, which)) = writer_arguments() {
        let connected = path.with_file_name("connected");
        let num_readers = u32::from(which == "second");
        let sst = SstWriter {
            num_readers,
            ..SstWriter::default()
        };
        let mut writer = TauWriter::open(&path, WriterEngine::Sst(sst), &library()).unwrap();
        if which == "first" {
            // As in a job whose ranks all wait for the one that waits for its reader.
            wait_for(&connected);
        } else {
            std::fs::write(&connected, "").unwrap();
        }
        for number in 0..3 {
            writer.write(&one_call(number)).unwrap();
        }
        return writer.close().unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "a_reader_that_waits_for_a_step_does_not_delay_another";
    let which = ["first", "second"];
    let paths = which.map(|it| folder.path().join(format!("{it}-0.bp")));
    let mut writers = [0, 1].map(|index| start_writer(test, &paths[index], which[index]));
    let readers = paths.map(|path| {
        wait_for(&path.with_extension("bp.sst"));
        let read =
            move || step_numbers(open_live(&path, &live(LiveEngine::Sst), &library()).unwrap());
        let reader = spawn(read);
        // The first one is waiting when the second one comes.
        thread::sleep(Duration::from_millis(500));
        reader
    });
    let statuses = writers.each_mut().map(wait_for_end);
    for (reader, status) in readers.into_iter().zip(statuses) {
        assert!(status.success(), "{status}");
        assert_eq!(reader.join().unwrap().0.last(), Some(&2));
    }
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
