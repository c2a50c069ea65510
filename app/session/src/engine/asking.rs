//! Asking before a training that moves many executions takes effect.
//!
//! Such a training is tried out beside the model that is shown. The history then says that its labels wait
//! ([`HistoryStep::Ask`]), and so they wait after a crash, after undo and in a saved session as well. What is
//! asked about is always all that waits, against the scores that are shown.

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

    /// Brings scores and question up to the history. What that teaches waits for an answer if it would move many
    /// and `may_ask`.
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

    /// Lets what the last edit teaches wait; `false` if that teaches nothing. A question that cannot be
    /// journalled stands nevertheless.
    fn ask(&mut self, notebook: &mut Notebook, grown: &Grown) -> bool {
        let stamp = self.stamp(grown.model_name());
        let is_asking = notebook.amend(&HistoryStep::Ask, stamp);
        if let Err(error) = notebook.write() {
            let text = format!("The question cannot be journalled now: {error}.");
            self.notice(Severity::Warning, text);
        }
        is_asking
    }

    /// The first scores of a forest. A crash may have come between the last edit and the question about it:
    /// then it is asked now.
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

    /// Brings the question up to a state, the scores of which are shown. Where so few would move by now that
    /// nobody needs to be asked, the labels wait for the next training.
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
        let teaches = match action {
            HistoryStep::Edit { edit, .. } => {
                edit.teaches() && !(was_asking && *edit == Edit::Train)
            }
            _ => false,
        };
        let taught = self.executor.teach(&mut run.notebook, grown, teaches);
        if taught.is_err() && teaches {
            // What could not be tried out has no effect.
            grown.in_question = None;
            self.executor.ask(&mut run.notebook, grown);
        }
        taught
    }

    /// The person answers; without a question there is nothing to do.
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

    /// Trains; a training that waits for an answer must have one first.
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
        // It could not be tried out before.
        let state = run.notebook.history().of_root(grown.root());
        self.executor.pose_question(grown, state)?;
        if grown.question().is_none() {
            return self.edit(Edit::Train);
        }
        self.show_scores();
        Ok(())
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
