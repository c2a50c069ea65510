//! A parameter server publishes and saves, whatever its database does.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use callgrove_model::{RankId, RunIdentity};
use callgrove_provdb_stores::OpenOptions;
use callgrove_pserver::{ServerState, StateOptions};
use callgrove_server::hub::Hub;
use callgrove_server::maintenance::Maintenance;
use support::disturbed::disturbed;
use support::{report_one_anomaly, saved_in};

/// Timeout of all waits, longer than any machine needs.
const TIMEOUT: Duration = Duration::from_mins(2);

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_string_lossy().into_owned();
    (folder, path)
}

#[test]
fn packets_come_while_the_database_does_not_answer() {
    let (_folder, path) = folder();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let hub = Arc::new(Hub::new(0));
    let (asked, is_asked) = sync_channel(100);
    let (answer, may_answer) = sync_channel::<()>(1);
    let maintenance = disturbed(&path, &state, &hub, move || {
        asked.send(()).unwrap();
        // After the test has dropped its end, nothing is waited for.
        may_answer.recv().ok();
        Ok(())
    });
    report_one_anomaly(state.session(), RankId(0), "MPI_Wait");
    is_asked.recv_timeout(TIMEOUT).unwrap();
    let before = hub.snapshot().progress.version;
    report_one_anomaly(state.session(), RankId(1), "MPI_Send");
    let begun = std::time::Instant::now();
    while hub.snapshot().overview.num_anomalies() < 2 {
        assert!(begun.elapsed() < TIMEOUT, "no packet after {before}");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(answer);
    maintenance.finish().saved.unwrap();
}

#[test]
fn reports_during_a_save_are_not_acknowledged_before_their_documents_are_stored() {
    let (_folder, path) = folder();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    report_one_anomaly(state.session(), RankId(0), "MPI_Wait");
    let reporting = Arc::clone(&state);
    let mut others = ["MPI_Send", "MPI_Recv"].into_iter().zip(1..);
    let maintenance = disturbed(&path, &state, &Arc::new(Hub::new(0)), move || {
        if let Some((function, rank)) = others.next() {
            report_one_anomaly(reporting.session(), RankId(rank), function);
        }
        Ok(())
    });
    maintenance.finish().saved.unwrap();
}

#[test]
fn a_panic_while_saving_is_reported_at_once_and_at_the_end() {
    let (_folder, path) = folder();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let hub = Arc::new(Hub::new(0));
    let maintenance = disturbed(&path, &state, &hub, || panic!("of the test"));
    report_one_anomaly(state.session(), RankId(0), "MPI_Wait");
    let begun = std::time::Instant::now();
    while maintenance.problems().is_empty() {
        assert!(begun.elapsed() < TIMEOUT, "nothing is reported");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(maintenance.problems()[0].contains("saving panicked"));
    let end = maintenance.finish();
    assert!(end.saved.unwrap_err().to_string().contains("panic"));
    assert_eq!(hub.snapshot().overview.num_anomalies(), 1);
}

#[test]
fn a_run_can_be_joined_after_statistics_were_saved_without_one() {
    let (_folder, path) = folder();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let maintenance = Maintenance::start(saved_in(&path, &state, &Arc::new(Hub::new(0)))).unwrap();
    report_one_anomaly(state.session(), RankId(3), "MPI_Wait");
    maintenance.finish().saved.unwrap();
    let program = r#"{"command_lines":["lmp"],"executables":[],"ranks":{}}"#;
    let run = format!(r#"{{"programs":{{"0":{program}}}}}"#);
    let run: RunIdentity = serde_json::from_str(&run).unwrap();
    let mut store = callgrove_provdb_stores::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(store.join_run(&run).unwrap(), run);
}
