//! The maintenance thread of a parameter server: folds, publishes packets and saves at intervals.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use callgrove_provdb::{Document, ProvDbError, Store};
use callgrove_pserver::net::Poster;
use callgrove_pserver::{IncidentDocument, MonotonicClock, ServerState};
use serde_json::Value;

use crate::ServerError;
use crate::hub::Hub;

/// Where the state of the parameter server is kept in the global database.
pub const STATE_NAME: &str = "parameter server";
/// Where the tree models of the run are kept there.
pub const TREE_MODELS_NAME: &str = "tree models";
/// How often it is saved while the run goes on: what a crash may cost.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

/// Pause after the database refused.
const SAVE_PAUSE: Duration = Duration::from_secs(1);
/// How often it looks whether the last instance waits for its last words to be saved.
const SETTLE_INTERVAL: Duration = Duration::from_millis(200);

/// A thread that keeps a parameter server going.
#[derive(Debug)]
pub struct Keeper {
    stop: SyncSender<()>,
    thread: JoinHandle<KeeperEnd>,
    troubles: Arc<Mutex<Vec<String>>>,
}

/// What became of the last packets and the last state.
#[derive(Debug)]
pub struct KeeperEnd {
    /// Whether the database has the last state.
    pub saved: Result<(), ProvDbError>,
    /// Who did not take the last packet, and why, in words.
    pub undelivered: Vec<String>,
}

/// What a [`Keeper`] folds, publishes and saves, and how often.
pub struct KeeperConfig {
    /// The server's state.
    pub state: Arc<ServerState>,
    /// Time between two packets.
    pub interval: Duration,
    /// Who watches here.
    pub hub: Arc<Hub>,
    /// Who watches elsewhere.
    pub posters: Vec<Poster>,
    /// Where statistics, models and the state go.
    pub store: Option<Box<dyn Store>>,
}

impl Keeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`ServerError::Threads`].
    pub fn start(mut config: KeeperConfig) -> Result<Self, ServerError> {
        let (stop, stopped) = sync_channel(1);
        let troubles = Arc::default();
        let told = Arc::clone(&troubles);
        let thread = thread::Builder::new()
            .name("keeper".to_owned())
            .spawn(move || config.run(&stopped, &told))
            .map_err(|source| ServerError::Threads { source })?;
        Ok(Self {
            stop,
            thread,
            troubles,
        })
    }

    /// What cannot be saved or delivered at present, and why, in words.
    pub fn troubles(&self) -> Vec<String> {
        self.troubles
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Tells and saves a last time, and ends.
    pub fn finish(self) -> KeeperEnd {
        drop(self.stop);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl KeeperConfig {
    fn run(&mut self, stopped: &Receiver<()>, troubles: &Mutex<Vec<String>>) -> KeeperEnd {
        let clock = MonotonicClock::new();
        let mut unsaved = None;
        let (mut last_saved, mut last_told) = (Instant::now(), Instant::now());
        let mut unsaved_before = None;
        loop {
            let pause = self.interval.min(SETTLE_INTERVAL);
            let is_last = stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
            self.state.fold();
            if is_last || last_told.elapsed() >= self.interval {
                self.tell(clock.now_ms());
                last_told = Instant::now();
            }
            if is_last {
                self.state.close_tree_models();
                let saved = self.save_tree_models();
                let saved = saved.and(self.save(clock.now_ms(), true));
                self.hub.end();
                let finish = |poster: Poster| {
                    let url = poster.url().to_owned();
                    let failure = poster.finish().failure?;
                    Some(format!("{url} did not take the last packet: {failure}"))
                };
                let undelivered = self.posters.drain(..).filter_map(finish).collect();
                return KeeperEnd { saved, undelivered };
            }
            // Nothing came since the last look: whoever told it may be waiting to end.
            let unsaved_now = self.state.unsaved_version();
            let tree_models = self.save_tree_models().err();
            let is_quiet = unsaved_now.is_some() && unsaved_now == unsaved_before;
            unsaved_before = unsaved_now;
            let may_save = unsaved.is_none() || last_saved.elapsed() >= SAVE_PAUSE;
            if last_saved.elapsed() >= SAVE_INTERVAL || (is_quiet && may_save) {
                unsaved = self.save(clock.now_ms(), false).err();
                last_saved = Instant::now();
            }
            let unsaved = unsaved.as_ref().or(tree_models.as_ref()).map(|error| {
                format!("{error}; the statistics of the run are kept and saved later")
            });
            let undelivered = self.posters.iter().filter_map(|poster| {
                let (url, failure) = (poster.url(), poster.status().failure?);
                Some(format!(
                    "{url} does not take packets: {failure}; the next has them too"
                ))
            });
            *troubles.lock().unwrap_or_else(PoisonError::into_inner) =
                unsaved.into_iter().chain(undelivered).collect();
        }
    }

    /// Tells what is new to all who watch.
    fn tell(&mut self, now_ms: u64) {
        let packet = self.state.take_packet(now_ms);
        self.hub.publish(&packet);
        for poster in &self.posters {
            poster.post(packet.clone());
        }
    }

    /// Writes the tree models, if they changed.
    fn save_tree_models(&mut self) -> Result<(), ProvDbError> {
        let unsaved = self.state.unsaved_tree_models();
        let Some((store, (book, generation))) = self.store.as_mut().zip(unsaved) else {
            return Ok(());
        };
        let json = book.to_json().map_err(|error| ProvDbError::Database {
            cause: error.to_string(),
            place: "the tree models".to_owned(),
        })?;
        store.replace_state(TREE_MODELS_NAME, json.as_bytes())?;
        self.state.confirm_saved_tree_models(generation);
        Ok(())
    }

    /// Writes the global collections, and the state from which a restarted server goes on.
    fn save(&mut self, now_ms: u64, is_last: bool) -> Result<(), ProvDbError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        let documents = self.state.documents();
        let number = |value: &Value, field: &str| value[field].as_u64().unwrap_or_default() as u32;
        let mut all = Vec::new();
        for stats in &documents.func_stats {
            all.push(Document::func_stats(
                number(stats, "app"),
                number(stats, "fid"),
                stats,
            )?);
        }
        for stats in &documents.counter_stats {
            let counter = stats["counter"].as_str().unwrap_or_default();
            all.push(Document::counter_stats(
                number(stats, "app"),
                counter,
                stats,
            )?);
        }
        for model in &documents.ad_model {
            all.push(Document::ad_model(
                number(model, "pid"),
                number(model, "fid"),
                model,
            )?);
        }
        // Asked after the documents, it is that of all who told them. A database that has documents has to have a run,
        // even one of which nothing is known yet: without any it would refuse whoever comes.
        let run = self.state.run();
        if !(run.is_empty() && all.is_empty()) {
            store.join_run(&run)?;
        }
        store.put(&all)?;
        let incidents = self.state.incidents(now_ms, is_last);
        let saved = self.state.save().map_err(|error| ProvDbError::Database {
            cause: error.to_string(),
            place: "the state of the parameter server".to_owned(),
        })?;
        store.replace_state(STATE_NAME, saved.json.as_bytes())?;
        self.state.confirm_saved(saved.version);
        // After the state, which has their names: a restarted server tells them again under the same ones.
        let of_incident =
            |it: &IncidentDocument| Document::incident(it.program.0, &it.id.to_string(), &it.json);
        let documents: Vec<Document> = incidents
            .iter()
            .map(of_incident)
            .collect::<Result<_, _>>()?;
        store.put(&documents)?;
        self.state.confirm_incidents(&incidents);
        Ok(())
    }
}
