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
/// How often it is saved while the run goes on: what a crash may cost.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

/// A thread that keeps a parameter server going.
#[derive(Debug)]
pub struct Keeper {
    stop: SyncSender<()>,
    thread: JoinHandle<Result<(), ProvDbError>>,
    trouble: Arc<Mutex<Option<String>>>,
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
        let trouble = Arc::default();
        let told = Arc::clone(&trouble);
        let thread = thread::Builder::new()
            .name("keeper".to_owned())
            .spawn(move || config.run(&stopped, &told))
            .map_err(|source| ServerError::Threads { source })?;
        Ok(Self {
            stop,
            thread,
            trouble,
        })
    }

    /// Why the state cannot be saved at present, if it cannot.
    pub fn trouble(&self) -> Option<String> {
        self.trouble
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Tells and saves a last time, and ends.
    ///
    /// # Errors
    /// The database refuses the last state.
    pub fn finish(self) -> Result<(), ProvDbError> {
        drop(self.stop);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl KeeperConfig {
    fn run(
        &mut self,
        stopped: &Receiver<()>,
        trouble: &Mutex<Option<String>>,
    ) -> Result<(), ProvDbError> {
        let clock = MonotonicClock::new();
        let mut last_saved = Instant::now();
        loop {
            let is_last = stopped.recv_timeout(self.interval) != Err(RecvTimeoutError::Timeout);
            self.state.fold();
            let packet = self.state.take_packet(clock.now_ms());
            self.hub.publish(&packet);
            for poster in &self.posters {
                poster.post(packet.clone());
            }
            if is_last {
                let saved = self.save(clock.now_ms(), true);
                self.hub.end();
                // Dropped posters have delivered what they could.
                self.posters.clear();
                return saved;
            }
            if last_saved.elapsed() >= SAVE_INTERVAL {
                let saved = self.save(clock.now_ms(), false);
                *trouble.lock().unwrap_or_else(PoisonError::into_inner) =
                    saved.err().map(|error| error.to_string());
                last_saved = Instant::now();
            }
        }
    }

    /// Writes the global collections, and the state from which a restarted server goes on.
    fn save(&mut self, now_ms: u64, is_last: bool) -> Result<(), ProvDbError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        let run = self.state.run();
        if !run.is_empty() {
            store.join_run(&run)?;
        }
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
        store.put(&all)?;
        let incidents = self.state.incidents(now_ms, is_last);
        if let Ok(saved) = self.state.save() {
            store.replace_state(STATE_NAME, saved.json.as_bytes())?;
            self.state.confirm_saved(saved.version);
        }
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
