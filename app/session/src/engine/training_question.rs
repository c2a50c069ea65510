//! Asks the user before a training that reclassifies many executions takes effect.
//!
//! Such a training is computed without replacing the current model. The history then records that its labels wait
//! ([`HistoryStep::Ask`]), so they also wait after a crash, after undo and in a saved session. A question always covers
//! all waiting labels, compared with the current scores.

use callgrove_edits::{Edit, HistoryStep, ModelInputs, RootState};
use callgrove_model::Progress;

use super::Engine;
use super::embedded_forest::EmbeddedForest;
use super::error::CommandError;
use super::executor::Executor;
use super::label_store::LabelStore;
use super::trial_training::TrialTraining;
use crate::question::TrainingAnswer;
use crate::snapshot::Severity;

impl Executor {
    /// Trains without replacing the current model.
    fn try_out(
        &self,
        embedded: &mut EmbeddedForest,
        inputs: ModelInputs,
        state: &RootState,
    ) -> Result<TrialTraining, CommandError> {
        let settings = self.model_settings(state);
        self.publisher.stage("Training", |progress: Progress<'_>| {
            embedded.tune(settings, progress.part(0.0, 0.5))?;
            embedded.try_out(inputs, progress.part(0.5, 1.0))
        })
    }

    /// Updates scores and question to the history. If `may_ask`, a training that would reclassify many executions waits
    /// for an answer.
    fn update_model(
        &mut self,
        label_store: &mut LabelStore,
        embedded: &mut EmbeddedForest,
        may_ask: bool,
    ) -> Result<(), CommandError> {
        let state = label_store.history().of_root(embedded.root());
        let inputs = state.model_inputs(embedded.forest());
        if may_ask && embedded.detection().is_some() && !embedded.has_model_of(&inputs) {
            let tried = self.try_out(embedded, inputs, state)?;
            if tried.question().is_needed() && self.ask(label_store, embedded) {
                embedded.waiting_trial = Some(tried);
            } else {
                embedded.accept(tried);
            }
        } else if let Some(tried) = embedded.waiting_trial.take_if(|known| known.is_of(&inputs)) {
            embedded.accept(tried);
        } else {
            self.learn(embedded, state)?;
        }
        self.update_question(embedded, label_store.history().of_root(embedded.root()))
    }

    /// Makes the training of the last edit wait; `false` if that edit trains nothing. The question is asked even if it
    /// cannot be journalled.
    fn ask(&mut self, label_store: &mut LabelStore, embedded: &EmbeddedForest) -> bool {
        let stamp = self.stamp(embedded.model_name());
        let is_asking = label_store.amend(&HistoryStep::Ask, stamp);
        if let Err(error) = label_store.write() {
            let text = format!("The question cannot be journalled now: {error}.");
            self.notice(Severity::Warning, text);
        }
        is_asking
    }

    /// Computes the first scores of a forest. If a crash came between the last edit and its question, asks the question
    /// now.
    pub(super) fn learn_first(
        &mut self,
        label_store: &mut LabelStore,
        embedded: &mut EmbeddedForest,
    ) -> Result<(), CommandError> {
        let before = label_store.history().before_training(embedded.root());
        if let Some(before) = &before {
            self.learn(embedded, before)?;
        }
        self.update_model(label_store, embedded, before.is_some())
    }

    /// Updates the question to a state whose scores are shown. If the training would reclassify too few executions to
    /// ask, the labels wait for the next training.
    fn update_question(
        &self,
        embedded: &mut EmbeddedForest,
        state: &RootState,
    ) -> Result<(), CommandError> {
        if !state.is_asking() {
            embedded.waiting_trial = None;
            return Ok(());
        }
        let inputs = state.inputs_if_learned(embedded.forest());
        let known = embedded.waiting_trial.take();
        embedded.waiting_trial =
            known.filter(|known| known.is_about(&inputs, embedded.detection()));
        if embedded.waiting_trial.is_none() {
            let tried = self.try_out(embedded, inputs, state)?;
            embedded.waiting_trial = Some(tried).filter(|tried| tried.question().is_needed());
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
    ) -> Result<(), CommandError> {
        let Ok((run, embedded)) = self.state.forest_mut() else {
            return Ok(());
        };
        if root != Some(embedded.root()) {
            return Ok(());
        }
        let trains = match action {
            HistoryStep::Edit { edit, .. } => {
                edit.trains() && !(was_asking && *edit == Edit::Train)
            }
            _ => false,
        };
        let trained = self
            .executor
            .update_model(&mut run.label_store, embedded, trains);
        if trained.is_err() && trains {
            // A training that failed has no effect.
            embedded.waiting_trial = None;
            self.executor.ask(&mut run.label_store, embedded);
        }
        trained
    }

    /// Answers the question; does nothing without an open question.
    pub(super) fn answer(&mut self, answer: TrainingAnswer) -> Result<(), CommandError> {
        let (_, embedded) = self.state.forest()?;
        if embedded.question().is_none() {
            return Ok(());
        }
        self.edit(match answer {
            TrainingAnswer::Keep => Edit::Train,
            TrainingAnswer::OnlyThese => Edit::Hold,
        })
    }

    /// Trains. If a training waits for an answer, asks for that answer first.
    pub(super) fn train(&mut self) -> Result<(), CommandError> {
        if !self.is_asking()? {
            return self.edit(Edit::Train);
        }
        let (run, embedded) = self.state.forest_mut()?;
        if embedded.question().is_some() {
            let text = "The training waits for an answer: keep it, keep the labels to their executions, or undo.";
            self.executor.notice(Severity::Info, text.to_owned());
            return Ok(());
        }
        // The trial training failed or was cancelled before.
        let state = run.label_store.history().of_root(embedded.root());
        self.executor.update_question(embedded, state)?;
        if embedded.question().is_none() {
            return self.edit(Edit::Train);
        }
        self.show_scores();
        Ok(())
    }

    /// Trains the model with the labels that so far apply to their executions only.
    pub(super) fn learn_held(&mut self) -> Result<(), CommandError> {
        let (run, embedded) = self.state.forest()?;
        let state = run.label_store.history().of_root(embedded.root());
        if state.num_held() == 0 {
            return Ok(());
        }
        self.edit(Edit::LearnHeld)
    }

    /// Returns whether labels of the shown forest wait for an answer.
    pub(super) fn is_asking(&self) -> Result<bool, CommandError> {
        let (run, embedded) = self.state.forest()?;
        Ok(run
            .label_store
            .history()
            .of_root(embedded.root())
            .is_asking())
    }
}
