//! The tree models of the running job: listed, published and put in force. A change is acknowledged once it is saved.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use callgrove_detect::TreeJudge;
use callgrove_model::count_of;
use callgrove_provdb::{
    Collection, Path, ProvDbError, Query as DocumentQuery, SortKey, TreeRecord,
};
use callgrove_pserver::{
    InstanceModels, ModelInForce, ModelPublication, MonotonicClock, PserverError, ServerState,
    TreeModelList,
};
use callgrove_watch::recorded_forest;
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::state::Api;

/// Maximum size of a request: a model, encoded as a string in JSON.
pub(super) const MAX_BODY_BYTES: usize = 3 * callgrove_pserver::MAX_TREE_MODEL_BYTES;
/// Number of the newest recorded trees among which those are that a model is tried on.
const NUM_TRIED: u64 = 200;

/// Answer of `POST /api/tree-models`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// Number of the new version, which is in force.
    pub version: u32,
}

/// The parameters of `GET /api/tree-model`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelParameters {
    name: String,
    /// Number of the version; `None` selects the version in force.
    version: Option<u32>,
}

/// Answer of `GET /api/tree-model`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelVersion {
    /// Number of the version.
    pub version: u32,
    /// The model file.
    pub model: String,
}

/// `GET /api/tree-models`.
pub(super) async fn list(State(api): State<Api>) -> Result<Json<TreeModelList>, ApiError> {
    let state = &api.tree_models()?.state;
    let (models, generation) = state.tree_models();
    let instances = state.tree_generations().into_iter();
    let instances = instances.map(|(instance, has)| InstanceModels {
        instance,
        is_current: has >= generation,
    });
    Ok(Json(TreeModelList {
        models,
        instances: instances.collect(),
    }))
}

/// `GET /api/tree-model`.
pub(super) async fn one(
    State(api): State<Api>,
    which: Result<Query<ModelParameters>, QueryRejection>,
) -> Result<Json<ModelVersion>, ApiError> {
    let Query(ModelParameters { name, version }) = which.map_err(|error| {
        let message = "request /api/tree-model?name=NAME&version=NUMBER";
        ApiError::bad_request(format!("{}: {message}", error.body_text()))
    })?;
    let found = api.tree_models()?.state.tree_model(&name, version);
    let (version, model) = found.map_err(|error| refusal(&error))?;
    Ok(Json(ModelVersion { version, model }))
}

/// `POST /api/tree-models`.
pub(super) async fn publish(
    State(api): State<Api>,
    publication: Result<Json<ModelPublication>, JsonRejection>,
) -> Result<Json<Published>, ApiError> {
    let registry = api.tree_models()?;
    let Json(publication) = publication.map_err(|error| unreadable(&error))?;
    let (reader, state) = (Arc::clone(&registry.reader), Arc::clone(&registry.state));
    let recorded = newest_trees(&api).await?;
    // Reading a large model takes long enough to delay other requests.
    let published = tokio::task::spawn_blocking(move || {
        let invalid = |cause| PserverError::UnfitTreeModel {
            name: publication.name.clone(),
            cause,
        };
        let judge = reader.read(publication.model.as_bytes()).map_err(invalid)?;
        check_fit(&*judge, &state).map_err(invalid)?;
        try_out(&*judge, &recorded, &state).map_err(invalid)?;
        let time_us = MonotonicClock::new().now_ms() * 1000;
        state.publish_tree_model(&publication, judge.functions(), time_us)
    });
    let published = published.await.map_err(|error| ApiError::defect(&error))?;
    let (version, generation) = published.map_err(|error| refusal(&error))?;
    registry.wait_until_saved(generation).await?;
    Ok(Json(Published { version }))
}

/// `POST /api/tree-models/in-force`.
pub(super) async fn put_in_force(
    State(api): State<Api>,
    wanted: Result<Json<ModelInForce>, JsonRejection>,
) -> Result<Json<ModelInForce>, ApiError> {
    let registry = api.tree_models()?;
    let Json(ModelInForce { name, version }) = wanted.map_err(|error| unreadable(&error))?;
    let changed = registry.state.put_tree_model_in_force(&name, version);
    let (before, generation) = changed.map_err(|error| refusal(&error))?;
    registry.wait_until_saved(generation).await?;
    Ok(Json(ModelInForce {
        name,
        version: before,
    }))
}

/// Checks that a model was trained on the program of the run, and for functions that the run calls.
fn check_fit(judge: &dyn TreeJudge, state: &ServerState) -> Result<(), String> {
    let (run, own) = (state.run(), judge.programs());
    let programs = run.executables();
    let is_known = !own.is_empty() && !programs.is_empty();
    if is_known && !own.iter().any(|name| programs.contains(name.as_str())) {
        let programs: Vec<&str> = programs.into_iter().collect();
        return Err(format!(
            "it was trained on the program {}, and this is a run of {}",
            own.join(", "),
            programs.join(", ")
        ));
    }
    if state.lacks_all(judge.functions()) {
        let functions = judge.functions().join(", ");
        return Err(format!("the run has called no function {functions} so far"));
    }
    Ok(())
}

/// Returns the newest trees that the job has recorded; none without a database.
async fn newest_trees(api: &Api) -> Result<Vec<TreeRecord>, ApiError> {
    let Some(documents) = &api.documents else {
        return Ok(Vec::new());
    };
    let found = documents.ask(std::future::pending(), |store| {
        let newest = DocumentQuery {
            sort: Some(SortKey {
                path: Path::parse("entry")?,
                is_descending: true,
            }),
            limit: Some(NUM_TRIED),
            ..DocumentQuery::all(Collection::Trees)
        };
        match store.find(&newest) {
            Err(ProvDbError::Missing(_)) => Ok(Vec::new()),
            found => found,
        }
    });
    let documents = found.await?.into_iter();
    // A record that cannot be read is of no use here.
    Ok(documents
        .filter_map(|json| serde_json::from_str(&json).ok())
        .collect())
}

/// Checks that a model can judge and explain recorded trees of its functions, if there are any.
fn try_out(
    judge: &dyn TreeJudge,
    recorded: &[TreeRecord],
    state: &ServerState,
) -> Result<(), String> {
    let is_judged = |record: &&TreeRecord| judge.functions().iter().any(|it| **it == *record.func);
    let own: Vec<TreeRecord> = recorded.iter().filter(is_judged).cloned().collect();
    let (forest, _) = recorded_forest(&own, state.run());
    if forest.is_empty() {
        return Ok(());
    }
    let tried = judge.judge(&forest).and_then(|_| judge.reasons(&forest));
    tried.map(drop).map_err(|cause| {
        let number = count_of(forest.len(), "recorded execution");
        format!("it fails on {number}: {cause}")
    })
}

fn unreadable(error: &JsonRejection) -> ApiError {
    ApiError::new(error.status(), error.body_text())
}

fn refusal(error: &PserverError) -> ApiError {
    let status = match error {
        PserverError::UnknownTreeModel { .. } => StatusCode::NOT_FOUND,
        PserverError::Limit { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        PserverError::RunIsOver => StatusCode::CONFLICT,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    ApiError::new(status, error.to_string())
}
