//! The state as a file: exact, versioned JSON. Loading what was saved gives the same bits again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use callgrove_detect::FuncModel;
use callgrove_model::{FuncId, ProgramId, RankId, RunIdentity, StepId};
use serde::{Deserialize, Serialize};

use super::global::{GlobalState, VersionedModel};
use super::published_models::PublishedModels;
use super::{ServerState, StateOptions, lock};
use crate::PserverError;
use crate::functions::FunctionTable;
use crate::incident::IncidentBook;
use crate::statistics::{RankKey, Statistics, pairs};
use crate::trend::TrendBook;

/// What the file calls itself.
const FORMAT: &str = "callgrove parameter server";
/// Version of the file.
const VERSION: u32 = 1;

/// A saved state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedGlobalState {
    /// The file.
    pub json: String,
    /// Version of the global model in it, for [`ServerState::confirm_saved`].
    pub version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    model_version: u64,
    /// Earlier releases did not save it.
    #[serde(default)]
    run: RunIdentity,
    functions: Vec<(FuncId, ProgramId, String)>,
    models: Vec<(FuncId, FuncModel)>,
    statistics: Statistics,
    #[serde(with = "pairs")]
    metric_ids: BTreeMap<(ProgramId, RankId, FuncId), u64>,
    #[serde(with = "pairs")]
    sequences: BTreeMap<String, u64>,
    /// Earlier releases had none.
    #[serde(default)]
    incidents: IncidentBook,
    /// Earlier releases had none.
    #[serde(default)]
    trends: TrendBook,
    /// Earlier releases did not say.
    #[serde(default, with = "pairs")]
    learnt: BTreeMap<RankKey, StepId>,
    /// Earlier releases knew nothing of complete models.
    #[serde(default)]
    learnt_in: BTreeMap<ProgramId, u64>,
    #[serde(default)]
    ended: BTreeSet<RankKey>,
    #[serde(default, with = "pairs")]
    judged_in: BTreeMap<RankKey, u64>,
    /// The ranks that instances had. Earlier releases did not save them.
    #[serde(default)]
    registered: BTreeSet<RankKey>,
    /// The numbers of ranks that recorded runs state. Earlier releases did not save them.
    #[serde(default)]
    announced: BTreeMap<ProgramId, u32>,
}

impl ServerState {
    /// Everything up to now.
    ///
    /// # Errors
    /// [`PserverError::Damaged`] if a number is not finite, which only values beyond all measure can cause.
    pub fn save(&self) -> Result<SavedGlobalState, PserverError> {
        let registered = self.ranks_to_save();
        let announced = lock(&self.announced_ranks).clone();
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        let functions = self.function_table();
        let models = global.models.iter();
        let file = File {
            format: FORMAT.to_owned(),
            version: VERSION,
            model_version: global.version,
            run: self.run(),
            functions: functions
                .iter()
                .map(|(fid, program, name)| (fid, program, name.to_owned()))
                .collect(),
            models: models
                .map(|(&fid, versioned)| (fid, FuncModel::clone(&versioned.model)))
                .collect(),
            statistics: global.total.clone(),
            metric_ids: global.metric_ids.clone(),
            sequences: global.sequences.clone(),
            incidents: global.incidents.clone(),
            trends: global.trends.clone(),
            learnt: global.learnt.clone(),
            learnt_in: global.learnt_in.clone(),
            ended: global.ended.clone(),
            judged_in: global.judged_in.clone(),
            registered,
            announced,
        };
        drop((global, functions));
        let json = serde_json::to_string(&file).map_err(|error| damaged(&error))?;
        Ok(SavedGlobalState {
            json,
            version: file.model_version,
        })
    }

    /// Tells that a saved state is safe on disk: instances no longer keep what is in it.
    pub fn confirm_saved(&self, version: u64) {
        self.saved_version.fetch_max(version, Ordering::AcqRel);
    }

    /// Goes on from a saved state, as if the server had never ended.
    ///
    /// # Errors
    /// [`PserverError::Damaged`] if this is no saved state, one of another version, or of a run that it does not name.
    pub fn restored(options: StateOptions, json: &str) -> Result<Self, PserverError> {
        let file = File::parse(json)?;
        if file.run.is_empty() && !file.statistics.is_empty() {
            return Err(PserverError::Damaged {
                what: "the saved state of the parameter server",
                cause: "it does not say of which run it is, for an earlier release saved it"
                    .to_owned(),
                remedy: "name another provenance database, or begin with its models alone",
            });
        }
        let state = Self::new(options);
        lock(&state.run).clone_from(&file.run);
        *lock(&state.former_ranks) = file.registered;
        *lock(&state.announced_ranks) = file.announced;
        let counters = file.statistics.counters.keys().cloned().collect();
        *state
            .counters
            .write()
            .unwrap_or_else(PoisonError::into_inner) = counters;
        for (instance, &sequence) in &file.sequences {
            lock(state.partial_state(instance)).restore(instance.clone(), sequence);
        }
        for partial_state in &state.partial_states {
            lock(partial_state).start_at(file.model_version);
        }
        state.confirm_saved(file.model_version);
        let global = GlobalState {
            version: file.model_version,
            total: file.statistics,
            sequences: file.sequences,
            metric_ids: file.metric_ids,
            incidents: file.incidents,
            trends: file.trends,
            learnt: file.learnt,
            learnt_in: file.learnt_in,
            ended: file.ended,
            judged_in: file.judged_in,
            ..GlobalState::default()
        };
        state.begin_with(global, file.functions, file.models)?;
        Ok(state)
    }

    /// Begins with the functions and models of a saved state, but with no statistics: for another run of the program.
    ///
    /// # Errors
    /// As [`ServerState::restored`].
    pub fn with_models(options: StateOptions, json: &str) -> Result<Self, PserverError> {
        let file = File::parse(json)?;
        let state = Self::new(options);
        // Version 0 is what an instance has that has nothing.
        for partial_state in &state.partial_states {
            lock(partial_state).start_at(1);
        }
        let global = GlobalState {
            version: 1,
            ..GlobalState::default()
        };
        let models = file.models.into_iter();
        let models = models.map(|(fid, model)| (fid, model.before_the_run()));
        state.begin_with(global, file.functions, models.collect())?;
        Ok(state)
    }

    fn begin_with(
        &self,
        mut global: GlobalState,
        functions: Vec<(FuncId, ProgramId, String)>,
        models: Vec<(FuncId, FuncModel)>,
    ) -> Result<(), PserverError> {
        let mut table = FunctionTable::default();
        for (fid, program, name) in functions {
            if !table.insert(fid, program, name) {
                return Err(damaged(&format!("function {fid} occurs twice")));
            }
        }
        let of_models = models.iter().map(|(fid, _)| *fid);
        let of_profiles = global.total.functions.keys().copied();
        let of_metrics = global.total.metrics.keys().map(|key| key.2);
        if let Some(fid) = of_models
            .chain(of_profiles)
            .chain(of_metrics)
            .find(|&fid| table.get(fid).is_none())
        {
            return Err(damaged(&format!("function {fid} has no name")));
        }
        self.model_kind
            .check(models.iter().map(|(_, model)| model))?;
        let version = global.version;
        global.models = models
            .into_iter()
            .map(|(fid, model)| (fid, VersionedModel::new(version, model)))
            .collect();
        *self
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(PublishedModels::of(&global));
        *self
            .functions
            .write()
            .unwrap_or_else(PoisonError::into_inner) = table;
        let mut present: MutexGuard<'_, GlobalState> = lock(&self.global);
        *present = global;
        Ok(())
    }
}

impl File {
    fn parse(json: &str) -> Result<Self, PserverError> {
        #[derive(Deserialize)]
        struct Header {
            format: String,
            version: u32,
        }
        let header: Header = serde_json::from_str(json).map_err(|error| damaged(&error))?;
        if header.format != FORMAT || header.version != VERSION {
            return Err(damaged(&format!(
                "it is of format `{}`, version {}, not `{FORMAT}`, version {VERSION}",
                header.format, header.version
            )));
        }
        serde_json::from_str(json).map_err(|error| damaged(&error))
    }
}

fn damaged(cause: &impl ToString) -> PserverError {
    PserverError::Damaged {
        what: "the saved state of the parameter server",
        cause: cause.to_string(),
        remedy: "load a state that this version saved, or begin without",
    }
}
