//! The state with which a parameter server begins: new, loaded from a file, or continued from its database.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use callgrove_provdb::Store;
use callgrove_pserver::{MonotonicClock, Retention, ServerState, StateOptions, TreeModelBook};
use callgrove_server::maintenance::{STATE_NAME, TREE_MODELS_NAME, reports_name};

use crate::error::PipelineError;

/// The settings of a parameter server's initial state.
#[derive(Clone, Debug)]
pub struct InitialStateSettings {
    /// File with the models to begin with.
    pub file: Option<PathBuf>,
    /// True if the loaded models are used unchanged, without learning.
    pub is_frozen: bool,
    /// True if the server ends with its only AD instance, in the same process.
    pub is_of_one_instance: bool,
}

/// Returns the state of a parameter server for a single AD instance without a database. It ends with the instance.
pub fn state_of_one_instance() -> Arc<ServerState> {
    Arc::new(ServerState::new(StateOptions {
        retention: Retention::Process,
        fold_on_sync: true,
        ..StateOptions::default()
    }))
}

/// Returns the initial state: that of this run in the database, that of a saved model, or an empty one. Calls `report`
/// if it continues a run.
///
/// # Errors
/// The file or the database cannot be read, or its content is damaged.
pub fn initial_state(
    settings: &InitialStateSettings,
    store: &mut Option<Box<dyn Store>>,
    clock: &MonotonicClock,
    report: &dyn Fn(&str),
) -> Result<Arc<ServerState>, PipelineError> {
    let is_own = settings.is_of_one_instance;
    let retention = match (is_own, &store) {
        (true, _) => Retention::Process,
        (false, Some(_)) => Retention::Saved,
        (false, None) => Retention::Nothing,
    };
    let options = StateOptions {
        frozen: settings.is_frozen,
        epoch: clock.now_ms(),
        retention,
        fold_on_sync: is_own,
        joins_incidents: store.is_some(),
        ..StateOptions::default()
    };
    if let Some(path) = &settings.file {
        let json = fs::read_to_string(path).map_err(|source| PipelineError::Unreadable {
            source,
            path: path.clone(),
        })?;
        let state = ServerState::with_models(options, &json);
        let state = state.map_err(|source| PipelineError::ModelFile {
            source,
            path: path.clone(),
        })?;
        return Ok(Arc::new(state));
    }
    let fault = "the saved state in the provenance database is damaged";
    let saved = saved_text(store, STATE_NAME, fault)?;
    let is_continued = saved.is_some();
    let state = match saved {
        Some(json) => ServerState::restored(options, &json, |number| {
            saved_text(store, &reports_name(number), fault)
        })?,
        None => ServerState::new(options),
    };
    let fault = "the saved tree models in the provenance database are damaged";
    if let Some(json) = saved_text(store, TREE_MODELS_NAME, fault)? {
        state.restore_tree_models(TreeModelBook::from_json(&json)?);
    }
    let run = state.run();
    if is_continued && !run.is_empty() {
        report(&format!(
            "continuing from the state of {run} in the provenance database"
        ));
    }
    Ok(Arc::new(state))
}

/// Returns a saved state of the database; `fault` is the message if it is not text.
fn saved_text(
    store: &mut Option<Box<dyn Store>>,
    name: &str,
    fault: &'static str,
) -> Result<Option<String>, PipelineError> {
    let saved = match store {
        Some(store) => store.state(name)?,
        None => None,
    };
    let text = saved.map(String::from_utf8).transpose();
    text.map_err(|source| PipelineError::DamagedState { source, fault })
}
