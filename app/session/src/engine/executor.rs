//! Carries out the steps of a command: reads and writes, trains, reports.

use callgrove_edits::{ModelSettings, RootState, Stamp};
use callgrove_model::Progress;

use super::embedded_forest::EmbeddedForest;
use super::error::CommandError;
use super::publisher::Publisher;
use super::state::OpenTrace;
use crate::host::Host;
use crate::learning::LearnSettings;
use crate::snapshot::Severity;
use crate::viewer::ViewerId;

/// The engine's access to host, settings and publisher.
pub(super) struct Executor {
    pub(super) host: Box<dyn Host>,
    pub(super) settings: LearnSettings,
    pub(super) publisher: Publisher,
    /// The viewer whose command is being carried out, if there are several.
    pub(super) viewer: Option<ViewerId>,
}

impl Executor {
    /// Returns the stamp of an action: time, user, and the model whose scores are shown.
    pub(super) fn stamp(&self, model: Option<String>) -> Stamp {
        Stamp {
            at_ns: self.host.now(),
            who: self.user(),
            model,
        }
    }

    pub(super) fn read_trace(&mut self, source: &str) -> Result<OpenTrace, CommandError> {
        let host = &mut self.host;
        let trace = self.publisher.stage("Reading the trace", |progress| {
            host.load_trace(source, progress)
        })?;
        let open = self
            .publisher
            .stage("Finding root functions", |_| OpenTrace::new(source, trace));
        Ok(open)
    }

    pub(super) fn embed(
        &self,
        trace: &OpenTrace,
        pattern: &str,
    ) -> Result<EmbeddedForest, CommandError> {
        self.publisher.stage("Embedding the trees", |progress| {
            EmbeddedForest::embed(&trace.trace, pattern, &self.settings, progress)
        })
    }

    /// Returns the settings of the trained model.
    pub(super) fn model_settings(&self, state: &RootState) -> ModelSettings {
        let defaults = self.settings.of_model();
        state.settings().unwrap_or(defaults)
    }

    /// Updates the scores to a state; `false` if they were up to date.
    pub(super) fn learn(
        &mut self,
        embedded: &mut EmbeddedForest,
        state: &RootState,
    ) -> Result<bool, CommandError> {
        let inputs = state.model_inputs(embedded.forest());
        if embedded.is_scored_with(&inputs) {
            return Ok(false);
        }
        if embedded.reorder(&inputs) {
            return Ok(true);
        }
        if let Some(file) = &inputs.file {
            let scores = self.score_with(file, embedded.forest())?;
            embedded.show_scores(inputs, scores);
        } else {
            let settings = self.model_settings(state);
            let train = |progress: Progress<'_>| {
                embedded.tune(settings, progress.part(0.0, 0.5))?;
                embedded.train(inputs, progress.part(0.5, 1.0))
            };
            self.publisher.stage("Training", train)?;
        }
        Ok(true)
    }

    pub(super) fn notice(&mut self, severity: Severity, text: String) {
        self.publisher.notice(severity, text);
    }

    /// Reports an error to the user.
    pub(super) fn report_error(&mut self, error: &CommandError) {
        self.notice(Severity::Error, sentence(&error.to_string()));
    }
}

/// Formats an error as a sentence. Error texts begin in lower case and end without a full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    let end = if text.ends_with(['.', '?', '!']) {
        ""
    } else {
        "."
    };
    format!("{first}{}{end}", chars.as_str())
}
