//! The state as a file of exact, versioned JSON. A saved and loaded state is equal bit for bit.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use callgrove_detect::FuncModel;
use callgrove_incidents::IncidentBook;
use callgrove_model::{FuncId, ProgramId, RankId, RunIdentity, StepId, pairs};
use serde::{Deserialize, Serialize};

use super::global::{GlobalState, PacketDelta, VersionedModel};
use super::log_progress::LogProgress;
use super::published_models::PublishedModels;
use super::{ServerState, StateOptions, lock};
use crate::error::PserverError;
use crate::functions::FunctionTable;
use crate::statistics::{RankKey, Statistics};
use crate::trend::TrendBook;

/// Name of the file format.
const FORMAT: &str = "callgrove parameter server";
/// Version of the file.
const VERSION: u32 = 5;

/// A saved state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedGlobalState {
    /// The JSON text. The stalls and messages that ranks reported are in parts of their own; it has their numbers.
    pub json: String,
    /// The part that is new, as a JSON text; `None` if there are no new reports.
    pub new_part: Option<ReportsText>,
    /// The numbers of the parts that a database may have and needs no more once it has this state.
    pub obsolete_parts: Range<u64>,
    /// Version of the global model in it.
    version: u64,
    log: LogProgress,
    parts: Range<u64>,
}

/// Reports of ranks that are saved together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportsText {
    /// The number of the part.
    pub number: u64,
    /// The JSON text.
    pub json: String,
    num_reports: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    model_version: u64,
    run: RunIdentity,
    functions: Vec<(FuncId, ProgramId, String)>,
    models: Vec<(FuncId, FuncModel)>,
    statistics: Statistics,
    #[serde(with = "pairs")]
    metric_ids: BTreeMap<(ProgramId, RankId, FuncId), u64>,
    #[serde(with = "pairs")]
    sequences: BTreeMap<String, u64>,
    incidents: IncidentBook,
    trends: TrendBook,
    #[serde(with = "pairs")]
    learnt: BTreeMap<RankKey, StepId>,
    learnt_in: BTreeMap<ProgramId, u64>,
    ended: BTreeSet<RankKey>,
    #[serde(with = "pairs")]
    judged_in: BTreeMap<RankKey, u64>,
    /// The ranks claimed by instances.
    #[serde(with = "pairs")]
    registered: BTreeMap<RankKey, String>,
    /// The numbers of ranks that recorded runs announce.
    announced: BTreeMap<ProgramId, u32>,
    log: LogProgress,
    /// The groups of instances.
    groups: BTreeMap<String, u32>,
}

impl ServerState {
    /// Returns everything so far, but of the reports only those that came since [`ServerState::confirm_saved`].
    ///
    /// # Errors
    /// [`PserverError::Damaged`] if a number is not finite, which only absurdly large values can cause.
    pub fn save(&self) -> Result<SavedGlobalState, PserverError> {
        let registered = self.ranks_to_save();
        let announced = lock(&self.announced_ranks).clone();
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        let (incidents, new_reports) = global.incidents.begin_save();
        let obsolete_parts = global.incidents.obsolete_parts();
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
            incidents,
            trends: global.trends.clone(),
            learnt: global.learnt.clone(),
            learnt_in: global.learnt_in.clone(),
            ended: global.ended.clone(),
            judged_in: global.judged_in.clone(),
            registered,
            announced,
            log: global.log.clone(),
            groups: lock(&self.groups).clone(),
        };
        drop((global, functions));
        let json = serde_json::to_string(&file).map_err(|error| damaged(&error))?;
        let parts = file.incidents.parts();
        let num_reports = new_reports.reports.len();
        let new_part = if num_reports > 0 {
            let json = serde_json::to_string(&new_reports).map_err(|error| damaged(&error))?;
            Some(ReportsText {
                number: parts.end - 1,
                json,
                num_reports,
            })
        } else {
            None
        };
        Ok(SavedGlobalState {
            json,
            new_part,
            obsolete_parts,
            version: file.model_version,
            log: file.log,
            parts,
        })
    }

    /// Records that a saved state is safe on disk, with its new part: instances no longer keep what is in it.
    pub fn confirm_saved(&self, saved: &SavedGlobalState) {
        let num_reports = saved.new_part.as_ref().map_or(0, |it| it.num_reports);
        lock(&self.global)
            .incidents
            .confirm_save(&saved.parts, num_reports);
        self.saved_version
            .fetch_max(saved.version, Ordering::AcqRel);
        lock(&self.saved_log).clone_from(&saved.log);
    }

    /// Continues from a saved state, as if the server had never stopped. `part` returns the part with a number.
    ///
    /// # Errors
    /// [`PserverError::Damaged`] if the text is not a saved state, or of another version, or does not identify its run,
    /// or a part of it is missing; errors of `part`.
    pub fn restored<E: From<PserverError>>(
        options: StateOptions,
        json: &str,
        mut part: impl FnMut(u64) -> Result<Option<String>, E>,
    ) -> Result<Self, E> {
        let mut file = File::parse(json)?;
        for number in file.incidents.parts() {
            let missing = || damaged(&format!("its part {number} is missing"));
            let json = part(number)?.ok_or_else(missing)?;
            let reports = serde_json::from_str(&json).map_err(|error| damaged(&error))?;
            file.incidents.restore(reports);
        }
        if file.run.is_empty() && !file.statistics.is_empty() {
            return Err(E::from(damaged(&"it does not identify its run")));
        }
        let state = Self::new(options);
        lock(&state.run).clone_from(&file.run);
        *lock(&state.former_ranks) = file.registered;
        *lock(&state.announced_ranks) = file.announced;
        *lock(&state.log) = file.log;
        *lock(&state.groups) = file.groups;
        let counters = file.statistics.counters.keys().cloned().collect();
        *state
            .counters
            .write()
            .unwrap_or_else(PoisonError::into_inner) = counters;
        for (instance, &sequence) in &file.sequences {
            let mut partial_state = lock(state.partial_state(instance));
            partial_state.restore(instance.clone(), sequence, file.model_version);
        }
        for partial_state in &state.partial_states {
            lock(partial_state).start_at(file.model_version);
        }
        state
            .saved_version
            .store(file.model_version, Ordering::Release);
        let mut trends = file.trends;
        // The database may lack those of the last steps.
        trends.invalidate();
        let global = GlobalState {
            version: file.model_version,
            // The first packet has what the former server published, for viewers that connect to this one.
            delta: PacketDelta::all_of(&file.statistics),
            total: file.statistics,
            sequences: file.sequences,
            metric_ids: file.metric_ids,
            incidents: file.incidents,
            trends,
            learnt: file.learnt,
            learnt_in: file.learnt_in,
            ended: file.ended,
            judged_in: file.judged_in,
            ..GlobalState::default()
        };
        state.begin_with(global, file.functions, file.models)?;
        Ok(state)
    }

    /// Starts with the functions and models of a saved state, but without statistics: for another run of the program.
    ///
    /// # Errors
    /// As [`ServerState::restored`].
    pub fn with_models(options: StateOptions, json: &str) -> Result<Self, PserverError> {
        let file = File::parse(json)?;
        let state = Self::new(options);
        // An instance that has nothing is at version 0.
        for partial_state in &state.partial_states {
            lock(partial_state).start_at(1);
        }
        let global = GlobalState {
            version: 1,
            ..GlobalState::default()
        };
        let models = file.models.into_iter();
        let models = models.map(|(fid, model)| (fid, model.for_next_run()));
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
                "it has format `{}`, version {}, not `{FORMAT}`, version {VERSION}",
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
