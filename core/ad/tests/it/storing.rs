//! Reports that are sent once their step is stored, and the end of an AD instance whose store breaks.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use callgrove_ad::{AdOptions, Instance, Pacing};

use crate::instance::{script_with_a_slow_call, server, session, sstd};
use crate::support::{MemoryStore, options};

#[test]
fn a_panic_of_the_store_ends_an_instance_whose_stream_goes_on() {
    let store = MemoryStore {
        breaks: true,
        ..MemoryStore::default()
    };
    let live = AdOptions {
        pacing: Pacing::Live,
        ..options(sstd())
    };
    let stream = script_with_a_slow_call().stream_that_lingers();
    let begun = Instant::now();
    let store = Box::new(store);
    let instance = Instance::start(vec![stream], live, session(&server()), Some(store), "test");
    let ended = instance.unwrap().run(|_| {
        assert!(
            begun.elapsed() < Duration::from_mins(2),
            "the instance does not end"
        );
        ControlFlow::Continue(())
    });
    let error = ended.unwrap_err().to_string();
    assert!(
        error.contains("the thread that stores documents has ended"),
        "{error}"
    );
}

#[test]
fn anomalies_are_reported_though_no_step_follows() {
    let (server, store) = (server(), MemoryStore::default());
    let live = AdOptions {
        pacing: Pacing::Live,
        ..options(sstd())
    };
    let mut script = script_with_a_slow_call();
    script.keep_steps(2);
    let stream = script.stream_that_lingers();
    let store = Box::new(store);
    let instance = Instance::start(vec![stream], live, session(&server), Some(store), "test");
    let begun = Instant::now();
    let ended = instance.unwrap().run(|status| {
        let stats = server.documents().func_stats;
        if stats.iter().any(|it| it.anomaly_metrics.is_some()) {
            return ControlFlow::Break(());
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{status:?}");
        ControlFlow::Continue(())
    });
    assert_eq!(ended.unwrap().num_anomalies, 1);
}
