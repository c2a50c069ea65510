//! Tree models for the pipeline: implements the detectors' interface with the learning code.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use callgrove_detect::{TreeJudge, TreeModelReader, TreeVerdict};
use callgrove_model::{Forest, ProgramId, Progress, Reason, Trace, TreeIdx};
use callgrove_provdb::{Collection, TreeRecord};
use callgrove_pserver::ServerState;
use callgrove_server::api::{MAX_LIMIT, TreeModelRegistry};
use callgrove_server::client::{Client, ClientError};
use callgrove_session::watch::{DocumentsRequest, recorded_forest};
use callgrove_session::{
    EventKey, Explainer, HostError, ModelInForce, ModelPublication, RunningJob, SavedModel,
    TreeModelList,
};

use crate::follow::ServerAccess;
use crate::output::warn;

/// Maximum number of recorded trees that are read; the newest come first.
const MAX_RECORDED: usize = 20_000;

/// A reader of the model files that `analyze --save-model` and the window write.
#[derive(Debug)]
pub(crate) struct ModelFileReader;

/// A model that was read.
#[derive(Debug)]
struct Judge(SavedModel);

impl TreeModelReader for ModelFileReader {
    fn read(&self, bytes: &[u8]) -> std::result::Result<Arc<dyn TreeJudge>, String> {
        let model = SavedModel::read(bytes).map_err(|error| error.to_string())?;
        Ok(Arc::new(Judge(model)))
    }
}

impl TreeJudge for Judge {
    fn functions(&self) -> &[String] {
        self.0.functions()
    }

    fn programs(&self) -> &[String] {
        &self.0.tree_model().artifact().programs
    }

    fn false_discovery_rate(&self) -> f64 {
        self.0.false_discovery_rate()
    }

    fn abnormal_share(&self) -> f64 {
        let training = self.0.tree_model().artifact();
        training.num_abnormal as f64 / training.num_trees.max(1) as f64
    }

    fn judge(&self, forest: &Forest) -> std::result::Result<Vec<TreeVerdict>, String> {
        self.0.verdicts(forest).map_err(|error| error.to_string())
    }

    fn reasons(&self, forest: &Forest) -> std::result::Result<Vec<Vec<Reason>>, String> {
        let explainer = Explainer::of_model(&self.0, forest, Progress::none());
        let explainer = explainer.map_err(|error| error.to_string())?;
        let trees = (0..forest.len()).map(TreeIdx::from_index);
        Ok(trees.map(|tree| explainer.reasons(tree)).collect())
    }
}

/// Reads the model of a file.
pub(crate) fn read_model(path: &Path) -> Result<SavedModel> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    SavedModel::read(&bytes).with_context(|| format!("cannot use the model {}", path.display()))
}

/// A running job, accessed through the client of its server.
pub(crate) struct JobClient(pub(crate) Client);

impl RunningJob for JobClient {
    fn tree_models(&mut self) -> Result<TreeModelList, HostError> {
        self.0.tree_models().map_err(|error| failed(&error))
    }

    fn abnormal_trees(&mut self, function: &str) -> Result<Vec<EventKey>, HostError> {
        let quoted = function.replace('\'', "''");
        let filter = format!("func = '{quoted}' and judged.is_anomaly = true");
        let found = self.0.documents(&newest_trees(Some(&filter), 0));
        let key = |document: &serde_json::Value| {
            let program = u32::try_from(document["pid"].as_u64()?).ok()?;
            EventKey::parse(ProgramId(program), document["event_id"].as_str()?)
        };
        let found = found.map_err(|error| failed(&error))?;
        Ok(found.iter().filter_map(key).collect())
    }

    fn tree_model(&mut self, name: &str, version: u32) -> Result<String, HostError> {
        let found = self.0.tree_model(name, Some(version));
        Ok(found.map_err(|error| failed(&error))?.model)
    }

    fn publish(&mut self, publication: &ModelPublication) -> Result<u32, HostError> {
        self.0
            .publish_tree_model(publication)
            .map_err(|error| failed(&error))
    }

    fn put_in_force(&mut self, wanted: &ModelInForce) -> Result<(), HostError> {
        let before = self.0.put_in_force(wanted);
        before.map(|_| ()).map_err(|error| failed(&error))
    }
}

fn failed(error: &ClientError) -> HostError {
    HostError::Failed(error.to_string())
}

/// Returns a request for recorded trees, the newest first.
fn newest_trees(filter: Option<&str>, offset: u64) -> DocumentsRequest {
    DocumentsRequest {
        collection: Collection::Trees,
        filter: filter.map(str::to_owned),
        sort: Some("entry".to_owned()),
        is_descending: true,
        limit: MAX_LIMIT,
        offset,
    }
}

/// Returns the newest trees that a job has recorded, of all functions or those that match `filter`.
pub(crate) fn recorded_trees(client: &Client, filter: Option<&str>) -> Result<Vec<TreeRecord>> {
    let mut records = Vec::new();
    while records.len() < MAX_RECORDED {
        let page = client.documents(&newest_trees(filter, records.len() as u64))?;
        if page.is_empty() {
            break;
        }
        for document in page {
            records.push(serde_json::from_value(document).context("a recorded tree is damaged")?);
        }
    }
    Ok(records)
}

/// Returns the trees that a job has recorded as a trace, which has no other content.
pub(crate) fn recorded_trace(access: &ServerAccess, address: &str) -> Result<Trace> {
    let client = access.client(address, None)?;
    let run = client.overview().map(|answer| answer.overview.run.clone());
    let records = recorded_trees(&client, None)?;
    let (forest, num_left_out) = recorded_forest(&records, run.unwrap_or_default());
    ensure!(
        !forest.is_empty(),
        "{address} has recorded no trees yet: start its `callgrove ad` or `callgrove run` with --trees"
    );
    if num_left_out > 0 {
        warn(&format!(
            "{num_left_out} recorded trees are left out: too large to be stored, or damaged"
        ));
    }
    Ok(Trace::clone(forest.trace()))
}

/// Returns the tree models of a parameter server in this process.
pub(crate) fn registry(state: &Arc<ServerState>, is_kept: bool) -> TreeModelRegistry {
    TreeModelRegistry {
        state: Arc::clone(state),
        reader: Arc::new(ModelFileReader),
        is_kept,
    }
}
