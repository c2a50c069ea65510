//! Opens traces and chooses their root functions. A new run is prepared while the old one stays open, and replaces it
//! completely or not at all.

use callgrove_edits::{Edit, HistoryStep, LabelKey, SavedState};
use callgrove_model::{RunIdentity, RunMatch};

use super::Engine;
use super::edits::trees_by_key;
use super::embedded_forest::EmbeddedForest;
use super::error::CommandError;
use super::label_store::{LabelStore, StoreNotice};
use super::state::{OpenRun, OpenTrace, State};
use crate::command::Selection;
use crate::root::root_of_trees;
use crate::session_file::SessionFile;
use crate::snapshot::Severity;
use crate::tree_map::MapMethod;

/// A prepared run that can replace the open one.
struct PreparedRun {
    label_store: LabelStore,
    trace: OpenTrace,
    embedded: Option<EmbeddedForest>,
    messages: Vec<StoreNotice>,
    /// Error because of which there is no forest, or there are no scores.
    failure: Option<CommandError>,
}

impl PreparedRun {
    /// Returns the selection of the trees with some keys.
    fn selection(&self, keys: &[LabelKey]) -> Option<Selection> {
        let trees = trees_by_key(self.embedded.as_ref()?.forest());
        let trees = keys.iter().filter_map(|key| trees.get(key).copied());
        Some(Selection::Group(trees.collect()))
    }
}

impl Engine {
    /// Opens a trace with a root function, by default that of the last session or the most promising one.
    pub(super) fn open(
        &mut self,
        source: &str,
        function: Option<&str>,
    ) -> Result<(), CommandError> {
        let trace = self.executor.read_trace(source)?;
        let prepared = self.prepare(trace, function, None)?;
        self.enter(prepared, None)
    }

    /// Opens the journal of a run that is known only from its records, unless its trace is open.
    pub(super) fn set_recorded_run(&mut self, source: &str, run: RunIdentity) {
        let is_known = match &self.state {
            State::Empty => false,
            State::Recorded(known, _) => known.is_same_run(&run),
            State::TraceOpen(_) | State::ForestOpen(..) => true,
        };
        if is_known {
            return;
        }
        let (label_store, messages) = LabelStore::open(&mut *self.executor.host, source, &run);
        self.state = State::Recorded(run, label_store);
        self.show_trace();
        for (severity, text) in messages {
            self.executor.notice(severity, text);
        }
    }

    /// Opens a saved session.
    pub(super) fn load_session(&mut self, path: &str) -> Result<(), CommandError> {
        let bytes = self.executor.host.read_file(path)?;
        let file = SessionFile::from_bytes(&bytes).map_err(|cause| CommandError::File {
            cause,
            path: path.to_owned(),
        })?;
        let trace = self.trace_of(&file)?;
        let prepared = self.prepare(trace, Some(&file.root), Some(file.state))?;
        let selection = prepared.selection(&file.selection);
        self.executor.publisher.view.restored_view = Some(file.view.into());
        self.enter(prepared, selection)
    }

    /// Reads the open source again, with the data that was added since.
    pub(super) fn reload(&mut self) -> Result<(), CommandError> {
        let (run, embedded) = self.state.forest()?;
        let (source, root) = (run.trace.source.clone(), embedded.root().to_owned());
        let selection = &self.executor.publisher.view.selection;
        let selected: Vec<LabelKey> = selection.keys(embedded.forest()).collect();
        let num_before = embedded.forest().len();
        let trace = self.executor.read_trace(&source)?;
        let prepared = self.prepare(trace, Some(&root), None)?;
        let selection = prepared.selection(&selected);
        self.enter(prepared, selection)?;
        let (_, embedded) = self.state.forest()?;
        let num_new = embedded.forest().len().saturating_sub(num_before);
        self.executor
            .notice(Severity::Info, format!("{num_new} new executions."));
        self.analyze_run();
        Ok(())
    }

    /// Returns the trace of a saved session: that of its source, or the open one if the run has been moved there.
    fn trace_of(&mut self, file: &SessionFile) -> Result<OpenTrace, CommandError> {
        let compare = |trace: &OpenTrace| {
            let known = file.run.as_ref();
            known.map_or(RunMatch::Unknown, |run| run.compare(&trace.trace.identity))
        };
        let open = self.state.run().ok().map(|run| &run.trace);
        let open = open
            .filter(|trace| compare(trace) == RunMatch::Same)
            .cloned();
        match self.executor.read_trace(&file.source) {
            Err(CommandError::Cancelled) => Err(CommandError::Cancelled),
            Err(error) => open.ok_or(error),
            Ok(trace) => match compare(&trace) {
                RunMatch::Different(mismatch) => open.ok_or(CommandError::OtherRun {
                    trace: trace.source,
                    mismatch,
                }),
                RunMatch::Same | RunMatch::Unknown => Ok(trace),
            },
        }
    }

    fn prepare(
        &mut self,
        trace: OpenTrace,
        function: Option<&str>,
        saved: Option<SavedState>,
    ) -> Result<PreparedRun, CommandError> {
        let (mut label_store, messages) = {
            let run = &trace.trace.identity;
            LabelStore::open(&mut *self.executor.host, &trace.source, run)
        };
        let root = function.or(label_store.last_root()).map(str::to_owned);
        let root = match root.or_else(|| root_of_trees(&trace.trace)) {
            Some(root) => Ok(root),
            None => trace.best_root(),
        };
        let embedded = root
            .map_err(CommandError::from)
            .and_then(|root| self.executor.embed(&trace, &root));
        let mut prepared = match embedded {
            // A session is useless without its forest. A trace is not: the user can choose another root.
            Err(error @ CommandError::Cancelled) => return Err(error),
            Err(error) if saved.is_some() => return Err(error),
            Err(error) => {
                return Ok(PreparedRun {
                    label_store,
                    trace,
                    embedded: None,
                    messages,
                    failure: Some(error),
                });
            }
            Ok(mut embedded) => {
                let stamp = self.executor.stamp(None);
                label_store.enter_root(embedded.root(), stamp.clone());
                if let Some(saved) = saved {
                    let root = Some(embedded.root().to_owned());
                    let edit = Edit::Restore(saved);
                    label_store.apply_unwritten(&HistoryStep::Edit { root, edit }, stamp);
                }
                let failure = self.learn_new(&mut embedded, &mut label_store)?;
                PreparedRun {
                    label_store,
                    trace,
                    embedded: Some(embedded),
                    messages,
                    failure,
                }
            }
        };
        if let Err(error) = prepared.label_store.write() {
            let text = format!("Labels cannot be journalled now: {error}.");
            prepared.messages.push((Severity::Warning, text));
        }
        Ok(prepared)
    }

    /// Computes the first scores of a forest. Returns the error if that failed, except if the user cancelled.
    fn learn_new(
        &mut self,
        embedded: &mut EmbeddedForest,
        label_store: &mut LabelStore,
    ) -> Result<Option<CommandError>, CommandError> {
        match self.executor.learn_first(label_store, embedded) {
            Err(CommandError::Cancelled) => Err(CommandError::Cancelled),
            learned => Ok(learned.err()),
        }
    }

    fn enter(
        &mut self,
        prepared: PreparedRun,
        selection: Option<Selection>,
    ) -> Result<(), CommandError> {
        let method = self.map_method();
        let PreparedRun {
            label_store,
            trace,
            embedded,
            messages,
            failure,
        } = prepared;
        self.state = State::TraceOpen(OpenRun { label_store, trace });
        self.show_trace();
        for (severity, text) in messages {
            self.executor.notice(severity, text);
        }
        if let Some(error) = failure {
            self.executor.report_error(&error);
        }
        embedded.map_or(Ok(()), |embedded| {
            self.enter_forest(embedded, method, selection)
        })
    }

    /// Shows the forest of another root function.
    pub(super) fn set_root(&mut self, pattern: &str) -> Result<(), CommandError> {
        let run = self.state.run_mut()?;
        let mut embedded = self.executor.embed(&run.trace, pattern)?;
        let failure = match self
            .executor
            .learn_first(&mut run.label_store, &mut embedded)
        {
            Err(CommandError::Cancelled) => return Err(CommandError::Cancelled),
            learned => learned.err(),
        };
        let stamp = self.executor.stamp(None);
        let label_store = self.state.label_store_mut()?;
        label_store.enter_root(embedded.root(), stamp);
        label_store.write()?;
        if let Some(error) = failure {
            self.executor.report_error(&error);
        }
        let method = self.map_method();
        self.enter_forest(embedded, method, None)
    }

    fn enter_forest(
        &mut self,
        embedded: EmbeddedForest,
        method: MapMethod,
        selection: Option<Selection>,
    ) -> Result<(), CommandError> {
        let num_unclosed = embedded.forest().num_unclosed();
        if num_unclosed > 0 {
            let text = format!(
                "{num_unclosed} executions of {} never ended and are left out.",
                embedded.root()
            );
            self.executor.notice(Severity::Warning, text);
        }
        self.state.set_forest(embedded);
        self.show_forest()?;
        let most_abnormal = self.most_abnormal();
        self.select(selection.unwrap_or(most_abnormal))?;
        self.compare_usual_trees();
        match self.set_map(method) {
            Err(CommandError::Cancelled) => {
                let text = "The forest is open; recomputing its map was cancelled.";
                self.executor.notice(Severity::Info, text.to_owned());
                Ok(())
            }
            drawn => drawn,
        }
    }

    /// Returns the method of the map that the user chose.
    fn map_method(&self) -> MapMethod {
        let map = self.executor.publisher.view.map();
        map.map(|map| map.method).unwrap_or_default()
    }
}
