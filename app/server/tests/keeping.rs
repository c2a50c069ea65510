//! A parameter server publishes and saves, whatever its database does.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use callgrove_model::{RankId, RunIdentity};
use callgrove_provdb::OpenOptions;
use callgrove_pserver::{ServerState, StateOptions};
use callgrove_server::hub::Hub;
use callgrove_server::keeper::Keeper;
use support::disturbed::disturbed;
use support::{report_one_anomaly, saved_in};

/// Longer than any machine takes; a test that waits so long fails.
const PATIENCE: Duration = Duration::from_mins(2);

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_string_lossy().into_owned();
    (folder, place)
}

#[test]
fn packets_come_while_the_database_does_not_answer() {
    let (_folder, place) = folder();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let hub = Arc::new(Hub::new(0));
    let (asked, is_asked) = sync_channel(100);
    let (answer, may_answer) = sync_channel::<()>(1);
    let keeper = disturbed(&place, &state, &hub, move || {
        asked.send(()).unwrap();
        // Nothing more is waited for once the test has dropped its end.
        may_answer.recv().ok();
        Ok(())
    });
    report_one_anomaly(state.session(), RankId(0), "MPI_Wait");
    is_asked.recv_timeout(PATIENCE).unwrap();
    let before = hub.snapshot().progress.version;
    report_one_anomaly(state.session(), RankId(1), "MPI_Send");
    let begun = std::time::Instant::now();
    while hub.snapshot().overview.num_anomalies() < 2 {
        assert!(begun.elapsed() < PATIENCE, "no packet after {before}");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(answer);
    keeper.finish().saved.unwrap();
}

#[test]
fn what_is_told_while_documents_are_stored_is_not_said_to_be_safe_before_it_has_some() {
    let (_folder, place) = folder();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    report_one_anomaly(state.session(), RankId(0), "MPI_Wait");
    let told = Arc::clone(&state);
    let mut others = ["MPI_Send", "MPI_Recv"].into_iter().zip(1..);
    let keeper = disturbed(&place, &state, &Arc::new(Hub::new(0)), move || {
        if let Some((function, rank)) = others.next() {
            report_one_anomaly(told.session(), RankId(rank), function);
        }
        Ok(())
    });
    keeper.finish().saved.unwrap();
}

#[test]
fn a_fault_of_what_saves_is_told_at_once_and_at_the_end() {
    let (_folder, place) = folder();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let hub = Arc::new(Hub::new(0));
    let keeper = disturbed(&place, &state, &hub, || panic!("of the test"));
    report_one_anomaly(state.session(), RankId(0), "MPI_Wait");
    let begun = std::time::Instant::now();
    while keeper.troubles().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "nothing is said");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(keeper.troubles()[0].contains("saving ended by a panic"));
    let end = keeper.finish();
    assert!(end.saved.unwrap_err().to_string().contains("panic"));
    assert_eq!(hub.snapshot().overview.num_anomalies(), 1);
}

#[test]
fn statistics_that_are_saved_before_the_run_is_known_do_not_close_the_database_to_it() {
    let (_folder, place) = folder();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let keeper = Keeper::start(saved_in(&place, &state, &Arc::new(Hub::new(0)))).unwrap();
    report_one_anomaly(state.session(), RankId(3), "MPI_Wait");
    keeper.finish().saved.unwrap();
    let program = r#"{"command_lines":["lmp"],"executables":[],"ranks":{}}"#;
    let run = format!(r#"{{"programs":{{"0":{program}}}}}"#);
    let run: RunIdentity = serde_json::from_str(&run).unwrap();
    let mut store = callgrove_provdb::open(&place, &OpenOptions::default()).unwrap();
    assert_eq!(store.join_run(&run).unwrap(), run);
}
