//! Trends of a run that detectors follow: from streams to the documents of the parameter server.

use std::sync::Arc;

use callgrove_pserver::{ServerState, StateOptions};

use crate::instance::{hbos, session};
use crate::support::{MemoryStore, Script, follow_streams, options};

const NUM_RANKS: u32 = 6;
const NUM_STEPS: u32 = 40;
const CALLS_PER_STEP: u64 = 20;

/// Calls of `kernel` and waits for the others; rank 4 takes 1.3 times as long, and waits less.
fn script(rank: u32) -> Script {
    let mut script = Script::new(rank);
    script
        .step(0)
        .metadata(0, "Hostname", &format!("nid{}", rank / 2))
        .enter(0, "main", 500);
    for step in 0..NUM_STEPS {
        if step > 0 {
            script.step(step);
        }
        for call in 0..CALLS_PER_STEP {
            let number = u64::from(step) * CALLS_PER_STEP + call;
            let at = 1_000 + 2_000 * number;
            let kernel = if rank == 4 { 1_300 } else { 1_000 };
            let kernel = kernel + (number * 7 + u64::from(rank) * 3) % 11;
            script.call(0, "Solver::kernel", at, at + kernel).call(
                0,
                "MPI_Barrier()",
                at + kernel,
                at + 1_900,
            );
        }
    }
    script.exit(0, "main", 10_000_000);
    script
}

#[test]
fn a_document_describes_a_rank_that_is_slow_throughout() {
    let server = Arc::new(ServerState::new(StateOptions {
        joins_incidents: true,
        ..StateOptions::default()
    }));
    let scripts: Vec<Script> = (0..NUM_RANKS).map(script).collect();
    let streams = scripts.iter().map(Script::stream).collect();
    follow_streams(
        streams,
        options(hbos()),
        session(&server),
        &MemoryStore::default(),
    )
    .unwrap();
    let documents = server.trends(false).documents;
    let [document] = documents.as_slice() else {
        panic!("one trend: {documents:#?}");
    };
    let record = &document.record;
    assert_eq!(
        record.words,
        "rank 4, host nid2, 1.30 times its peers in Solver::kernel throughout; peers: ranks 0 to 3 and 5"
    );
    let cost_us = i64::from(NUM_STEPS) * 20 * 300;
    assert!((record.cost - cost_us).abs() < cost_us / 20, "{record:?}");
    server.confirm_trends(&documents, true);
    assert_eq!(
        server.trends(false).documents,
        [],
        "the trend was taken by the database"
    );
}
