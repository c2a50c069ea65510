//! What a parameter server has is saved: statistics, models, incidents and trends as documents, and the state to go on from.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use callgrove_provdb::{Document, ProvDbError, Store};
use callgrove_pserver::{
    GlobalDocuments, IncidentDocument, MonotonicClock, ServerState, TrendDocument,
};

use crate::ServerError;
use crate::monitoring::{DatabaseHealth, PanicGuard};

/// Where the state of the parameter server is kept in the global database.
pub const STATE_NAME: &str = "parameter server";
/// Where the tree models of the run are kept there.
pub const TREE_MODELS_NAME: &str = "tree models";
/// How often it is saved while the run goes on: what a crash may cost.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);
/// Pause after the database refused.
const SAVE_PAUSE: Duration = Duration::from_secs(1);
/// How often it looks whether the last instance waits for its last words to be saved.
pub(crate) const SETTLE_INTERVAL: Duration = Duration::from_millis(200);

/// Saves a state in a database.
pub(crate) struct Saver {
    pub(crate) state: Arc<ServerState>,
    pub(crate) store: Box<dyn Store>,
    /// What requests see of it.
    pub(crate) health: Arc<DatabaseHealth>,
}

impl Saver {
    /// Saves at intervals, soon after the last word of an instance, and at the end.
    pub(crate) fn run(&mut self, stopped: &Receiver<()>) -> Result<(), ServerError> {
        let health = Arc::clone(&self.health);
        let _guard = PanicGuard(&health);
        let clock = MonotonicClock::new();
        let mut unsaved = None;
        let mut last_saved = Instant::now();
        let mut unsaved_before = None;
        while stopped.recv_timeout(SETTLE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            // Nothing came since the last look: whoever told it may be waiting to end.
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
            let trouble = error.map(|error| {
                format!("{error}; the statistics of the run are kept and saved later")
            });
            health.end(trouble);
        }
        health.begin();
        let tree_models = self.save_tree_models();
        let saved = tree_models.and(self.save(clock.now_ms(), true));
        health.end(saved.as_ref().err().map(ToString::to_string));
        saved
    }

    /// Writes the tree models, if they changed.
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

    /// Writes the global collections, and the state from which a restarted server goes on.
    fn save(&mut self, now_ms: u64, is_last: bool) -> Result<(), ServerError> {
        // Before the state, which has their names: a restarted server tells them again under the same ones.
        let incidents = self.state.incidents(now_ms, is_last);
        // Before the documents: whoever is told that it is safe finds it in these, too.
        let saved = self.state.save()?;
        let all = documents(&self.state.documents())?;
        // Asked after the documents, it is that of all who told them. A database that has documents has to have a run,
        // even one of which nothing is known yet: without any it would refuse whoever comes.
        let run = self.state.run();
        if !(run.is_empty() && all.is_empty()) {
            self.store.join_run(&run)?;
        }
        self.store.put(&all)?;
        self.health.documents().add_stored(all.len());
        self.store
            .replace_state(STATE_NAME, saved.json.as_bytes())?;
        self.state.confirm_saved(saved.version);
        let of_incident = |it: &IncidentDocument| {
            Document::incident(it.program.0, &it.id.to_string(), &it.record)
        };
        let documents: Result<Vec<Document>, ProvDbError> =
            incidents.iter().map(of_incident).collect();
        let documents = documents?;
        self.store.put(&documents)?;
        self.health.documents().add_stored(documents.len());
        self.state.confirm_incidents(&incidents);
        self.save_trends()?;
        self.health.note_saved();
        Ok(())
    }

    /// Writes the trends that are new or have changed.
    fn save_trends(&mut self) -> Result<(), ServerError> {
        let trends = self.state.trends();
        let of_trend =
            |it: &TrendDocument| Document::trend(it.program.0, &it.record.trend_id, &it.record);
        let documents: Result<Vec<Document>, ProvDbError> = trends.iter().map(of_trend).collect();
        let stored = documents.and_then(|documents| {
            self.store.put(&documents)?;
            self.health.documents().add_stored(documents.len());
            Ok(())
        });
        self.state.confirm_trends(&trends, stored.is_ok());
        Ok(stored?)
    }
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
