//! The state of the server, without any network: what instances add goes to one of several partial states, which are
//! folded into the global one now and then.
//!
//! ```text
//! sync ─ partial state 0 ─┐
//! sync ─ partial state 1 ─┼─ fold (about once a second) ─ global ─┬─ published models ─ answers to sync
//! sync ─ partial state 2 ─┘                                       └─ packets, documents, incidents, trends, saved state
//! ```
//!
//! An instance always goes to the same partial state, so its requests are counted where they are merged. No lock is taken by
//! all instances except to read the pointer of the published models and the table of functions; whoever
//! writes these does so in a moment.

mod exchange_counters;
pub(crate) mod global;
mod global_documents;
mod incident_documents;
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
pub use saved_state::SavedGlobalState;
pub use tally::{ProgramTally, RunTally};

use crate::contribution::ModelKind;
use crate::functions::{FunctionRequest, FunctionTable, check_name};
use crate::protocol::{Retention, SyncReply, SyncRequest};
use crate::statistics::RankKey;
use crate::tree_model_book::SharedTreeModels;
use crate::{Contribution, PserverError};
use exchange_counters::ExchangeCounters;
use global::GlobalState;
use partial::PartialState;
use published_models::PublishedModels;

/// Most counters of a run.
const MAX_COUNTERS: usize = 1 << 16;

/// How a server works.
#[derive(Clone, Debug)]
pub struct StateOptions {
    /// Partial states; 1 to 1,024. As many as there are cores is enough.
    pub num_workers: usize,
    /// Parameters of the detector for all instances.
    pub params: Option<Params>,
    /// The models take no data.
    pub frozen: bool,
    /// Shards of the provenance database, for the instances.
    pub num_shards: Option<u32>,
    /// A number that no other life of this server has, for example the time.
    pub epoch: u64,
    /// What survives a restart.
    pub retention: Retention,
    /// Fold on every request: the published model is never old, at the cost of a lock that all share. For one process.
    pub fold_on_sync: bool,
    /// Join anomalies to incidents. Without a database, nobody takes them.
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

/// The state of a server; all methods may be called by many threads at once. Times are milliseconds of any
/// clock that never jumps.
#[derive(Debug)]
pub struct ServerState {
    options: StateOptions,
    partial_states: Vec<Mutex<PartialState>>,
    /// The run that all this is of: the first instance says which.
    run: Mutex<RunIdentity>,
    claims: Mutex<BTreeMap<RankKey, String>>,
    /// The ranks that instances had before a restart, until an instance has them again.
    former_ranks: Mutex<BTreeSet<RankKey>>,
    /// Ranks have come or gone, or their number was stated, since the state was saved.
    has_unsaved_ranks: AtomicBool,
    functions: RwLock<FunctionTable>,
    counters: RwLock<BTreeSet<(ProgramId, String)>>,
    pub(crate) global: Mutex<GlobalState>,
    published: RwLock<Arc<PublishedModels>>,
    saved_version: AtomicU64,
    model_kind: ModelKind,
    tree_models: SharedTreeModels,
    exchanges: ExchangeCounters,
    /// The numbers of ranks that recorded runs state.
    announced_ranks: Mutex<BTreeMap<ProgramId, u32>>,
}

impl ServerState {
    /// Without any data.
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
            model_kind: ModelKind::default(),
            tree_models: SharedTreeModels::default(),
            exchanges: ExchangeCounters::default(),
            announced_ranks: Mutex::default(),
            options,
        }
    }

    /// How it works.
    pub fn options(&self) -> &StateOptions {
        &self.options
    }

    /// The run that it serves; empty before the first instance.
    pub fn run(&self) -> RunIdentity {
        lock(&self.run).clone()
    }

    /// The global indices of functions, in order of the requests.
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

    /// Adds what an instance brings, unless it is a repetition, and answers with the models that it lacks.
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
        let included_in =
            lock(partial_state).add(&request.instance, request.sequence, contribution, now_ms)?;
        if has_steps {
            self.exchanges.note_report(now_ms);
        }
        if self.options.fold_on_sync {
            self.fold();
        }
        let published = self.published();
        let (models, cursor, more) = published.since(request.cursor);
        let (tree_models, tree_generation) =
            self.tree_models_since(&request.instance, request.tree_generation);
        Ok(SyncReply {
            tree_models,
            tree_generation,
            version: published.version,
            included_in,
            saved_version: self.saved_version.load(Ordering::Acquire),
            models,
            cursor,
            more,
        })
    }

    /// Merges all partial states into the global one, in their order, and publishes the models.
    pub fn fold(&self) {
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
    }

    /// The version in which anything came last, if that is not saved; as far as it is folded.
    pub fn unsaved_version(&self) -> Option<u64> {
        let changed_in = lock(&self.global).changed_in;
        (changed_in > self.saved_version.load(Ordering::Acquire)).then_some(changed_in)
    }

    pub(crate) fn fold_into(&self, global: &mut GlobalState) {
        let next = global.version + 1;
        let mut changed = false;
        for partial_state in &self.partial_states {
            let mut contribution = lock(partial_state).take(next, &mut global.sequences);
            if !self.options.joins_incidents {
                contribution.briefs.clear();
            }
            changed |= !contribution.is_empty();
            global.add(contribution, next, &self.function_table());
        }
        // The version counts in any case: a partial taken while empty is complete up to it.
        global.version = next;
        let published = if changed {
            PublishedModels::of(global)
        } else {
            self.published().at(next)
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
        reason = "a part of a hash is one as well"
    )]
    fn partial_state(&self, instance: &str) -> &Mutex<PartialState> {
        let index = fnv1a(instance.as_bytes()) as usize % self.partial_states.len();
        &self.partial_states[index]
    }
}

/// The data behind a lock. A thread that panicked while it held the lock left nothing half done that
/// would be worse than no server at all.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
