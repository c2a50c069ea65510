//! The models of a running job, and the effect of publishing another.

use callgrove_pserver::TreeModelList;
use serde::{Deserialize, Serialize};

/// The tree models of a running job, as its server reported them last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunningModels {
    /// Address of the server.
    pub server: String,
    /// Its models, and which AD instances have them.
    pub list: TreeModelList,
    /// Changes that the trained model would make; `None` before the first training.
    pub trial: Option<ModelTrial>,
    /// Number of abnormal executions that the job has recorded and that are not open.
    pub num_new_trees: usize,
}

/// Comparison of the trained model with the active one on the open executions.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ModelTrial {
    /// Name under which it would be published.
    pub name: String,
    /// The active version of that name.
    pub in_force: Option<u32>,
    /// Number of executions that both scored.
    pub num_trees: usize,
    /// Number of executions that the trained model calls abnormal.
    pub num_abnormal: usize,
    /// Number of these that the active model does not call abnormal.
    pub num_new: usize,
    /// Number of executions that only the active model calls abnormal.
    pub num_gone: usize,
    /// Number of executions that are labelled abnormal and that the trained model would miss.
    pub num_missed: usize,
}
