//! Asks the user before a training that reclassifies many executions takes effect.
//!
//! Such a training is computed without replacing the current model. The history then records that its labels wait
//! ([`HistoryStep::Ask`]), so they also wait after a crash, after undo and in a saved session. A question always covers
//! all waiting labels, compared with the current scores.

use callgrove_model::Progress;

use super::Engine;
use super::executor::Executor;
use super::grown::Grown;
use super::notebook::Notebook;
use super::stop::Stop;
use super::tried_out::TriedOut;
use crate::edit::Edit;
use crate::history::{HistoryStep, ModelInputs, RootState};
use crate::{Severity, TrainingAnswer};

impl Executor {
    /// Trains without replacing the current model.
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

    /// Updates scores and question to the history. If `may_ask`, a training that would reclassify many executions waits
    /// for an answer.
    fn teach(
        &mut self,
        notebook: &mut Notebook,
        grown: &mut Grown,
        may_ask: bool,
    ) -> Result<(), Stop> {
        let state = notebook.history().of_root(grown.root());
        let inputs = state.model_inputs(grown.forest());
        if may_ask && grown.detection().is_some() && !grown.has_model_of(&inputs) {
            let tried = self.try_out(grown, inputs, state)?;
            if tried.question().is_needed() && self.ask(notebook, grown) {
                grown.in_question = Some(tried);
            } else {
                grown.accept(tried);
            }
        } else if let Some(tried) = grown.in_question.take_if(|known| known.is_of(&inputs)) {
            grown.accept(tried);
        } else {
            self.learn(grown, state)?;
        }
        self.pose_question(grown, notebook.history().of_root(grown.root()))
    }

    /// Makes the training of the last edit wait; `false` if that edit trains nothing. The question is asked even if it
    /// cannot be journalled.
    fn ask(&mut self, notebook: &mut Notebook, grown: &Grown) -> bool {
        let stamp = self.stamp(grown.model_name());
        let is_asking = notebook.amend(&HistoryStep::Ask, stamp);
        if let Err(error) = notebook.write() {
            let text = format!("The question cannot be journalled now: {error}.");
            self.notice(Severity::Warning, text);
        }
        is_asking
    }

    /// Computes the first scores of a forest. If a crash came between the last edit and its question, asks the question
    /// now.
    pub(super) fn learn_first(
        &mut self,
        notebook: &mut Notebook,
        grown: &mut Grown,
    ) -> Result<(), Stop> {
        let before = notebook.history().before_lesson(grown.root());
        if let Some(before) = &before {
            self.learn(grown, before)?;
        }
        self.teach(notebook, grown, before.is_some())
    }

    /// Updates the question to a state whose scores are shown. If the training would reclassify too few executions to
    /// ask, the labels wait for the next training.
    fn pose_question(&self, grown: &mut Grown, state: &RootState) -> Result<(), Stop> {
        if !state.is_asking() {
            grown.in_question = None;
            return Ok(());
        }
        let inputs = state.inputs_if_learned(grown.forest());
        let known = grown.in_question.take();
        grown.in_question = known.filter(|known| known.is_about(&inputs, grown.detection()));
        if grown.in_question.is_none() {
            let tried = self.try_out(grown, inputs, state)?;
            grown.in_question = Some(tried).filter(|tried| tried.question().is_needed());
        }
        Ok(())
    }
}

impl Engine {
    /// Updates scores and question to the history of `root`, if its forest is shown. If `action` would reclassify many
    /// executions, its training waits for an answer. `was_asking` says whether a question was open before; then a
    /// request to train answers it.
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
        let teaches = match action {
            HistoryStep::Edit { edit, .. } => {
                edit.teaches() && !(was_asking && *edit == Edit::Train)
            }
            _ => false,
        };
        let taught = self.executor.teach(&mut run.notebook, grown, teaches);
        if taught.is_err() && teaches {
            // A training that failed has no effect.
            grown.in_question = None;
            self.executor.ask(&mut run.notebook, grown);
        }
        taught
    }

    /// Answers the question; does nothing if there is none.
    pub(super) fn answer(&mut self, answer: TrainingAnswer) -> Result<(), Stop> {
        let (_, grown) = self.state.forest()?;
        if grown.question().is_none() {
            return Ok(());
        }
        self.edit(match answer {
            TrainingAnswer::Keep => Edit::Train,
            TrainingAnswer::OnlyThese => Edit::Hold,
        })
    }

    /// Trains. If a training waits for an answer, asks for that answer first.
    pub(super) fn train(&mut self) -> Result<(), Stop> {
        if !self.is_asking()? {
            return self.edit(Edit::Train);
        }
        let (run, grown) = self.state.forest_mut()?;
        if grown.question().is_some() {
            let text = "The training waits for an answer: keep it, keep the labels to their executions, or undo.";
            self.executor.notice(Severity::Info, text.to_owned());
            return Ok(());
        }
        // The trial training failed or was cancelled before.
        let state = run.notebook.history().of_root(grown.root());
        self.executor.pose_question(grown, state)?;
        if grown.question().is_none() {
            return self.edit(Edit::Train);
        }
        self.show_scores();
        Ok(())
    }

    /// Trains the model with the labels that so far apply to their executions only.
    pub(super) fn learn_held(&mut self) -> Result<(), Stop> {
        let (run, grown) = self.state.forest()?;
        let state = run.notebook.history().of_root(grown.root());
        if state.num_held() == 0 {
            return Ok(());
        }
        self.edit(Edit::LearnHeld)
    }

    /// Returns whether labels of the shown forest wait for an answer.
    pub(super) fn is_asking(&self) -> Result<bool, Stop> {
        let (run, grown) = self.state.forest()?;
        Ok(run.notebook.history().of_root(grown.root()).is_asking())
    }
}
