//! A parameter server publishes and saves, whatever its database does.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use callgrove_model::{RankId, RunIdentity};
use callgrove_provdb::{
    Claim, Collection, Document, OpenOptions, ProvDbError, Query, SqlTable, Store,
};
use callgrove_pserver::{ServerState, StateOptions};
use callgrove_server::hub::Hub;
use callgrove_server::keeper::{Keeper, STATE_NAME};
use serde_json::Value;
use support::{report_one_anomaly, saved_in};

/// Longer than any machine takes; a test that waits so long fails.
const PATIENCE: Duration = Duration::from_mins(2);

/// A database in which something happens before documents are stored.
struct Disturbed<F> {
    store: Box<dyn Store>,
    before_put: F,
}

impl<F: FnMut() + Send> Store for Disturbed<F> {
    fn put(&mut self, documents: &[Document]) -> Result<(), ProvDbError> {
        (self.before_put)();
        self.store.put(documents)
    }

    fn forget_step(&mut self, program: u32, rank: u32, step: u32) -> Result<(), ProvDbError> {
        self.store.forget_step(program, rank, step)
    }

    fn remove(&mut self, of: Collection, rank: u32, keys: &[String]) -> Result<(), ProvDbError> {
        self.store.remove(of, rank, keys)
    }

    /// What is said to be safe here has documents.
    fn replace_state(&mut self, name: &str, bytes: &[u8]) -> Result<(), ProvDbError> {
        if name == STATE_NAME {
            let state: Value = serde_json::from_slice(bytes).unwrap();
            let named = state["functions"].as_array().unwrap().iter();
            let names: Vec<String> = named.map(|it| it[2].as_str().unwrap().to_owned()).collect();
            let stored = self.find(&Query::all(Collection::FuncStats))?.concat();
            for name in names {
                assert!(stored.contains(&name), "{name}: {stored}");
            }
        }
        self.store.replace_state(name, bytes)
    }

    fn state(&mut self, name: &str) -> Result<Option<Vec<u8>>, ProvDbError> {
        self.store.state(name)
    }

    fn find_ids(&mut self, query: &Query) -> Result<Vec<i64>, ProvDbError> {
        self.store.find_ids(query)
    }

    fn documents(&mut self, of: Collection, ids: &[i64]) -> Result<Vec<String>, ProvDbError> {
        self.store.documents(of, ids)
    }

    fn find_each(
        &mut self,
        query: &Query,
        take: &mut dyn FnMut(String) -> ControlFlow<()>,
    ) -> Result<(), ProvDbError> {
        self.store.find_each(query, take)
    }

    fn count(&mut self, query: &Query) -> Result<u64, ProvDbError> {
        self.store.count(query)
    }

    fn find_plain_sql(&mut self, sql: &str) -> Result<SqlTable, ProvDbError> {
        self.store.find_plain_sql(sql)
    }

    fn join_run(&mut self, run: &RunIdentity) -> Result<RunIdentity, ProvDbError> {
        self.store.join_run(run)
    }

    fn claim(&mut self, program: u32, rank: u32, name: &str) -> Result<Claim, ProvDbError> {
        self.store.claim(program, rank, name)
    }
}

/// A keeper of a state, in whose database something happens before documents are stored.
fn disturbed(
    place: &str,
    state: &Arc<ServerState>,
    hub: &Arc<Hub>,
    before_put: impl FnMut() + Send + 'static,
) -> Keeper {
    let mut config = saved_in(place, state, hub);
    let store = config.store.take().unwrap();
    config.store = Some(Box::new(Disturbed { store, before_put }));
    Keeper::start(config).unwrap()
}

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
