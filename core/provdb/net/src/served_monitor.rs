//! Monitoring of a served database for its operator: whether it takes writes, and its counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use callgrove_provdb::{Collection, Document, ProvDbError, Store};
use tokio::time::timeout;

use super::store_thread::StoreThread;

/// Name of the state that a probe replaces.
const PROBE_STATE: &str = "readiness probe";
/// Time for which the outcome of a write answers a readiness check.
const OUTCOME_VALIDITY: Duration = Duration::from_secs(2);
/// Timeout of a probe; a slower database counts as not answering. Writes of clients may be queued before it.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The counts of a served database, and whether it takes writes. Clones refer to the same database.
#[derive(Clone, Debug)]
pub struct ServedMonitor {
    writer: StoreThread,
    state: Arc<Mutex<MonitorState>>,
}

#[derive(Debug, Default)]
struct MonitorState {
    requests: BTreeMap<&'static str, u64>,
    documents: BTreeMap<Collection, u64>,
    /// Time of the last write that is evidence of the database's state.
    checked_at: Option<Instant>,
    /// Problem shown by that write.
    problem: Option<&'static str>,
    /// Start time of the running probe.
    probing_since: Option<Instant>,
}

impl ServedMonitor {
    pub(super) fn new(writer: StoreThread) -> Self {
        Self {
            writer,
            state: Arc::default(),
        }
    }

    /// Checks that the database takes writes: by the last write of a client if it is recent, otherwise by a small
    /// write.
    ///
    /// # Errors
    /// The reason as one line without paths or addresses, since unauthenticated clients may read it.
    pub async fn check(&self) -> Result<(), &'static str> {
        if self.begin_probe() {
            let monitor = self.clone();
            // A task, so that the probe completes even if the client goes away.
            let probe = tokio::spawn(async move {
                let write = |store: &mut dyn Store| store.replace_state(PROBE_STATE, b"");
                let written = monitor.writer.run(write).await;
                monitor.note_outcome(&written);
                monitor.state().probing_since = None;
            });
            // The outcome is in the state.
            timeout(PROBE_TIMEOUT, probe).await.ok();
        }
        let state = self.state();
        let is_silent = state
            .probing_since
            .is_some_and(|since| since.elapsed() >= PROBE_TIMEOUT);
        match state.problem {
            _ if is_silent => Err("the database does not answer"),
            Some(problem) => Err(problem),
            None => Ok(()),
        }
    }

    /// Returns the number of requests of each method so far, including failed ones.
    pub fn requests(&self) -> Vec<(&'static str, u64)> {
        let state = self.state();
        state.requests.iter().map(|it| (*it.0, *it.1)).collect()
    }

    /// Returns the number of documents of each collection that clients have stored so far; replacements count again.
    pub fn documents(&self) -> Vec<(Collection, u64)> {
        let state = self.state();
        let number = |it| state.documents.get(&it).copied().unwrap_or_default();
        Collection::ALL.map(|it| (it, number(it))).to_vec()
    }

    pub(super) fn count_request(&self, method: &'static str) {
        *self.state().requests.entry(method).or_default() += 1;
    }

    pub(super) fn count_documents(&self, counts: BTreeMap<Collection, u64>) {
        let mut state = self.state();
        for (collection, number) in counts {
            *state.documents.entry(collection).or_default() += number;
        }
    }

    /// Records what a write says about the database; an invalid write says nothing.
    pub(super) fn note_outcome<T>(&self, outcome: &Result<T, ProvDbError>) {
        let problem = match outcome {
            Ok(_) => None,
            Err(ProvDbError::DiskFull { .. }) => Some("the disk of the database is full"),
            Err(ProvDbError::Unreachable { .. }) => Some("the database cannot be reached"),
            Err(
                ProvDbError::Busy(_) | ProvDbError::Database { .. } | ProvDbError::Damaged { .. },
            ) => Some("the database did not take the last write"),
            Err(_) => return,
        };
        let mut state = self.state();
        state.problem = problem;
        state.checked_at = Some(Instant::now());
    }

    /// Starts a probe, if one is needed and none is running.
    fn begin_probe(&self) -> bool {
        let mut state = self.state();
        let is_fresh = state
            .checked_at
            .is_some_and(|it| it.elapsed() < OUTCOME_VALIDITY);
        let is_needed = !is_fresh && state.probing_since.is_none();
        if is_needed {
            state.probing_since = Some(Instant::now());
        }
        is_needed
    }

    fn state(&self) -> MutexGuard<'_, MonitorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the number of documents of each collection.
pub(super) fn counts(documents: &[Document]) -> BTreeMap<Collection, u64> {
    let mut counts = BTreeMap::new();
    for document in documents {
        *counts.entry(document.collection).or_default() += 1;
    }
    counts
}
