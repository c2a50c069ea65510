//! The state of the server, independent of any network. Contributions of instances go to one of several partial states,
//! which are folded into the global one periodically.
//!
//! ```text
//! sync ─ partial state 0 ─┐
//! sync ─ partial state 1 ─┼─ fold (about once a second) ─ global ─┬─ published models ─ answers to sync
//! sync ─ partial state 2 ─┘                                       └─ packets, documents, incidents, trends, saved state
//! ```
//!
//! An instance always uses the same partial state, so its requests are counted where they are merged. All instances
//! share only the locks on the pointer to the published models and on the table of functions; both are mostly read, and
//! writes are short.

mod exchange_counters;
mod global;
mod global_documents;
mod incident_documents;
mod log;
mod log_progress;
mod logged_part;
mod merger;
mod packets;
mod partial;
mod published_models;
mod registrations;
mod saved_state;
mod tally;
mod tree_models;
mod trend_documents;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use callgrove_detect::Params;
use callgrove_model::{FuncId, MAX_COUNTER_NAME_BYTES, ProgramId, RunIdentity, fnv1a};

pub use exchange_counters::{EXCHANGE_BOUNDS, ExchangeTimes};
pub use global_documents::GlobalDocuments;
pub use log_progress::GroupProgress;
pub use logged_part::{LoggedPart, MergerStart, SumOrigin};
pub use merger::{GroupMerger, GroupSum};
pub use published_models::ChangedModels;
pub use saved_state::{ReportsText, SavedGlobalState};
pub use tally::{ProgramTally, RunTally};

use crate::contribution::{Contribution, ModelKind};
use crate::error::PserverError;
use crate::functions::{FunctionRequest, FunctionTable, check_name};
use crate::protocol::{Cursor, Retention, SyncReply, SyncRequest};
use crate::statistics::RankKey;
use crate::tree_model_book::SharedTreeModels;
use exchange_counters::ExchangeCounters;
use global::GlobalState;
use log_progress::LogProgress;
use partial::PartialState;
use published_models::PublishedModels;

/// Maximum number of counters of a run.
const MAX_COUNTERS: usize = 1 << 16;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct StateOptions {
    /// Number of partial states, 1 to 1,024; the number of cores is enough.
    pub num_workers: usize,
    /// Parameters of the detector for all instances.
    pub params: Option<Params>,
    /// True if the models take no data.
    pub frozen: bool,
    /// Shards of the provenance database, for the instances.
    pub num_shards: Option<u32>,
    /// Identifies the epoch of the server; no other start of it has the same number. For example the time.
    pub epoch: u64,
    /// The data that survive a restart.
    pub retention: Retention,
    /// Fold on every request: the published model is always current, at the cost of a shared lock. For one process.
    pub fold_on_sync: bool,
    /// Join stalls to incidents. Pointless without a database that stores them.
    pub joins_incidents: bool,
}

impl Default for StateOptions {
    fn default() -> Self {
        Self {
            num_workers: 8,
            params: None,
            frozen: false,
            num_shards: None,
            epoch: 1,
            retention: Retention::Nothing,
            fold_on_sync: false,
            joins_incidents: false,
        }
    }
}

/// The state of a server. All methods are thread-safe. Times are milliseconds of any monotonic clock.
#[derive(Debug)]
pub struct ServerState {
    options: StateOptions,
    partial_states: Vec<Mutex<PartialState>>,
    /// The run; the first instance identifies it.
    run: Mutex<RunIdentity>,
    claims: Mutex<BTreeMap<RankKey, String>>,
    /// The ranks of instances before a restart, with their instances, until one claims them again.
    former_ranks: Mutex<BTreeMap<RankKey, String>>,
    /// True if claimed or announced ranks have changed since the state was saved.
    has_unsaved_ranks: AtomicBool,
    functions: RwLock<FunctionTable>,
    counters: RwLock<BTreeSet<(ProgramId, String)>>,
    pub(crate) global: Mutex<GlobalState>,
    published: RwLock<Arc<PublishedModels>>,
    saved_version: AtomicU64,
    /// What was read of a log on a message bus.
    log: Mutex<LogProgress>,
    saved_log: Mutex<LogProgress>,
    /// The groups of instances that write to the log of a group.
    groups: Mutex<BTreeMap<String, u32>>,
    model_kind: ModelKind,
    tree_models: SharedTreeModels,
    exchanges: ExchangeCounters,
    /// The numbers of ranks that recorded runs announce.
    announced_ranks: Mutex<BTreeMap<ProgramId, u32>>,
}

impl ServerState {
    /// Creates an empty state.
    pub fn new(options: StateOptions) -> Self {
        let num_workers = options.num_workers.clamp(1, 1024);
        let new_state = |_| Mutex::new(PartialState::default());
        Self {
            partial_states: (0..num_workers).map(new_state).collect(),
            run: Mutex::default(),
            claims: Mutex::default(),
            former_ranks: Mutex::default(),
            has_unsaved_ranks: AtomicBool::new(false),
            functions: RwLock::default(),
            counters: RwLock::default(),
            global: Mutex::default(),
            published: RwLock::default(),
            saved_version: AtomicU64::new(0),
            log: Mutex::default(),
            saved_log: Mutex::default(),
            groups: Mutex::default(),
            model_kind: ModelKind::default(),
            tree_models: SharedTreeModels::default(),
            exchanges: ExchangeCounters::default(),
            announced_ranks: Mutex::default(),
            options,
        }
    }

    /// Returns its options.
    pub fn options(&self) -> &StateOptions {
        &self.options
    }

    /// Returns the run that it serves; empty before the first instance.
    pub fn run(&self) -> RunIdentity {
        lock(&self.run).clone()
    }

    /// Returns the global indices of functions, in the order of the requests.
    ///
    /// # Errors
    /// [`PserverError::Limit`].
    pub fn functions(
        &self,
        program: ProgramId,
        requests: &[FunctionRequest],
    ) -> Result<Vec<FuncId>, PserverError> {
        let mut table = self
            .functions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        requests
            .iter()
            .map(|request| table.resolve(program, request))
            .collect()
    }

    /// Adds the contribution of an instance, unless it is a repetition, and returns the models that it lacks.
    ///
    /// # Errors
    /// [`PserverError::NotRegistered`], [`PserverError::UnknownFunction`], [`PserverError::ForeignRank`],
    /// [`PserverError::Limit`]; nothing is added then.
    pub fn sync(&self, request: SyncRequest, now_ms: u64) -> Result<SyncReply, PserverError> {
        if request.epoch != self.options.epoch {
            return Err(PserverError::NotRegistered {
                instance: request.instance,
            });
        }
        self.check(&request.contribution)?;
        let mut contribution = Arc::unwrap_or_clone(request.contribution);
        if self.options.frozen {
            contribution.models.clear();
        }
        let has_steps = !contribution.statistics.steps.is_empty();
        let partial_state = self.partial_state(&request.instance);
        let (included_in, is_full) = {
            let mut held = lock(partial_state);
            let added = held.add(&request.instance, request.part, contribution, now_ms)?;
            (added, held.is_full())
        };
        if has_steps {
            self.exchanges.note_report(now_ms);
        }
        if self.options.fold_on_sync || is_full {
            self.fold();
        }
        let changed = self.models_since(request.cursor);
        let (tree_models, tree_generation) =
            self.tree_models_since(&request.instance, request.tree_generation);
        Ok(SyncReply {
            tree_models,
            tree_generation,
            version: changed.version,
            included_in,
            saved_version: self.saved_version.load(Ordering::Acquire),
            models: changed.models,
            cursor: changed.cursor,
            more: changed.more,
        })
    }

    /// Returns the models that changed since a cursor, as far as one reply can have them.
    pub fn models_since(&self, cursor: Cursor) -> ChangedModels {
        self.published().since(cursor)
    }

    /// Merges all partial states into the global one, in their order, and publishes the models.
    pub fn fold(&self) {
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
    }

    /// Returns the version of the last folded change, unless it is saved.
    pub fn unsaved_version(&self) -> Option<u64> {
        let changed_in = lock(&self.global).changed_in;
        (changed_in > self.saved_version.load(Ordering::Acquire)).then_some(changed_in)
    }

    pub(crate) fn fold_into(&self, global: &mut GlobalState) {
        let next = global.version + 1;
        let mut changed = false;
        // Held until all are taken: the models then have what is before the position, and nothing else.
        let progress = lock(&self.log);
        global.log = progress.clone();
        for partial_state in &self.partial_states {
            let mut contribution = lock(partial_state).take(next, &mut global.sequences);
            if !self.options.joins_incidents {
                contribution.stall_summaries.clear();
            }
            changed |= !contribution.is_empty();
            global.add(contribution, next, &self.function_table());
        }
        drop(progress);
        // Count the version even so: a partial state that was empty when taken is complete up to it.
        global.version = next;
        let published = if changed {
            PublishedModels::of(global)
        } else {
            self.published().at(next, &global.log)
        };
        *self
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(published);
    }

    pub(crate) fn function_table(&self) -> RwLockReadGuard<'_, FunctionTable> {
        self.functions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn published(&self) -> Arc<PublishedModels> {
        let published = self
            .published
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&published)
    }

    fn check(&self, contribution: &Contribution) -> Result<(), PserverError> {
        self.model_kind.check(contribution.models.values())?;
        let table = self.function_table();
        for fid in contribution.fids() {
            if table.get(fid).is_none() {
                return Err(PserverError::UnknownFunction { fid });
            }
        }
        drop(table);
        let counters = &contribution.statistics.counters;
        counters.keys().try_for_each(|key| self.check_counter(key))
    }

    fn check_counter(&self, key: &(ProgramId, String)) -> Result<(), PserverError> {
        let known = self.counters.read().unwrap_or_else(PoisonError::into_inner);
        if known.contains(key) {
            return Ok(());
        }
        drop(known);
        check_name("counter", &key.1, MAX_COUNTER_NAME_BYTES)?;
        let mut known = self
            .counters
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_COUNTERS {
            return Err(PserverError::Limit {
                what: format!("counter {}", key.1),
                limit: MAX_COUNTERS,
                remedy: "record fewer counters",
            });
        }
        known.insert(key.clone());
        Ok(())
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a truncated hash is still a hash"
    )]
    fn partial_state(&self, instance: &str) -> &Mutex<PartialState> {
        let index = fnv1a(instance.as_bytes()) as usize % self.partial_states.len();
        &self.partial_states[index]
    }
}

/// Locks a mutex and ignores poisoning: state left by a thread that panicked under the lock is better than no server.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
