//! The models of a running job, and what publishing another would change.

use callgrove_pserver::TreeModelList;
use serde::{Deserialize, Serialize};

/// The tree models of a running job, as its server told them last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunningModels {
    /// The server.
    pub server: String,
    /// Its models, and which AD instances have them.
    pub list: TreeModelList,
    /// What the learned model would change; none before the first training.
    pub trial: Option<ModelTrial>,
    /// Abnormal executions that the job has recorded and that are not among those open.
    pub num_new_trees: usize,
}

/// What the learned model says of the executions that are open, beside the one in force.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ModelTrial {
    /// Name that it would be published under.
    pub name: String,
    /// The version in force under that name.
    pub in_force: Option<u32>,
    /// Executions that both judged.
    pub num_trees: usize,
    /// Those that the learned model calls abnormal.
    pub num_abnormal: usize,
    /// Those of them that the one in force does not.
    pub num_new: usize,
    /// Those that only the one in force calls abnormal.
    pub num_gone: usize,
    /// Those that are labelled abnormal and would be missed.
    pub num_missed: usize,
}
