//! Model files: tested before they are journalled; the user is asked about files that do not fit.

use std::sync::Arc;

use callgrove_edits::{Edit, ModelFile, ModelUse};
use callgrove_judge::detector::Misfit;
use callgrove_model::{Forest, Progress};

use super::Engine;
use super::error::CommandError;
use super::executor::Executor;
use crate::learning::{LearningError, SavedModel, TreeScores};
use crate::question::{ModelAnswer, ModelQuestion};
use crate::snapshot::{Detection, Severity};

impl Executor {
    /// Scores a forest with a model file, as far as it may be used.
    pub(super) fn score_with(
        &mut self,
        file: &ModelFile,
        forest: &Forest,
    ) -> Result<TreeScores, CommandError> {
        let model = self.read_model(&file.path)?;
        match judge(&model, file, forest)? {
            (_, Some(misfit)) if file.fit == ModelUse::AsMade => {
                Err(in_file(&LearningError::Misfit(misfit), &file.path))
            }
            (tree_scores, _) => Ok(tree_scores),
        }
    }

    fn read_model(&mut self, path: &str) -> Result<SavedModel, CommandError> {
        let bytes = self.host.read_file(path)?;
        SavedModel::read(&bytes).map_err(|cause| in_file(&cause, path))
    }
}

impl Engine {
    /// Loads a model file. It is tested before it is journalled, so that an invalid one changes nothing. If it does not
    /// fit, asks the user.
    pub(super) fn load_model(&mut self, path: &str) -> Result<(), CommandError> {
        self.executor.publisher.view.model.misfit = None;
        let (_, embedded) = self.state.forest()?;
        let model = self.executor.read_model(path)?;
        let (forest, file) = (embedded.forest(), ModelFile::as_made(path.to_owned()));
        let (tree_scores, misfit) = judge(&model, &file, forest)?;
        if let Some(misfit) = misfit {
            let fit = ModelUse::Refitted;
            let (refitted, _) = judge(&model, &ModelFile { fit, ..file }, forest)?;
            self.executor.publisher.view.model.misfit = Some(Arc::new(ModelQuestion {
                path: path.to_owned(),
                origin: model.origin(),
                misfit,
                num_trees: forest.len(),
                num_abnormal: Detection::new(tree_scores, None).num_abnormal,
                num_abnormal_refitted: Detection::new(refitted, None).num_abnormal,
            }));
            return Ok(());
        }
        self.edit(Edit::LoadModel(path.to_owned()))?;
        self.report_scores_of(path);
        Ok(())
    }

    /// Answers the question about a model file; does nothing without an open question.
    pub(super) fn answer_model(&mut self, answer: ModelAnswer) -> Result<(), CommandError> {
        let Some(question) = self.executor.publisher.view.model.misfit.take() else {
            return Ok(());
        };
        let fit = match answer {
            ModelAnswer::UseAnyway => ModelUse::Anyway,
            ModelAnswer::Refit => ModelUse::Refitted,
            ModelAnswer::Cancel => return Ok(()),
        };
        let path = question.path.clone();
        // The file may have changed or disappeared since the question.
        let file = ModelFile { path, fit };
        let (_, embedded) = self.state.forest()?;
        let model = self.executor.read_model(&file.path)?;
        let (_, misfit) = judge(&model, &file, embedded.forest())?;
        self.edit(Edit::UseModel(file))?;
        self.report_scores_of(&question.path);
        if let Some(misfit) = misfit {
            let text = format!("The model does not fit: {misfit}.");
            self.executor.notice(Severity::Warning, text);
        }
        Ok(())
    }

    fn report_scores_of(&mut self, path: &str) {
        let text = format!("Scores are now those of {path}; train to go back to your own model.");
        self.executor.notice(Severity::Info, text);
    }
}

/// Returns the result of a model for a forest, and why the model should not be used for it, if so.
fn judge(
    model: &SavedModel,
    file: &ModelFile,
    forest: &Forest,
) -> Result<(TreeScores, Option<Misfit>), CommandError> {
    let is_refitted = file.fit == ModelUse::Refitted;
    let tree_scores = model.judge(forest, is_refitted, Progress::none());
    let tree_scores = tree_scores.map(|found| (found.tree_scores, found.misfit));
    tree_scores.map_err(|cause| in_file(&cause, &file.path))
}

fn in_file(cause: &LearningError, path: &str) -> CommandError {
    CommandError::File {
        cause: cause.to_string(),
        path: path.to_owned(),
    }
}
