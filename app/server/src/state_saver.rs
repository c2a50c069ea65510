//! Saves the data of a parameter server: statistics, models, incidents and trends as documents, and the state for a
//! restart.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use callgrove_incidents::{DueIncidents, IncidentDocument};
use callgrove_model::ProgramId;
use callgrove_provdb::{Collection, Document, Filter, ProvDbError, Query, StateChange, Store};
use callgrove_pserver::{
    GlobalDocuments, MonotonicClock, SavedGlobalState, ServerState, TrendDocument,
};
use serde::Deserialize;

use crate::error::ServerError;
use crate::monitoring::{DatabaseHealth, PanicGuard};

/// Name of the parameter server's state in the global database.
pub const STATE_NAME: &str = "parameter server";
/// Returns the name of a part of that state, with reports of ranks.
pub fn reports_name(number: u64) -> String {
    format!("{STATE_NAME}, reports {number}")
}

/// Name of the run's tree models in the global database.
pub const TREE_MODELS_NAME: &str = "tree models";
/// Interval of saves while the run goes on: the most data that a crash can lose.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);
/// Pause after a failed save.
const SAVE_PAUSE: Duration = Duration::from_secs(1);
/// Interval of the check whether new data has settled, so that the last instance can end once its data is saved.
pub(crate) const SETTLE_INTERVAL: Duration = Duration::from_millis(200);

/// Saves the state of a parameter server in a database.
pub(crate) struct StateSaver {
    pub(crate) state: Arc<ServerState>,
    pub(crate) store: Box<dyn Store>,
    /// The health of the database, for probes and metrics.
    pub(crate) health: Arc<DatabaseHealth>,
}

impl StateSaver {
    /// Saves at intervals, soon after an instance's last report, and at the end.
    pub(crate) fn run(&mut self, stopped: &Receiver<()>) -> Result<(), ServerError> {
        let health = Arc::clone(&self.health);
        let _guard = PanicGuard(&health);
        let clock = MonotonicClock::new();
        let mut unsaved = None;
        let mut last_saved = Instant::now();
        let mut unsaved_before = None;
        while stopped.recv_timeout(SETTLE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            // If nothing arrived since the last check, the last instance may be waiting for its data to be saved.
            let unsaved_now = self.state.unsaved_version();
            health.begin();
            let tree_models = self.save_tree_models().err();
            let is_quiet = unsaved_now.is_some() && unsaved_now == unsaved_before;
            unsaved_before = unsaved_now;
            let may_save = unsaved.is_none() || last_saved.elapsed() >= SAVE_PAUSE;
            let is_soon = is_quiet || self.state.has_unsaved_ranks();
            if last_saved.elapsed() >= SAVE_INTERVAL || (is_soon && may_save) {
                unsaved = self.save(clock.now_ms(), false).err();
                last_saved = Instant::now();
            }
            let error = unsaved.as_ref().or(tree_models.as_ref());
            let problem = error.map(|error| {
                format!("{error}; the run's statistics are kept in memory and saved later")
            });
            health.end(problem);
        }
        health.begin();
        let tree_models = self.save_tree_models();
        let saved = tree_models.and(self.save(clock.now_ms(), true));
        health.end(saved.as_ref().err().map(ToString::to_string));
        // A server that does not hear it waits a few seconds longer at its end.
        self.store.leave().ok();
        saved
    }

    /// Writes the tree models if they have changed.
    fn save_tree_models(&mut self) -> Result<(), ServerError> {
        let Some((book, generation)) = self.state.unsaved_tree_models() else {
            return Ok(());
        };
        let json = book.to_json()?;
        self.store
            .replace_state(TREE_MODELS_NAME, json.as_bytes())?;
        self.state.confirm_saved_tree_models(generation);
        Ok(())
    }

    /// Writes the global collections, and the state that a restarted server continues from.
    fn save(&mut self, now_ms: u64, is_last: bool) -> Result<(), ServerError> {
        // Before the state, which has the names of those of a live run, so that a restarted server reports them under the
        // same names.
        let incidents = self.state.incidents(now_ms, is_last);
        // Before the documents, so that they include everything that is acknowledged as saved.
        let saved = self.state.save()?;
        let all = documents(&self.state.documents())?;
        // After the documents, so that the run includes every program that is in them. A database with documents must
        // have a run, even an empty one: without a run it would refuse all clients.
        let run = self.state.run();
        if !(run.is_empty() && all.is_empty()) {
            self.store.join_run(&run)?;
        }
        self.put(Ok(all))?;
        self.store_state(&saved)?;
        self.state.confirm_saved(&saved);
        self.save_incidents(&incidents)?;
        self.save_trends(is_last)?;
        self.health.note_saved();
        Ok(())
    }

    /// Writes a state, and its new part, in one transaction.
    fn store_state(&mut self, saved: &SavedGlobalState) -> Result<(), ProvDbError> {
        let new_part = saved.new_part.as_ref();
        let new_part = new_part.map(|it| (reports_name(it.number), &it.json));
        let obsolete = saved.obsolete_parts.clone();
        let obsolete: Vec<String> = obsolete.map(reports_name).collect();
        let mut changes = vec![StateChange {
            name: STATE_NAME,
            bytes: Some(saved.json.as_bytes()),
        }];
        changes.extend(new_part.iter().map(|(name, json)| StateChange {
            name,
            bytes: Some(json.as_bytes()),
        }));
        let removed = obsolete
            .iter()
            .map(|name| StateChange { name, bytes: None });
        changes.extend(removed);
        self.store.change_states(&changes)
    }

    /// Writes the incidents that are new or have changed; those of a judged recorded run replace all others.
    fn save_incidents(&mut self, due: &DueIncidents) -> Result<(), ServerError> {
        let document = |it: &IncidentDocument| {
            Document::incident(it.program.0, &it.id.to_string(), &it.record)
        };
        self.put(due.documents.iter().map(document).collect())?;
        for (&program, ids) in &due.final_ids {
            let ids = ids.iter().map(ToString::to_string).collect();
            self.remove_others(Collection::Incidents, program, &ids)?;
        }
        self.state.confirm_incidents(&due.documents);
        Ok(())
    }

    /// Writes the trends that are new or have changed; those of a judged recorded run replace all others.
    fn save_trends(&mut self, is_last: bool) -> Result<(), ServerError> {
        let due = self.state.trends(is_last);
        let document =
            |it: &TrendDocument| Document::trend(it.program.0, &it.record.trend_id, &it.record);
        let put = self.put(due.documents.iter().map(document).collect());
        let stored = put.and_then(|()| {
            let mut final_ids = due.final_ids.iter();
            final_ids.try_for_each(|(&program, ids)| {
                self.remove_others(Collection::Trends, program, ids)
            })
        });
        self.state.confirm_trends(&due.documents, stored.is_ok());
        Ok(stored?)
    }

    fn put(&mut self, documents: Result<Vec<Document>, ProvDbError>) -> Result<(), ProvDbError> {
        let documents = documents?;
        self.store.put(&documents)?;
        self.health.documents().add_stored(documents.len());
        Ok(())
    }

    /// Removes all documents of a program in a global collection but those with these identifiers.
    fn remove_others(
        &mut self,
        collection: Collection,
        program: ProgramId,
        ids: &BTreeSet<String>,
    ) -> Result<(), ProvDbError> {
        let query = Query {
            filter: Some(Filter::parse(&format!("pid = {program}"))?),
            ..Query::all(collection)
        };
        let mut others = Vec::new();
        self.store.find_each(&query, &mut |json| {
            // A document that cannot be read is of another release, and stays.
            if let Ok(StoredId { id }) = serde_json::from_str(&json)
                && !ids.contains(&id)
            {
                others.push(format!("{program}:{id}"));
            }
            ControlFlow::Continue(())
        })?;
        if others.is_empty() {
            return Ok(());
        }
        self.store.remove(collection, 0, &others)
    }
}

/// The identifier of a stored incident or trend.
#[derive(Deserialize)]
struct StoredId {
    #[serde(alias = "incident_id", alias = "trend_id")]
    id: String,
}

fn documents(documents: &GlobalDocuments) -> Result<Vec<Document>, ProvDbError> {
    let mut all = Vec::new();
    for stats in &documents.func_stats {
        all.push(Document::func_stats(stats.app, stats.fid, stats)?);
    }
    for stats in &documents.counter_stats {
        all.push(Document::counter_stats(stats.app, &stats.counter, stats)?);
    }
    for model in &documents.ad_model {
        all.push(Document::ad_model(model.pid, model.fid, model)?);
    }
    Ok(all)
}
