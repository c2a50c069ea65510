//! Edits: journalled, applied, shown, and used for training.

use std::collections::BTreeMap;

use callgrove_edits::{
    Edit, HistoryStep, LabelChange, LabelKey, LabelSet, Mark, ModelSettings, RootState,
};
use callgrove_model::{ExecLabel, Forest, FunctionName, Label, ProgramId, Progress, TreeIdx};
use callgrove_query::{EventKey, TimeRange};

use super::Engine;
use super::embedded_forest::EmbeddedForest;
use super::error::CommandError;
use crate::snapshot::Severity;

impl Engine {
    /// Carries out an edit of the shown forest.
    pub(super) fn edit(&mut self, edit: Edit) -> Result<(), CommandError> {
        let (_, embedded) = self.state.forest()?;
        let root = Some(embedded.root().to_owned());
        self.act(&HistoryStep::Edit { root, edit })
    }

    /// Journals an action, carries it out, and trains if the inputs of the model changed.
    pub(super) fn act(&mut self, action: &HistoryStep) -> Result<(), CommandError> {
        let embedded = self.state.forest().ok().map(|(_, embedded)| embedded);
        let stamp = self
            .executor
            .stamp(embedded.and_then(EmbeddedForest::model_name));
        let was_asking = self.is_asking().unwrap_or(false);
        let label_store = self.state.label_store_mut()?;
        let Some(effects) = label_store.apply(action, stamp)? else {
            return Ok(());
        };
        self.show_edits();
        self.executor.publisher.publish();
        let learned = self.learn(effects.root.as_deref(), action, was_asking);
        if effects.root.is_some() {
            self.show_edits();
            self.show_scores();
        }
        match learned {
            Err(CommandError::Cancelled) => {
                let kept = match action {
                    HistoryStep::Edit { edit, .. } => edit.kept_text(),
                    HistoryStep::Undo => "The undo is kept",
                    HistoryStep::Redo => "The redo is kept",
                    HistoryStep::Ask => "The question is kept",
                };
                let text = format!(
                    "{kept}; training was cancelled, so the scores are those before it. Train to bring them up to \
                     date."
                );
                self.executor.notice(Severity::Info, text);
                Ok(())
            }
            learned => learned,
        }
    }

    pub(super) fn set_label(
        &mut self,
        trees: &[TreeIdx],
        label: Option<Label>,
    ) -> Result<(), CommandError> {
        let (run, embedded) = self.state.forest()?;
        let (forest, state) = (
            embedded.forest(),
            run.label_store.history().of_root(embedded.root()),
        );
        let changes: Vec<_> = trees
            .iter()
            .filter(|tree| tree.index() < forest.len())
            .flat_map(|&tree| changes_of_tree(forest, state, tree, label))
            .collect();
        if changes.is_empty() {
            Ok(())
        } else {
            self.edit(Edit::SetLabels(changes))
        }
    }

    /// Labels an execution of a function that was seen as a record.
    pub(super) fn set_record_label(
        &mut self,
        program: ProgramId,
        event: ExecLabel,
        func: &str,
        label: Option<Label>,
    ) -> Result<(), CommandError> {
        let root = FunctionName::parse(func).qualified;
        let key = EventKey { program, event };
        let tree = self.state.forest().ok().and_then(|(run, embedded)| {
            let forest = embedded.forest();
            let mut trees = (0..forest.len()).map(TreeIdx::from_index);
            let tree = trees.find(|&tree| EventKey::of(forest, tree) == key)?;
            let state = run.label_store.history().of_root(root);
            (embedded.root() == root).then(|| changes_of_tree(forest, state, tree, label).collect())
        });
        let key = key.into();
        let edit = Edit::SetLabels(tree.unwrap_or_else(|| vec![LabelChange { key, label }]));
        let root = Some(root.to_owned());
        self.act(&HistoryStep::Edit { root, edit })
    }

    pub(super) fn import_labels(&mut self, path: &str) -> Result<(), CommandError> {
        let bytes = self.executor.host.read_file(path)?;
        let labels = LabelSet::from_csv(&bytes).map_err(|cause| CommandError::Labels {
            cause,
            path: path.to_owned(),
        })?;
        let (run, embedded) = self.state.forest()?;
        let (forest, state) = (
            embedded.forest(),
            run.label_store.history().of_root(embedded.root()),
        );
        let (trees, num_labels) = (trees_by_key(forest), labels.len());
        let mut num_unknown = 0;
        let mut changes = Vec::with_capacity(num_labels);
        for (key, label) in labels.iter() {
            if let Some(&tree) = trees.get(&key) {
                changes.extend(changes_of_tree(forest, state, tree, Some(label)));
            } else {
                num_unknown += 1;
                let label = Some(label);
                changes.push(LabelChange { key, label });
            }
        }
        self.edit(Edit::SetLabels(changes))?;
        self.executor.notice(
            Severity::Info,
            format!("{num_labels} labels were imported from {path}."),
        );
        if num_unknown > 0 {
            let text = format!(
                "{num_unknown} of them refer to trees that are not in this forest; they are kept but have no effect."
            );
            self.executor.notice(Severity::Warning, text);
        }
        Ok(())
    }

    /// Tests the settings before journalling them, so that invalid ones change nothing.
    pub(super) fn tune(&mut self, settings: Option<ModelSettings>) -> Result<(), CommandError> {
        let defaults = self.executor.settings.of_model();
        let (_, embedded) = self.state.forest_mut()?;
        embedded.tune(settings.unwrap_or(defaults), Progress::none())?;
        self.edit(Edit::Tune(settings))
    }

    /// Adds a mark, or changes the one with a number.
    pub(super) fn set_mark(
        &mut self,
        id: Option<u64>,
        range: TimeRange,
        text: String,
    ) -> Result<(), CommandError> {
        let history = self.state.label_store()?.history();
        let newest = history.marks().last().map_or(0, |mark| mark.id);
        let is_free = |id: &u64| history.marks().all(|mark| mark.id != *id);
        let id = id
            .or_else(|| newest.checked_add(1))
            .or_else(|| (0..newest).find(is_free))
            .unwrap_or(newest);
        self.act(&HistoryStep::Edit {
            root: None,
            edit: Edit::SetMark(Mark {
                id,
                range: TimeRange::between(range.from, range.to),
                text,
            }),
        })
    }

    pub(super) fn delete_mark(&mut self, id: u64) -> Result<(), CommandError> {
        let history = self.state.label_store()?.history();
        if !history.marks().any(|mark| mark.id == id) {
            return Ok(());
        }
        self.act(&HistoryStep::Edit {
            root: None,
            edit: Edit::DeleteMark(id),
        })
    }
}

/// Returns the changes for labelling a tree: its own label, and the removal of its record's label, which it replaces.
fn changes_of_tree(
    forest: &Forest,
    state: &RootState,
    tree: TreeIdx,
    label: Option<Label>,
) -> impl Iterator<Item = LabelChange> + use<> {
    let (key, record) = (
        LabelKey::of(forest, tree),
        EventKey::of(forest, tree).into(),
    );
    let is_void = key != record && state.label(record).is_some();
    let void = is_void.then_some(LabelChange {
        key: record,
        label: None,
    });
    std::iter::once(LabelChange { key, label }).chain(void)
}

/// Returns the trees of a forest by each of their keys.
pub(super) fn trees_by_key(forest: &Forest) -> BTreeMap<LabelKey, TreeIdx> {
    let trees = (0..forest.len()).map(TreeIdx::from_index);
    trees
        .flat_map(|tree| {
            [
                (LabelKey::of(forest, tree), tree),
                (EventKey::of(forest, tree).into(), tree),
            ]
        })
        .collect()
}
