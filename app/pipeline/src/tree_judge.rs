//! The judge of trees that an AD instance uses: the interface of the detectors, implemented with the learning code.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use callgrove_detect::{TreeJudge, TreeModelReader, TreeVerdict};
use callgrove_model::{Forest, Progress, Reason, TreeIdx};
use callgrove_pserver::ServerState;
use callgrove_server::api::TreeModelRegistry;
use callgrove_session::{Explainer, SavedModel};

use crate::error::PipelineError;

/// A reader of the model files that `analyze --save-model` and the window write.
#[derive(Debug)]
pub struct ModelFileReader;

/// A model that was read.
#[derive(Debug)]
struct Judge(SavedModel);

impl TreeModelReader for ModelFileReader {
    fn read(&self, bytes: &[u8]) -> Result<Arc<dyn TreeJudge>, String> {
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

    fn judge(&self, forest: &Forest) -> Result<Vec<TreeVerdict>, String> {
        self.0.verdicts(forest).map_err(|error| error.to_string())
    }

    fn reasons(&self, forest: &Forest) -> Result<Vec<Vec<Reason>>, String> {
        let explainer = Explainer::of_model(&self.0, forest, Progress::none());
        let explainer = explainer.map_err(|error| error.to_string())?;
        let trees = (0..forest.len()).map(TreeIdx::from_index);
        Ok(trees.map(|tree| explainer.reasons(tree)).collect())
    }
}

/// Reads the tree model of a file.
///
/// # Errors
/// The file cannot be read, or holds no tree model.
pub fn read_tree_model(path: &Path) -> Result<SavedModel, PipelineError> {
    let bytes = fs::read(path).map_err(|source| PipelineError::Unreadable {
        source,
        path: path.to_owned(),
    })?;
    SavedModel::read(&bytes).map_err(|source| PipelineError::TreeModelFile {
        source,
        path: path.to_owned(),
    })
}

/// Returns the tree models of a parameter server in this process. `is_kept`: a database stores them.
pub fn tree_model_registry(state: &Arc<ServerState>, is_kept: bool) -> TreeModelRegistry {
    TreeModelRegistry {
        state: Arc::clone(state),
        reader: Arc::new(ModelFileReader),
        is_kept,
    }
}
