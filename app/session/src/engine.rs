//! The engine: carries out commands, owns trace, embedding and model, publishes snapshots.

mod opened;
mod publisher;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use callgrove_model::{Cancelled, Forest, Label, TreeIdx};

use crate::host::{Host, HostError};
use crate::journal::{Edit, Entry, LabelChange};
use crate::learning::{LearnSettings, LearningError};
use crate::root::RootError;
use crate::session_file::SessionFile;
use crate::{
    Command, LabelCsvError, LabelSet, MapMethod, ModelSettings, Selection, Severity, SnapshotCell,
    TreeKey,
};

use opened::Opened;
use publisher::Publisher;
pub use publisher::Wake;

/// Carries out commands one after another. Its carrier calls [`Engine::handle`] wherever long work
/// may run; the views see the snapshots that it publishes on the way.
pub struct Engine {
    host: Box<dyn Host>,
    settings: LearnSettings,
    publisher: Publisher,
    opened: Option<Opened>,
}

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error("cancelled")]
    Cancelled,
    #[error("{0}")]
    Host(String),
    #[error(transparent)]
    Root(#[from] RootError),
    #[error("{cause} in {path}")]
    Labels { cause: LabelCsvError, path: String },
    #[error("{cause}: {path}")]
    File { cause: String, path: String },
    #[error("{0}")]
    Learning(LearningError),
    #[error("open a trace first")]
    NothingOpen,
}

impl From<HostError> for Stop {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Cancelled => Self::Cancelled,
            HostError::Failed(text) => Self::Host(text),
        }
    }
}

impl From<LearningError> for Stop {
    fn from(error: LearningError) -> Self {
        if error.is_cancelled() {
            Self::Cancelled
        } else {
            Self::Learning(error)
        }
    }
}

impl From<Cancelled> for Stop {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl Engine {
    /// An engine with nothing open. Snapshots go into `cell`; `wake` is called after each.
    pub fn new(
        host: Box<dyn Host>,
        settings: LearnSettings,
        cell: SnapshotCell,
        wake: Wake,
    ) -> Self {
        Self {
            host,
            settings,
            publisher: Publisher::new(cell, wake),
            opened: None,
        }
    }

    /// Carries out one command. What goes wrong becomes a notice in the next snapshot.
    pub fn handle(&mut self, command: Command) {
        self.publisher.begin();
        if let Err(stop) = self.carry_out(command) {
            match stop {
                Stop::Cancelled => self
                    .publisher
                    .notice(Severity::Info, "Cancelled; nothing was changed.".to_owned()),
                stop => self
                    .publisher
                    .notice(Severity::Error, sentence(&stop.to_string())),
            }
        }
        self.publisher.end();
    }

    /// Carries out commands until nobody can send any more; between them, what forms goes on.
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

    /// Whether a map is forming, so that [`Engine::advance`] has something to do.
    pub fn is_forming(&self) -> bool {
        self.opened.as_ref().is_some_and(Opened::is_forming)
    }

    /// Goes on with the map that forms, for a small part of a second.
    pub fn advance(&mut self) {
        let Some(opened) = &mut self.opened else {
            return;
        };
        if let Err(stop) = opened.advance_map(&mut self.publisher) {
            self.publisher
                .notice(Severity::Error, sentence(&stop.to_string()));
        }
        self.publisher.publish();
    }

    fn carry_out(&mut self, command: Command) -> Result<(), Stop> {
        match command {
            Command::OpenTrace { source, function } => self.open(&source, function.as_deref()),
            Command::SetRoot { function } => self.set_root(&function),
            Command::Select(selection) => self.select(selection),
            Command::SetLabel { trees, label } => self.set_label(&trees, label),
            Command::ImportLabels { path } => self.import_labels(&path),
            Command::Train => self.edit(Edit::Train),
            Command::SetAutoTrain(on) => self.edit(Edit::AutoTrain(on)),
            Command::Tune(settings) => self.tune(settings),
            Command::SetMap(method) => self.set_map(method),
            Command::PauseMap(is_paused) => {
                if let Some(opened) = &mut self.opened {
                    opened.pause_map(is_paused, &mut self.publisher)?;
                }
                Ok(())
            }
            Command::SetQuery(query) => {
                self.publisher.view.query = query;
                if let Some(opened) = &self.opened {
                    opened.ask(&mut self.publisher);
                }
                Ok(())
            }
            Command::Undo => self.step_history(&Entry::Undo),
            Command::Redo => self.step_history(&Entry::Redo),
            Command::ExportLabels { path } => self.export_labels(&path),
            Command::SaveModel { path } => self.save_model(&path),
            Command::LoadModel { path } => self.load_model(&path),
            Command::SaveSession { path } => self.save_session(&path),
            Command::LoadSession { path } => self.load_session(&path),
            Command::Dismiss { notice } => {
                self.publisher.dismiss(notice);
                Ok(())
            }
        }
    }

    fn open(&mut self, source: &str, function: Option<&str>) -> Result<(), Stop> {
        let opened = Opened::read(&mut *self.host, &mut self.publisher, source)?;
        let opened = self.opened.insert(opened);
        opened.show(&mut self.publisher);
        let root = match function.or(opened.last_root()) {
            Some(root) => root.to_owned(),
            None => opened.best_root()?,
        };
        self.set_root(&root)
    }

    fn set_root(&mut self, pattern: &str) -> Result<(), Stop> {
        let opened = self.opened.as_mut().ok_or(Stop::NothingOpen)?;
        let method = self.publisher.view.map.as_ref().map(|map| map.method);
        opened.grow(pattern, &self.settings, &mut self.publisher)?;
        opened.journal(&mut *self.host, &opened.root_entry()?)?;
        opened.refresh(&mut *self.host, &self.settings, &mut self.publisher)?;
        let most_abnormal = self
            .publisher
            .view
            .detection
            .as_ref()
            .and_then(|detection| detection.order.first().copied());
        self.select(most_abnormal.map_or(Selection::None, Selection::One))?;
        self.set_map(method.unwrap_or_default())
    }

    fn set_map(&mut self, method: MapMethod) -> Result<(), Stop> {
        let opened = self.opened.as_mut().ok_or(Stop::NothingOpen)?;
        opened.draw_map(method, &mut self.publisher)
    }

    /// Shows the selection at once, then why the focused tree got its score.
    fn select(&mut self, selection: Selection) -> Result<(), Stop> {
        let opened = self.opened.as_ref().ok_or(Stop::NothingOpen)?;
        let num_trees = opened.forest()?.len();
        let selection = within(selection, num_trees);
        self.publisher.view.selection = selection.clone();
        self.publisher.view.explanation = None;
        self.publisher.publish();
        self.publisher.view.explanation = opened.explain(&selection)?.map(Arc::new);
        Ok(())
    }

    fn set_label(&mut self, trees: &[TreeIdx], label: Option<Label>) -> Result<(), Stop> {
        let forest = self.opened.as_ref().ok_or(Stop::NothingOpen)?.forest()?;
        let changes: Vec<_> = trees
            .iter()
            .filter(|tree| tree.index() < forest.len())
            .map(|&tree| LabelChange {
                tree: TreeKey::of(forest, tree),
                label,
            })
            .collect();
        if changes.is_empty() {
            Ok(())
        } else {
            self.edit(Edit::SetLabels(changes))
        }
    }

    fn import_labels(&mut self, path: &str) -> Result<(), Stop> {
        let bytes = self.host.read_file(path)?;
        let labels = LabelSet::from_csv(&bytes).map_err(|cause| Stop::Labels {
            cause,
            path: path.to_owned(),
        })?;
        let forest = self.opened.as_ref().ok_or(Stop::NothingOpen)?.forest()?;
        let num_unknown = num_unknown_trees(forest, &labels);
        let changes: Vec<_> = labels
            .iter()
            .map(|(tree, label)| LabelChange {
                tree,
                label: Some(label),
            })
            .collect();
        let num_labels = changes.len();
        self.edit(Edit::SetLabels(changes))?;
        self.publisher.notice(
            Severity::Info,
            format!("{num_labels} labels were imported from {path}."),
        );
        if num_unknown > 0 {
            let text = format!(
                "{num_unknown} of them name trees that this forest does not have; they are kept but have no effect."
            );
            self.publisher.notice(Severity::Warning, text);
        }
        Ok(())
    }

    /// Journals an edit, applies it, and learns if it changed what the model depends on.
    fn edit(&mut self, edit: Edit) -> Result<(), Stop> {
        let opened = self.opened.as_mut().ok_or(Stop::NothingOpen)?;
        opened.forest()?;
        let entry = Entry::Edit(edit);
        opened.journal(&mut *self.host, &entry)?;
        if let Entry::Edit(edit) = &entry {
            opened.history_mut()?.apply(edit);
        }
        opened.refresh(&mut *self.host, &self.settings, &mut self.publisher)
    }

    /// The settings are tried before they are journalled, so that bad ones change nothing.
    fn tune(&mut self, settings: Option<ModelSettings>) -> Result<(), Stop> {
        let opened = self.opened.as_mut().ok_or(Stop::NothingOpen)?;
        opened.tune(settings.unwrap_or(self.settings.of_model()))?;
        self.edit(Edit::Tune(settings))
    }

    fn step_history(&mut self, entry: &Entry) -> Result<(), Stop> {
        let opened = self.opened.as_mut().ok_or(Stop::NothingOpen)?;
        let history = opened.history_mut()?;
        let is_possible = match entry {
            Entry::Undo => history.undo_text().is_some(),
            _ => history.redo_text().is_some(),
        };
        if !is_possible {
            return Ok(());
        }
        opened.journal(&mut *self.host, entry)?;
        let history = opened.history_mut()?;
        match entry {
            Entry::Undo => history.undo(),
            _ => history.redo(),
        };
        opened.refresh(&mut *self.host, &self.settings, &mut self.publisher)
    }

    fn export_labels(&mut self, path: &str) -> Result<(), Stop> {
        let labels = &self.publisher.view.labels;
        let (num_labels, text) = (labels.len(), labels.to_csv());
        self.host.write_file(path, text.as_bytes())?;
        self.publisher.notice(
            Severity::Info,
            format!("{num_labels} labels were written to {path}."),
        );
        Ok(())
    }

    fn save_model(&mut self, path: &str) -> Result<(), Stop> {
        let opened = self.opened.as_ref().ok_or(Stop::NothingOpen)?;
        self.host
            .write_file(path, opened.model_text()?.as_bytes())?;
        self.publisher
            .notice(Severity::Info, format!("The model was written to {path}."));
        Ok(())
    }

    /// The file is tried before it is journalled, so that a bad one changes nothing.
    fn load_model(&mut self, path: &str) -> Result<(), Stop> {
        let opened = self.opened.as_mut().ok_or(Stop::NothingOpen)?;
        opened.score_with_file(&mut *self.host, path)?;
        self.edit(Edit::LoadModel(path.to_owned()))?;
        self.publisher.notice(
            Severity::Info,
            format!("Scores are now those of {path}; train to go back to your own model."),
        );
        Ok(())
    }

    fn save_session(&mut self, path: &str) -> Result<(), Stop> {
        let opened = self.opened.as_ref().ok_or(Stop::NothingOpen)?;
        self.host
            .write_file(path, opened.session_file()?.to_text().as_bytes())?;
        self.publisher.notice(
            Severity::Info,
            format!("The session was written to {path}."),
        );
        Ok(())
    }

    fn load_session(&mut self, path: &str) -> Result<(), Stop> {
        let bytes = self.host.read_file(path)?;
        let file = SessionFile::from_bytes(&bytes).map_err(|cause| Stop::File {
            cause,
            path: path.to_owned(),
        })?;
        self.open(&file.source, Some(&file.root))?;
        self.edit(Edit::Restore(file.state))
    }
}

/// Trees that labels name but the forest lacks.
pub(crate) fn num_unknown_trees(forest: &Forest, labels: &LabelSet) -> usize {
    let num_known = labels.by_tree(forest).iter().flatten().count();
    labels.len() - num_known
}

/// Ascending, without repetition, and only trees that exist.
fn within(selection: Selection, num_trees: usize) -> Selection {
    let exists = |tree: &TreeIdx| tree.index() < num_trees;
    match selection {
        Selection::One(tree) if exists(&tree) => Selection::One(tree),
        Selection::Group(mut trees) => {
            trees.retain(exists);
            trees.sort_unstable();
            trees.dedup();
            match trees[..] {
                [] => Selection::None,
                [tree] => Selection::One(tree),
                _ => Selection::Group(trees),
            }
        }
        Selection::One(_) | Selection::None => Selection::None,
    }
}

/// As a sentence for the screen: error texts begin small and end without a full stop.
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
