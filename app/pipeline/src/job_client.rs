//! A client of a running job: its tree models, and the trees that it has recorded.

use callgrove_model::{ProgramId, Trace};
use callgrove_provdb::{Collection, TreeRecord};
use callgrove_server::api::MAX_LIMIT;
use callgrove_server::client::{Client, ClientError};
use callgrove_session::{
    EventKey, HostError, ModelInForce, ModelPublication, RunningJob, TreeModelList,
};
use callgrove_watch::{DocumentsRequest, recorded_forest};

use crate::error::PipelineError;
use crate::server_access::ServerAccess;

/// Maximum number of recorded trees that are read; the newest come first.
const MAX_RECORDED: usize = 20_000;

/// A running job, accessed through the client of its server.
pub struct JobClient(pub Client);

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
///
/// # Errors
/// The server cannot be reached, or a record is damaged.
pub fn recorded_trees(
    client: &Client,
    filter: Option<&str>,
) -> Result<Vec<TreeRecord>, PipelineError> {
    let mut records = Vec::new();
    while records.len() < MAX_RECORDED {
        let page = client.documents(&newest_trees(filter, records.len() as u64))?;
        if page.is_empty() {
            break;
        }
        for document in page {
            records.push(serde_json::from_value(document).map_err(PipelineError::DamagedTree)?);
        }
    }
    Ok(records)
}

/// Returns the trees that a job has recorded as a trace, which has no other content, and the number of trees that are
/// left out: too large to be stored, or damaged.
///
/// # Errors
/// As [`recorded_trees`], and if the job has recorded no trees.
pub fn recorded_trace(
    access: &ServerAccess,
    address: &str,
) -> Result<(Trace, usize), PipelineError> {
    let client = access.client(address, None)?;
    let run = client.overview().map(|answer| answer.overview.run.clone());
    let records = recorded_trees(&client, None)?;
    let (forest, num_left_out) = recorded_forest(&records, run.unwrap_or_default());
    if forest.is_empty() {
        return Err(PipelineError::NoTrees {
            address: address.to_owned(),
        });
    }
    Ok((Trace::clone(forest.trace()), num_left_out))
}
