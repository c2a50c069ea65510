//! Updates the draft of the next snapshot to the open run.

use std::sync::Arc;

use callgrove_model::{Cancelled, Progress, TreeIdx};
use callgrove_query::{EventKey, RunCauses, RunPatterns, RunTrends, TreeCauses};

use super::Engine;
use super::error::CommandError;
use super::label_store::LabelStore;
use super::state::State;
use crate::command::Selection;
use crate::snapshot::{EditsSnapshot, ForestSnapshot, RunSnapshot, Severity};
use crate::tree_map::MapMethod;
use crate::viewer::ViewerId;

impl Engine {
    /// Shows the trace and the user's work on its run. Removes the forest of an earlier trace.
    pub(super) fn show_trace(&mut self) {
        let view = &mut self.executor.publisher.view;
        if let Ok(run) = self.state.run() {
            view.source = Some(run.trace.source.clone());
            let (calls, suggestions) = (&run.trace.calls, &run.trace.suggestions);
            view.run = Some(RunSnapshot::new(Arc::clone(calls), Arc::clone(suggestions)));
        }
        view.forest = None;
        view.model.leave_forest();
        view.deselect();
        let label_store = self.state.label_store().ok();
        view.edits = EditsSnapshot {
            journal: label_store.and_then(LabelStore::place).map(Into::into),
            ..EditsSnapshot::default()
        };
        self.show_edits();
        self.executor.publisher.publish();
    }

    /// Shows the forest, with nothing selected.
    pub(super) fn show_forest(&mut self) -> Result<(), CommandError> {
        let (_, embedded) = self.state.forest()?;
        let view = &mut self.executor.publisher.view;
        view.forest = Some(ForestSnapshot {
            map: Some(embedded.first_map()),
            ..ForestSnapshot::new(Arc::clone(embedded.analysis()))
        });
        view.model.misfit = None;
        view.deselect();
        self.show_edits();
        self.show_scores();
        self.show_tree_causes();
        Ok(())
    }

    /// Computes trends, causes and patterns of the trace that was just opened. The trace can be used meanwhile, and
    /// also if the user cancels.
    pub(super) fn analyze_run(&mut self) {
        let result = (self.find_trends())
            .and_then(|()| self.follow_delays())
            .and_then(|()| self.find_patterns());
        if let Err(Cancelled) = result {
            let text =
                "The trace is open; the search for trends, causes and patterns was cancelled.";
            self.executor.notice(Severity::Info, text.to_owned());
        }
    }

    fn find_trends(&mut self) -> Result<(), Cancelled> {
        if let Ok(run) = self.state.run() {
            let publisher = &mut self.executor.publisher;
            let find = |progress: Progress<'_>| RunTrends::find(&run.trace.trace, progress);
            let found = publisher.stage("Finding trends", find)?;
            publisher.update_run(|shown| shown.trends = Some(Arc::new(found)));
            publisher.publish();
        }
        Ok(())
    }

    fn follow_delays(&mut self) -> Result<(), Cancelled> {
        if let Ok(run) = self.state.run() {
            let publisher = &mut self.executor.publisher;
            let find = |progress: Progress<'_>| RunCauses::find(&run.trace.trace, progress);
            let found = publisher.stage("Finding the causes of delays", find)?;
            let causes = run.trace.calls.set_causes(found);
            publisher.update_run(|shown| shown.causes = causes);
            self.show_tree_causes();
            self.executor.publisher.publish();
        }
        Ok(())
    }

    fn find_patterns(&mut self) -> Result<(), Cancelled> {
        if let Ok(run) = self.state.run() {
            let publisher = &mut self.executor.publisher;
            let find = |progress: Progress<'_>| RunPatterns::find(&run.trace.trace, progress);
            let found = publisher.stage("Finding patterns", find)?;
            let patterns = run.trace.calls.set_patterns(found);
            publisher.update_run(|shown| shown.patterns = patterns);
        }
        Ok(())
    }

    /// Shows the roles of the forest's trees in the delays, once these are known.
    fn show_tree_causes(&mut self) {
        let publisher = &mut self.executor.publisher;
        let Some(causes) = publisher.view.causes() else {
            return;
        };
        let Ok((_, embedded)) = self.state.forest() else {
            return;
        };
        let tree_causes = Arc::new(TreeCauses::new(causes, embedded.forest()));
        publisher.update_forest(|shown| shown.tree_causes = Some(tree_causes));
        let before = self.most_abnormal();
        self.reorder_by_delays();
        // What is selected when a forest opens follows the order.
        if before != Selection::None && self.executor.publisher.view.selection == before {
            let selected = self.select(self.most_abnormal());
            if let Err(error) = selected {
                self.executor.report_error(&error);
            }
        }
    }

    /// Applies the delays of the run to the order of the trees.
    fn reorder_by_delays(&mut self) {
        let causes = self.executor.publisher.view.causes();
        if let (Some(causes), Ok((_, embedded))) = (causes, self.state.forest_mut())
            && embedded.set_causes(causes)
        {
            self.show_scores();
        }
    }

    /// Returns the selection of the most abnormal tree.
    pub(super) fn most_abnormal(&self) -> Selection {
        let forest = self.state.forest().ok();
        let detection = forest.and_then(|(_, embedded)| embedded.detection());
        let first = detection.and_then(|known| known.order.first());
        first.map_or(Selection::None, |&tree| Selection::One(tree))
    }

    /// Shows labels, marks, undo and redo.
    pub(super) fn show_edits(&mut self) {
        let Ok(label_store) = self.state.label_store() else {
            return;
        };
        let history = label_store.history();
        let embedded = match &self.state {
            State::ForestOpen(_, embedded) => Some(embedded),
            _ => None,
        };
        let root = embedded.map(|embedded| embedded.root());
        let mut record_labels = history.record_labels();
        let view = &mut self.executor.publisher.view;
        let edits = &mut view.edits;
        edits.undo = history.undo_text(root);
        edits.redo = history.redo_text(root);
        edits.marks = history.marks().cloned().collect();
        if let Some(embedded) = embedded {
            let (forest, state) = (embedded.forest(), history.of_root(embedded.root()));
            edits.labels = state.labels().into();
            edits.labels_by_tree = edits.labels.by_tree(forest).into();
            edits.num_untrained = state.num_untrained();
            edits.num_held = state.num_held();
            edits.held = state.held_trees(forest);
            for (tree, label) in edits.labels_by_tree.iter().enumerate() {
                if label.is_some() {
                    let tree = TreeIdx::from_index(tree);
                    let of = edits.labels.key_of(forest, tree);
                    record_labels.take_over(EventKey::of(forest, tree).into(), &edits.labels, of);
                }
            }
            let model = &mut view.model;
            model.auto_train = state.auto_train();
            model.default_settings = self.executor.settings.of_model();
            model.settings = state.settings().unwrap_or(model.default_settings);
            model.doubts = embedded.doubts();
        }
        edits.record_labels = Arc::new(record_labels);
    }

    /// Shows the newest scores and the next trees to label.
    pub(super) fn show_scores(&mut self) {
        let Ok((_, embedded)) = self.state.forest() else {
            return;
        };
        let publisher = &mut self.executor.publisher;
        let detection = embedded.detection().map(Arc::clone);
        publisher.update_forest(|shown| shown.detection = detection);
        let model = &mut publisher.view.model;
        model.question = embedded.question();
        model.queue = embedded.queue(model.query);
    }

    /// Shows the selection at once, and then why the focused tree got its score.
    pub(super) fn select(&mut self, selection: Selection) -> Result<(), CommandError> {
        let (_, embedded) = self.state.forest()?;
        let selection = selection.within(embedded.forest().len());
        self.executor.publisher.view.selection = selection.clone();
        self.executor.publisher.view.explanation = None;
        self.executor.publisher.publish();
        let causes = self.executor.publisher.view.tree_causes().cloned();
        let explanation = embedded.explain(&selection, causes.as_deref())?;
        self.executor.publisher.view.explanation = explanation.map(Arc::new);
        Ok(())
    }

    /// Sets the selection of one of several viewers.
    pub(super) fn select_for(
        &mut self,
        viewer: ViewerId,
        selection: Selection,
    ) -> Result<(), CommandError> {
        let (_, embedded) = self.state.forest()?;
        let selection = selection.within(embedded.forest().len());
        let causes = self.executor.publisher.view.tree_causes().cloned();
        let explanation = embedded
            .explain(&selection, causes.as_deref())?
            .map(Arc::new);
        let viewer_states = Arc::make_mut(&mut self.executor.publisher.view.viewers.states);
        viewer_states.entry(viewer).or_default().selected = Some((selection, explanation));
        Ok(())
    }

    /// Starts a map with another method. The old map stays until the new one has a shape.
    pub(super) fn set_map(&mut self, method: MapMethod) -> Result<(), CommandError> {
        let (_, embedded) = self.state.forest_mut()?;
        let publisher = &mut self.executor.publisher;
        let begin = |progress: Progress<'_>| embedded.begin_map(method, progress);
        if !publisher.stage("Finding neighbours", begin)? {
            publisher.update_forest(|shown| shown.map = Some(embedded.first_map()));
        }
        Ok(())
    }

    /// Pauses or resumes the computation of the map.
    pub(super) fn pause_map(&mut self, is_paused: bool) -> Result<(), CommandError> {
        let (_, embedded) = self.state.forest_mut()?;
        if let Some(map) = embedded.pause_map(is_paused)? {
            let publisher = &mut self.executor.publisher;
            publisher.update_forest(|shown| shown.map = Some(map));
        }
        Ok(())
    }
}
