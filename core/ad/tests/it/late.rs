//! Ranks whose streams appear after others are read, and streams whose writers are gone.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use crate::instance::{server, session};
use crate::support::{MemoryStore, Script, follow_streams, options};
use callgrove_ad::{
    AdOptions, ExpectedStreams, Instance, LateStreams, Pacing, Status, Stream, WriterGone,
};
use callgrove_detect::Params;
use callgrove_model::{ProgramId, RankId, RunIdentity, WarningKind};
use callgrove_provdb::{Collection, Store};
use callgrove_pserver::Hello;

/// Streams that appear one at a time, each some calls after the one before.
struct OneByOne {
    streams: Vec<Stream>,
    num_calls: u32,
    /// Ranks that never appear.
    absent: Vec<RankId>,
    /// Number of questions after which those are given up.
    num_questions: u32,
    asked: AtomicU32,
}

impl OneByOne {
    fn of(mut streams: Vec<Stream>, absent: &[u32]) -> Self {
        streams.reverse();
        Self {
            streams,
            num_calls: 0,
            absent: absent.iter().copied().map(RankId).collect(),
            num_questions: 3,
            asked: AtomicU32::new(0),
        }
    }
}

impl LateStreams for OneByOne {
    fn take_new(&mut self) -> Vec<Stream> {
        self.num_calls += 1;
        if self.num_calls.is_multiple_of(3) {
            self.streams.pop().into_iter().collect()
        } else {
            Vec::new()
        }
    }

    fn expected(&self) -> ExpectedStreams {
        let num_asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let ranks = self.streams.iter().map(|stream| stream.rank);
        ExpectedStreams {
            missing: Some(ranks.chain(self.absent.iter().copied()).collect()),
            is_given_up: self.streams.is_empty() && num_asked > self.num_questions,
            num_dropped: 7 * self.absent.len() as u64,
        }
    }
}

fn live() -> AdOptions {
    AdOptions {
        pacing: Pacing::Live,
        ..options(Params::default())
    }
}

/// A rank with a slow call among the usual ones.
fn script(rank: u32) -> Script {
    let mut script = Script::new(rank);
    script.step(0).metadata(0, "Hostname", "node");
    script.usual_calls("f", 0, 200);
    script.step(1).call(0, "f", 50_000, 90_000);
    script
}

fn follow_late(first: Vec<Stream>, late: OneByOne, store: &MemoryStore) -> Status {
    let exchange = session(&server());
    let store: Box<dyn Store> = Box::new(store.clone());
    Instance::start(first, live(), exchange, Some(store), "test")
        .unwrap()
        .with_late_streams(Box::new(late))
        .run(|_| ControlFlow::Continue(()))
        .unwrap()
}

#[test]
fn late_ranks_are_read_from_their_beginning_and_recorded_as_if_they_had_been_there() {
    let stores = [MemoryStore::default(), MemoryStore::default()];
    let streams = || (0..4).map(|rank| script(rank).stream());
    let together = follow_streams(streams().collect(), live(), session(&server()), &stores[0]);
    let mut late: Vec<Stream> = streams().collect();
    let first = vec![late.remove(2)];
    let status = follow_late(first, OneByOne::of(late, &[]), &stores[1]);
    // What was usual at an execution depends on the order in which ranks are read, as in any live run.
    let counts = |status: &Status| (status.num_executions, status.num_anomalies);
    assert_eq!(counts(&together.unwrap()), (804, 4));
    assert_eq!(counts(&status), (804, 4));
    let events = |store: &MemoryStore| {
        let anomalies = store.of(Collection::Anomalies).into_iter();
        let events = anomalies.map(|it| it["event_id"].to_string());
        events.collect::<BTreeSet<_>>()
    };
    assert_eq!(events(&stores[0]), events(&stores[1]));
    let metadata = stores.each_ref().map(|it| it.of(Collection::Metadata));
    assert_eq!(metadata[0], metadata[1]);
}

#[test]
fn ranks_that_never_come_and_steps_that_were_dropped_are_counted() {
    let late = OneByOne::of(vec![script(1).stream()], &[2, 3]);
    let status = follow_late(vec![script(0).stream()], late, &MemoryStore::default());
    assert_eq!(status.num_executions, 402);
    let total = |kind| status.warnings.total(kind);
    let totals = (
        total(WarningKind::MissingRank),
        total(WarningKind::StepsDropped),
    );
    assert_eq!(totals, (2, 14));
}

#[test]
fn a_late_rank_that_another_instance_has_is_refused() {
    let server = server();
    let mut other = session(&server);
    let hello = Hello {
        instance: "other".to_owned(),
        program: ProgramId(0),
        ranks: vec![RankId(1)],
        run: RunIdentity::default(),
        recorded_ranks: None,
    };
    other.register(&hello).unwrap();
    let late = OneByOne::of(vec![script(1).stream()], &[]);
    let first = script(0).stream_that_lingers();
    let error = Instance::start(vec![first], live(), session(&server), None, "test")
        .unwrap()
        .with_late_streams(Box::new(late))
        .run(|_| ControlFlow::Continue(()))
        .unwrap_err();
    assert!(error.to_string().contains("other"), "{error}");
}

#[test]
fn a_stream_whose_writer_is_gone_ends_after_its_last_step() {
    let gone = WriterGone::default();
    let stream = Stream {
        writer_gone: gone.clone(),
        ..script(0).stream_that_lingers()
    };
    let exchange = session(&server());
    let instance = Instance::start(vec![stream], live(), exchange, None, "test").unwrap();
    let status = instance.run(|status| {
        if status.num_steps == 2 {
            gone.set();
        }
        ControlFlow::Continue(())
    });
    let status = status.unwrap();
    assert_eq!(status.num_executions, 201);
    assert_eq!(status.warnings.total(WarningKind::StreamTruncated), 1);
}

#[test]
fn a_stream_is_read_on_while_the_instance_waits_and_judged_though_it_is_to_end() {
    let mut long = script(0);
    for step in 2..100 {
        long.step(step).call(0, "f", 100_000, 100_100);
    }
    let (sender, is_read) = sync_channel(1);
    let stream = long.stream_that_announces_its_end(sender);
    let exchange = session(&server());
    let instance = Instance::start(vec![stream], live(), exchange, None, "test").unwrap();
    let status = instance.run(|status| {
        if status.num_steps == 1 {
            is_read.recv_timeout(Duration::from_mins(1)).unwrap();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    assert_eq!(status.unwrap().num_executions, 201 + 98);
}
