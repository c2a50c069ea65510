//! Asking before a training that moves many executions takes effect.
//!
//! Such a training is tried out beside the model that is shown. The history then says that its labels wait
//! ([`HistoryStep::Ask`]), and so they wait after a crash, after undo and in a saved session as well. What is
//! asked about is always all that waits, against the scores that are shown.

use std::sync::Arc;

use callgrove_model::{Label, Progress, TreeIdx};

use super::Engine;
use super::executor::Executor;
use super::grown::{Grown, Scored};
use super::notebook::Notebook;
use super::stop::Stop;
use crate::edit::Edit;
use crate::history::{HistoryStep, ModelInputs, RootState};
use crate::learning::Trial;
use crate::{Detection, Severity, TrainingAnswer, TrainingQuestion};

/// A training beside the model that is shown.
pub(super) struct TriedOut {
    inputs: ModelInputs,
    trial: Trial,
    question: Arc<TrainingQuestion>,
    /// The scores that it was compared with.
    before: Option<Arc<Detection>>,
}

impl TriedOut {
    pub(super) fn new(inputs: ModelInputs, trial: Trial, shown: Option<&Scored>) -> Self {
        let question = shown.map(|shown| compare(shown, &inputs, &trial));
        Self {
            inputs,
            trial,
            question: Arc::new(question.unwrap_or_default()),
            before: shown.map(|shown| Arc::clone(&shown.detection)),
        }
    }

    pub(super) fn question(&self) -> Arc<TrainingQuestion> {
        Arc::clone(&self.question)
    }

    pub(super) fn into_parts(self) -> (ModelInputs, Trial) {
        (self.inputs, self.trial)
    }

    /// Whether it is the training of `inputs`, told against the scores that are shown.
    fn is_about(&self, inputs: &ModelInputs, shown: Option<&Arc<Detection>>) -> bool {
        let is_same = match (&self.before, shown) {
            (Some(before), Some(shown)) => Arc::ptr_eq(before, shown),
            (None, None) => true,
            _ => false,
        };
        is_same && self.inputs == *inputs
    }
}

/// Which trees a training would move, without those whose labels it learns.
fn compare(shown: &Scored, inputs: &ModelInputs, trial: &Trial) -> TrainingQuestion {
    let before = &*shown.detection;
    let after = Detection::with_held(trial.judged.clone(), inputs.held.clone(), Some(before));
    let change = after.change.unwrap_or_default();
    let taught = |tree: &TreeIdx| {
        let label = |labels: &[Option<Label>]| labels.get(tree.index()).copied().flatten();
        label(&shown.inputs.labels) != label(&inputs.labels)
    };
    let others = |trees: Vec<TreeIdx>| trees.into_iter().filter(|tree| !taught(tree)).collect();
    let all = (0..inputs.labels.len()).map(TreeIdx::from_index);
    TrainingQuestion {
        num_labels: all.filter(taught).count(),
        num_trees: inputs.labels.len(),
        would_be_abnormal: others(change.became_abnormal),
        would_be_normal: others(change.became_normal),
    }
}

impl Executor {
    /// Trains beside the model that is shown.
    fn try_out(
        &self,
        grown: &mut Grown,
        inputs: ModelInputs,
        state: &RootState,
    ) -> Result<TriedOut, Stop> {
        let settings = self.model_settings(state);
        self.publisher.stage("Training", |progress: Progress<'_>| {
            grown.tune(settings, progress.part(0.0, 0.5))?;
            grown.try_out(inputs, progress.part(0.5, 1.0))
        })
    }

    /// Brings the question up to a state, the scores of which are shown.
    pub(super) fn pose_question(&self, grown: &mut Grown, state: &RootState) -> Result<(), Stop> {
        if !state.is_asking() {
            grown.in_question = None;
            return Ok(());
        }
        let inputs = state.inputs_if_learned(grown.forest());
        let known = grown.in_question.take();
        grown.in_question = known.filter(|known| known.is_about(&inputs, grown.detection()));
        if grown.in_question.is_none() {
            grown.in_question = Some(self.try_out(grown, inputs, state)?);
        }
        Ok(())
    }
}

impl Engine {
    /// Brings scores and question up to what is known of `root`, if its forest is shown. What `action` teaches
    /// waits for an answer if it would move many; `was_asking` says whether an answer was waited for already,
    /// and then a wish to train is the answer.
    pub(super) fn learn(
        &mut self,
        root: Option<&str>,
        action: &HistoryStep,
        was_asking: bool,
    ) -> Result<(), Stop> {
        let Ok((run, grown)) = self.state.forest_mut() else {
            return Ok(());
        };
        if root != Some(grown.root()) {
            return Ok(());
        }
        let is_answer = was_asking && grown.in_question.is_some();
        let teaches = match action {
            HistoryStep::Edit { edit, .. } => {
                edit.teaches() && !(is_answer && *edit == Edit::Train)
            }
            _ => false,
        };
        let state = run.notebook.history().of_root(grown.root());
        let inputs = state.model_inputs(grown.forest());
        let may_ask = teaches && grown.detection().is_some() && !grown.has_model_of(&inputs);
        if may_ask {
            let tried = self.executor.try_out(grown, inputs, state);
            let is_needed = match &tried {
                Ok(tried) => tried.question.is_needed(),
                // What waited before waits on.
                Err(_) => was_asking,
            };
            let stamp = self.executor.stamp(grown.model_name());
            let is_asking = is_needed && run.notebook.amend(&HistoryStep::Ask, stamp);
            match tried {
                Ok(tried) if is_asking => grown.in_question = Some(tried),
                Ok(tried) => grown.accept(tried),
                Err(stop) => {
                    grown.in_question = None;
                    self.write_question();
                    return Err(stop);
                }
            }
        } else if let Some(tried) = grown.in_question.take_if(|known| known.inputs == inputs) {
            grown.accept(tried);
        } else {
            self.executor.learn(grown, state)?;
        }
        let state = run.notebook.history().of_root(grown.root());
        self.executor.pose_question(grown, state)?;
        self.write_question();
        Ok(())
    }

    /// A question that cannot be journalled stands nevertheless.
    fn write_question(&mut self) {
        let written = self.state.notebook_mut().map(Notebook::write);
        if let Ok(Err(error)) = written {
            let text = format!("The question cannot be journalled now: {error}.");
            self.executor.notice(Severity::Warning, text);
        }
    }

    /// The person answers; without a question there is nothing to do.
    pub(super) fn answer(&mut self, answer: TrainingAnswer) -> Result<(), Stop> {
        if !self.is_asking()? {
            return Ok(());
        }
        self.edit(match answer {
            TrainingAnswer::Keep => Edit::Train,
            TrainingAnswer::OnlyThese => Edit::Hold,
        })
    }

    /// Trains; a training that waits for an answer must have one first.
    pub(super) fn train(&mut self) -> Result<(), Stop> {
        if self.is_asking()? && self.executor.publisher.view.question.is_some() {
            let text = "The training waits for an answer: keep it, keep the labels to their executions, or undo.";
            self.executor.notice(Severity::Info, text.to_owned());
            return Ok(());
        }
        self.edit(Edit::Train)
    }

    /// The model learns what stood for single executions.
    pub(super) fn learn_held(&mut self) -> Result<(), Stop> {
        let (run, grown) = self.state.forest()?;
        let state = run.notebook.history().of_root(grown.root());
        if state.num_held() == 0 {
            return Ok(());
        }
        self.edit(Edit::LearnHeld)
    }

    /// Whether labels of the shown forest wait for an answer.
    pub(super) fn is_asking(&self) -> Result<bool, Stop> {
        let (run, grown) = self.state.forest()?;
        Ok(run.notebook.history().of_root(grown.root()).is_asking())
    }
}
