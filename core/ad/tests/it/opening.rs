//! Streams that take long to open, or cannot be opened.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use crate::support::{MemoryStore, Script, follow_streams, options};
use callgrove_ad::{AdError, AdOptions, Instance, Pacing, Stream};
use callgrove_detect::Params;
use callgrove_model::{RankId, WarningKind};
use callgrove_pserver::{ModelExchange, ServerState, StateOptions};
use callgrove_source::SourceError;

fn live() -> AdOptions {
    AdOptions {
        pacing: Pacing::Live,
        ..options(Params::default())
    }
}

fn exchange() -> Box<dyn ModelExchange> {
    Box::new(Arc::new(ServerState::new(StateOptions::default())).session())
}

fn script(rank: u32) -> Script {
    let mut script = Script::new(rank);
    script.step(0).usual_calls("f", 0, 10);
    script
}

fn without_writer(rank: u32) -> Stream {
    let path = format!("job-{rank}.bp").into();
    Stream {
        open: Box::new(|| Err(SourceError::WriterEnded { path })),
        ..script(rank).stream()
    }
}

#[test]
fn streams_that_are_open_are_read_while_another_is_being_opened() {
    // As with SST writers: the writer of rank 1 accepts no reader before all of rank 0 is read.
    let read = Arc::new(Barrier::new(2));
    let first = Stream {
        reopen: None,
        ..script(0).recorded_with_barrier(&read)
    };
    let second = script(1).stream();
    let open = second.open;
    let second = Stream {
        open: Box::new(move || {
            read.wait();
            open()
        }),
        ..second
    };
    let streams = vec![first, second];
    let status = follow_streams(streams, live(), exchange(), &MemoryStore::default()).unwrap();
    assert_eq!(status.num_executions, 20);
    assert!(status.warnings.is_empty());
}

#[test]
fn a_stream_that_cannot_be_opened_leaves_out_its_rank() {
    let streams = vec![without_writer(0), script(1).stream()];
    let status = follow_streams(streams, live(), exchange(), &MemoryStore::default()).unwrap();
    assert_eq!(status.num_executions, 10);
    let warning = status.warnings.iter().next().unwrap();
    assert_eq!(warning.kind, WarningKind::RankUnreadable);
    assert_eq!(warning.rank, Some(RankId(0)));
    assert!(
        warning.first.since(None).contains("job-0.bp"),
        "{warning:?}"
    );
}

#[test]
fn if_no_stream_can_be_opened_the_error_is_returned() {
    let streams = vec![without_writer(0), without_writer(1)];
    let error = follow_streams(streams, live(), exchange(), &MemoryStore::default()).unwrap_err();
    let is_of_writer = matches!(error, AdError::Source(SourceError::WriterEnded { .. }));
    assert!(is_of_writer, "{error}");
}

#[test]
fn an_instance_asked_to_end_waits_until_its_stream_is_open() {
    // A writer does not survive if it accepts a reader that is gone.
    let is_open = Arc::new(AtomicBool::new(false));
    let (opened, stream) = (Arc::clone(&is_open), script(0).stream());
    let open = stream.open;
    let stream = Stream {
        open: Box::new(move || {
            std::thread::sleep(Duration::from_millis(200));
            opened.store(true, Ordering::Relaxed);
            open()
        }),
        ..stream
    };
    let instance = Instance::start(vec![stream], live(), exchange(), None, "test").unwrap();
    instance.run(|_| ControlFlow::Break(())).unwrap();
    assert!(is_open.load(Ordering::Relaxed));
}
