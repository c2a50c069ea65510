//! The part of a snapshot that concerns the model.

use std::sync::Arc;

use callgrove_edits::ModelSettings;
use callgrove_judge::active::{Doubt, QueryStrategy};
use callgrove_model::TreeIdx;
use serde::{Deserialize, Serialize};

use crate::model::RunningModels;
use crate::question::{ModelQuestion, TrainingQuestion};

/// The settings of the model, the questions that it asks the user, and the models of a running job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ModelSnapshot {
    /// Settings of the model.
    pub settings: ModelSettings,
    /// Its default settings.
    pub default_settings: ModelSettings,
    /// True if the model is trained after every label.
    pub auto_train: bool,
    /// The training that waits for an answer ([`crate::Command::Answer`]). The scores are those before it.
    pub question: Option<Arc<TrainingQuestion>>,
    /// The model file that waits for an answer ([`crate::Command::AnswerModel`]) because it does not fit.
    pub misfit: Option<Arc<ModelQuestion>>,
    /// Strategy that chooses the next tree to label.
    pub query: QueryStrategy,
    /// The next trees to label, by `query`; empty while scores come from a model file.
    pub queue: Arc<[TreeIdx]>,
    /// Labels that disagree with their neighbourhood, the most doubtful first.
    pub doubts: Arc<[Doubt]>,
    /// The models of a running job, as fetched last.
    pub running_models: Option<Arc<RunningModels>>,
}

impl ModelSnapshot {
    /// Removes what concerns the trees of a forest.
    pub(crate) fn leave_forest(&mut self) {
        self.question = None;
        self.misfit = None;
        self.queue = Arc::new([]);
        self.doubts = Arc::new([]);
    }
}
