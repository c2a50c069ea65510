//! The engine: carries out commands, owns trace, embedding and model, publishes snapshots.

mod comparing;
mod edits;
mod embedded_forest;
mod error;
mod executor;
mod label_store;
mod model_files;
mod opening;
mod publisher;
mod running_models;
mod show;
mod state;
mod training_question;
mod trial_training;
mod viewers;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use callgrove_edits::{Edit, HistoryStep};

use crate::command::Command;
use crate::handle::SnapshotCell;
use crate::host::Host;
use crate::learning::LearnSettings;
use crate::session_file::{SessionFile, is_session_file};
use crate::snapshot::Severity;
use crate::viewer::viewer_name;

use error::CommandError;
use executor::Executor;
pub use publisher::Wake;
use publisher::{Publisher, Topic};
use state::State;

/// Carries out commands one after another. The host application calls [`Engine::handle`] where long work
/// may run; the views read the snapshots that it publishes during the work.
pub struct Engine {
    executor: Executor,
    state: State,
}

impl Engine {
    /// Creates an engine without an open source. It stores snapshots in `cell` and calls `wake` after each.
    pub fn new(
        host: Box<dyn Host>,
        settings: LearnSettings,
        cell: SnapshotCell,
        wake: Wake,
    ) -> Self {
        let name = host.user().and_then(|name| viewer_name(&name));
        Self {
            executor: Executor {
                host,
                settings,
                publisher: Publisher::new(cell, wake, name),
                viewer: None,
            },
            state: State::Empty,
        }
    }

    /// Carries out one command. Errors become notices in the next snapshot.
    pub fn handle(&mut self, command: Command) {
        self.executor.publisher.begin(Topic::of(&command));
        match self.carry_out(command) {
            Ok(()) => self.executor.publisher.succeeded(),
            Err(CommandError::Cancelled) => self
                .executor
                .notice(Severity::Info, "Cancelled; nothing was changed.".to_owned()),
            Err(error) => self.executor.report_error(&error),
        }
        self.executor.publisher.end();
    }

    /// Carries out commands until all senders are dropped. Between commands, computes the map.
    pub fn run(mut self, commands: &Receiver<Command>) {
        loop {
            let command = if self.is_forming() {
                match commands.try_recv() {
                    Err(TryRecvError::Empty) => {
                        self.advance();
                        continue;
                    }
                    received => received.ok(),
                }
            } else {
                commands.recv().ok()
            };
            let Some(command) = command else {
                return;
            };
            self.handle(command);
        }
    }

    /// Returns whether a map is being computed, so that [`Engine::advance`] has work to do.
    pub fn is_forming(&self) -> bool {
        self.state
            .forest()
            .is_ok_and(|(_, embedded)| embedded.is_forming())
    }

    /// Continues to compute the map for a fraction of a second.
    pub fn advance(&mut self) {
        let Ok((_, embedded)) = self.state.forest_mut() else {
            return;
        };
        match embedded.advance_map() {
            Ok(Some(map)) => {
                let publisher = &mut self.executor.publisher;
                publisher.update_forest(|shown| shown.map = Some(map));
            }
            Ok(None) => {}
            Err(error) => self.executor.report_error(&error),
        }
        self.executor.publisher.publish();
    }

    /// Opens a trace or a saved session.
    fn open_source(&mut self, source: &str, function: Option<&str>) -> Result<(), CommandError> {
        if is_session_file(&mut *self.executor.host, source) {
            self.load_session(source)?;
        } else {
            self.open(source, function)?;
        }
        self.analyze_run();
        Ok(())
    }

    fn carry_out(&mut self, command: Command) -> Result<(), CommandError> {
        match command {
            Command::OpenTrace { source, function } => {
                self.open_source(&source, function.as_deref())
            }
            Command::SetRoot { function } => self.set_root(&function),
            Command::SetRecordedRun { source, run } => {
                self.set_recorded_run(&source, run);
                Ok(())
            }
            Command::Select(selection) => self.select(selection),
            Command::ForViewer {
                viewer,
                number,
                command,
            } => self.carry_out_for(viewer, number, *command),
            Command::Viewer { viewer, presence } => {
                self.set_presence(viewer, presence);
                Ok(())
            }
            Command::SetName(name) => {
                self.executor.set_name(&name);
                Ok(())
            }
            Command::SetLabel { trees, label } => self.set_label(&trees, label),
            Command::SetRecordLabel {
                program,
                event,
                func,
                label,
            } => self.set_record_label(program, event, &func, label),
            Command::ImportLabels { path } => self.import_labels(&path),
            Command::SetMark { id, range, text } => self.set_mark(id, range, text),
            Command::DeleteMark { id } => self.delete_mark(id),
            Command::Train => self.train(),
            Command::SetAutoTrain(on) => self.edit(Edit::AutoTrain(on)),
            Command::Answer(answer) => self.answer(answer),
            Command::LearnHeld => self.learn_held(),
            Command::Tune(settings) => self.tune(settings),
            Command::SetMap(method) => self.set_map(method),
            Command::PauseMap(is_paused) => self.pause_map(is_paused),
            Command::SetQuery(query) => {
                self.executor.publisher.view.model.query = query;
                self.show_scores();
                Ok(())
            }
            Command::Undo => self.act(&HistoryStep::Undo),
            Command::Redo => self.act(&HistoryStep::Redo),
            Command::ExportLabels { path } => self.export_labels(&path),
            Command::SaveModel { path } => self.save_model(&path),
            Command::LoadModel { path } => self.load_model(&path),
            Command::AnswerModel(answer) => self.answer_model(answer),
            Command::FetchRunningModels { server } => self.fetch_running_models(&server),
            Command::PublishModel { server, note } => self.publish_model(&server, &note),
            Command::PutModelInForce { server, wanted } => {
                self.put_model_in_force(&server, &wanted)
            }
            Command::SaveSession { path, view } => self.save_session(&path, view),
            Command::LoadSession { path } => {
                self.load_session(&path)?;
                self.analyze_run();
                Ok(())
            }
            Command::CompareWith { source } => self.compare_with(&source),
            Command::EndComparison => {
                self.end_comparison();
                Ok(())
            }
            Command::Reload => self.reload(),
            Command::Dismiss { notice } => {
                self.executor.publisher.dismiss(notice);
                Ok(())
            }
        }
    }

    fn export_labels(&mut self, path: &str) -> Result<(), CommandError> {
        let labels = Arc::clone(&self.executor.publisher.view.edits.labels);
        let num_labels = labels.len();
        let text = format!("{num_labels} labels were written to {path}.");
        self.write(path, &labels.to_csv(), text)
    }

    fn save_model(&mut self, path: &str) -> Result<(), CommandError> {
        let (_, embedded) = self.state.forest()?;
        let model = embedded.model_text()?;
        self.write(path, &model, format!("The model was written to {path}."))
    }

    fn save_session(&mut self, path: &str, view: serde_json::Value) -> Result<(), CommandError> {
        let (run, embedded) = self.state.forest()?;
        let (history, forest) = (run.label_store.history(), embedded.forest());
        let mut state = history.of_root(embedded.root()).save();
        state.marks = Some(history.marks().cloned().collect());
        let selection = &self.executor.publisher.view.selection;
        let selection = selection.keys(forest).collect();
        let file = SessionFile::new(
            &run.trace.source,
            &run.trace.trace.identity,
            embedded.root(),
            state,
            selection,
            view,
        );
        let text = format!("The session was written to {path}.");
        self.write(path, &file.to_text(), text)
    }

    /// Writes a file that the user named, and reports it.
    fn write(&mut self, path: &str, content: &str, done: String) -> Result<(), CommandError> {
        self.executor.host.write_file(path, content.as_bytes())?;
        self.executor.notice(Severity::Info, done);
        Ok(())
    }
}
