//! An open run, and the questions about it.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use callgrove_headless::{LocalHost, default_folder};
use callgrove_model::{DurationNs, Label, TreeIdx, count_of};
use callgrove_query::RunPatterns;
use callgrove_session::{
    Command, Host as _, TrainingAnswer, grow_forest, median_duration, tree_rows,
};
use callgrove_tables::{CauseTable, IncidentTable, PatternTable, TreeTable};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::batch::batch_of;
use crate::errors::{error, exception};
use crate::executions::executions;
use crate::opened::{Judged, OpenedRun, causes_of, forest_of, tree_named};
use crate::rows::LaneFilter;
use crate::table::{PyTable, TableRows};
use crate::trace_file::write_trace;
use crate::tree::Tree;
use crate::watch::watched;

/// A run that is open: its contents and what was found in it.
///
/// `callgrove.open` opens one. `close()`, or the end of a `with` block, releases its memory and its labels.
#[pyclass(frozen, name = "Run", module = "callgrove")]
pub(crate) struct PyRun(pub(crate) OpenedRun);

/// A path to a file that is written.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub(crate) struct OutputPath(PathBuf);

fn table(batch: PyResult<RecordBatch>) -> PyResult<PyTable> {
    Ok(PyTable(TableRows::Batch(batch?)))
}

#[pymethods]
impl PyRun {
    /// The path or pattern that the run was opened from.
    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    /// The function whose executions are judged.
    #[getter]
    fn function(&self) -> PyResult<Option<String>> {
        let snapshot = self.0.snapshot()?;
        Ok(snapshot.analysis().map(|it| it.root_name.clone()))
    }

    /// The number of ranks.
    #[getter]
    fn num_ranks(&self) -> PyResult<usize> {
        Ok(self.0.trace()?.ranks().len())
    }

    /// The number of calls.
    #[getter]
    fn num_calls(&self) -> PyResult<usize> {
        Ok(self.0.trace()?.num_executions())
    }

    /// The time from the first call to the end of the last one, in nanoseconds.
    #[getter]
    fn duration_ns(&self) -> PyResult<i64> {
        let span = self.0.trace()?.time_span();
        Ok(span.map_or(0, |(begin, end)| end.0 - begin.0))
    }

    /// The file of the run's labels, if there is one.
    #[getter]
    fn journal(&self) -> PyResult<Option<String>> {
        Ok(self
            .0
            .snapshot()?
            .edits
            .journal
            .as_ref()
            .map(ToString::to_string))
    }

    /// Returns the functions whose executions are worth judging, the most promising first.
    fn suggestions(&self) -> PyResult<Vec<String>> {
        let snapshot = self.0.snapshot()?;
        Ok(snapshot
            .suggestions()
            .iter()
            .map(|it| it.name.clone())
            .collect())
    }

    /// Returns the calls, lane by lane: those on a rank, and of a function or pattern, if given.
    #[pyo3(signature = (rank = None, function = None, *, program = None))]
    fn calls(
        &self,
        rank: Option<u32>,
        function: Option<&str>,
        program: Option<u32>,
    ) -> PyResult<PyTable> {
        let trace = self.0.trace()?;
        let functions = OpenedRun::functions(&trace, function)?;
        let filter = LaneFilter { program, rank };
        Ok(PyTable(TableRows::Calls(trace, filter, functions)))
    }

    /// Returns the messages between ranks, in order of sending.
    fn messages(&self) -> PyResult<PyTable> {
        Ok(PyTable(TableRows::Messages(self.0.trace()?)))
    }

    /// Returns the enters and leaves in order of time, in the columns of Pipit.
    #[pyo3(signature = (rank = None, *, program = None))]
    fn events(&self, rank: Option<u32>, program: Option<u32>) -> PyResult<PyTable> {
        let filter = LaneFilter { program, rank };
        Ok(PyTable(TableRows::Events(self.0.trace()?, filter)))
    }

    /// Returns the executions of a function or pattern with their times: the trees that `rank` judges.
    #[pyo3(signature = (function = None))]
    fn executions(&self, py: Python<'_>, function: Option<&str>) -> PyResult<PyTable> {
        let snapshot = self.0.snapshot()?;
        let forest = match function {
            Some(function) => {
                grow_forest(&self.0.trace()?, function)
                    .map_err(exception)?
                    .0
            }
            None => forest_of(&snapshot)?.0.clone(),
        };
        table(py.detach(|| executions(&forest)))
    }

    /// Returns the executions of a function, the most abnormal first, as `callgrove analyze` does.
    ///
    /// A given function is judged from now on. Reasons are listed for abnormal executions; with `explain`, for all.
    #[pyo3(signature = (function = None, *, explain = false, progress = None))]
    fn rank(
        &self,
        py: Python<'_>,
        function: Option<String>,
        explain: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyTable> {
        let Judged {
            snapshot,
            explainer,
        } = self.0.judged(py, function, progress.as_ref())?;
        let (forest, detection) = forest_of(&snapshot)?;
        let causes = snapshot.causes().map(AsRef::as_ref);
        let causes = causes.filter(|_| !forest.trace().is_forest);
        let reasons_of = |tree| {
            if explain || detection.is_abnormal(tree) {
                explainer.reasons(tree)
            } else {
                Vec::new()
            }
        };
        table(watched(py, progress, "Listing the executions", |_| {
            let of = TreeTable::new(forest, true);
            let labels = &snapshot.edits.labels_by_tree;
            batch_of(
                &of,
                tree_rows(forest, detection, labels, causes, reasons_of),
            )
        })?)
    }

    /// Returns what delayed the abnormal executions; with `all`, every execution. As `callgrove causes`.
    #[pyo3(signature = (*, all = false, progress = None))]
    fn causes(&self, py: Python<'_>, all: bool, progress: Option<Py<PyAny>>) -> PyResult<PyTable> {
        let snapshot = self.0.snapshot()?;
        let (forest, detection) = forest_of(&snapshot)?;
        let causes = causes_of(&snapshot)?;
        let every = (0..forest.len()).map(TreeIdx::from_index);
        let trees: Vec<TreeIdx> = if all {
            every.collect()
        } else {
            let listed =
                |it: &TreeIdx| detection.is_abnormal(*it) || detection.cause(*it).is_some();
            detection.order.iter().copied().filter(listed).collect()
        };
        table(watched(py, progress, "Listing the causes", |_| {
            batch_of(
                &CauseTable,
                trees.iter().map(|&tree| causes.row(forest, tree)),
            )
        })?)
    }

    /// Returns which ranks delayed which others, the costliest first. As `callgrove incidents`.
    #[pyo3(signature = (*, progress = None))]
    fn incidents(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<PyTable> {
        let snapshot = self.0.snapshot()?;
        let causes = causes_of(&snapshot)?;
        let begin = causes.trace().time_span();
        let begin_us = begin.map_or(0, |(begin, _)| begin.as_us());
        table(watched(py, progress, "Listing the incidents", |_| {
            let numbered = causes.incidents().iter().enumerate();
            let rows = numbered.map(|(number, incident)| causes.incident_row(number, incident));
            batch_of(
                &IncidentTable { begin_us },
                rows.filter(|it| it.num_executions > 0),
            )
        })?)
    }

    /// Returns the recurring patterns, those with the most time first. As `callgrove patterns`.
    #[pyo3(signature = (*, progress = None))]
    fn patterns(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<PyTable> {
        let (snapshot, trace) = (self.0.snapshot()?, self.0.trace()?);
        let batch = watched(py, progress, "Searching for patterns", |progress| {
            let patterns = RunPatterns::find(&trace, progress).map_err(exception)?;
            let rows = patterns.listed().into_iter();
            let rows = rows.map(|it| patterns.row(it, snapshot.inspected.reference));
            batch_of(&PatternTable(patterns.iterations_row()), rows)
        })?;
        table(batch)
    }

    /// Returns the calls of an execution, which print themselves as a tree.
    ///
    /// `id` is its name in `rank()`, `#RANK-INDEX`, or its event_id.
    fn tree(&self, py: Python<'_>, id: &str) -> PyResult<Tree> {
        let Judged {
            snapshot,
            explainer,
        } = self.0.judged(py, None, None)?;
        let (forest, detection) = forest_of(&snapshot)?;
        let tree = tree_named(forest, id)?;
        let median = median_duration(forest);
        let duration = forest.tree(tree).duration();
        let unit = forest.unit();
        let verdict = if detection.is_abnormal(tree) {
            "abnormal"
        } else {
            "not abnormal"
        };
        let root = snapshot.analysis().map_or("", |it| &it.root_name);
        let title = format!(
            "{} {} of {root}: {}, median {}, {verdict}",
            forest.code(tree),
            forest.label(tree),
            unit.amount(duration),
            unit.amount(median),
        );
        Ok(py.detach(|| Tree::new(forest, tree, &explainer.reasons(tree), title)))
    }

    /// Labels an execution `"normal"` or `"abnormal"`, or removes its label with `None`.
    ///
    /// The label is on disk when this returns, and the window shows it. The model is trained with it at once, unless that
    /// would reclassify many executions: then `train` does it.
    #[pyo3(signature = (id, label, *, progress = None))]
    fn label(
        &self,
        py: Python<'_>,
        id: &str,
        label: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let label = match label {
            None => None,
            Some("normal") => Some(Label::Normal),
            Some("abnormal") => Some(Label::Abnormal),
            Some(other) => {
                let text =
                    format!("the label {other:?} is unknown: use \"normal\", \"abnormal\" or None");
                return Err(PyValueError::new_err(text));
            }
        };
        let snapshot = self.0.snapshot()?;
        let tree = tree_named(forest_of(&snapshot)?.0, id)?;
        if !self.0.may_label || snapshot.edits.journal.is_none() {
            return Err(error(
                "labels are not stored: open the run with labels=\"write\", and in no window at the same time",
            ));
        }
        let user = LocalHost::new(default_folder(), None).user();
        let trees = vec![tree];
        let author = user.map(Command::SetName);
        let mut commands: Vec<Command> = author.into_iter().collect();
        commands.push(Command::SetLabel { trees, label });
        self.0.perform(py, commands, progress).map(|_| ())
    }

    /// Trains with all labels, and ranks the executions anew. Returns the number of labels.
    #[pyo3(signature = (*, progress = None))]
    fn train(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<usize> {
        let again = progress.as_ref().map(|it| it.clone_ref(py));
        let mut snapshot = self.0.perform(py, vec![Command::Train], progress)?;
        if snapshot.model.question.is_some() {
            // The call of this function is the user's answer.
            let commands = vec![Command::Answer(TrainingAnswer::Keep)];
            snapshot = self.0.perform(py, commands, again)?;
        }
        Ok(snapshot.edits.labels.len())
    }

    /// Returns the labels of the judged executions: names and `"normal"` or `"abnormal"`.
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = self.0.snapshot()?;
        let (forest, _) = forest_of(&snapshot)?;
        let labels = PyDict::new(py);
        for (tree, label) in snapshot.edits.labels_by_tree.iter().enumerate() {
            let label = match label {
                None => continue,
                Some(Label::Normal) => "normal",
                Some(Label::Abnormal) => "abnormal",
            };
            let name = forest.code(TreeIdx::from_index(tree)).to_string();
            labels.set_item(name, label)?;
        }
        Ok(labels)
    }

    /// Saves the trained model, with which `callgrove analyze --model` judges other runs.
    #[pyo3(signature = (path, *, progress = None))]
    fn save_model(
        &self,
        py: Python<'_>,
        path: OutputPath,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let OutputPath(path) = path;
        let path = path.to_string_lossy().into_owned();
        let commands = vec![Command::SaveModel { path }];
        self.0.perform(py, commands, progress).map(|_| ())
    }

    /// Writes the run as a trace of Perfetto, with the incidents and the abnormal executions as tracks of their own.
    #[pyo3(signature = (path, *, findings = true, progress = None))]
    fn to_perfetto(
        &self,
        py: Python<'_>,
        path: OutputPath,
        findings: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let OutputPath(path) = path;
        let snapshot = self.0.snapshot()?;
        let trace = self.0.trace()?;
        let is_judged = findings && snapshot.detection().is_some();
        let callback = progress.as_ref();
        let judged = is_judged.then(|| self.0.judged(py, None, callback));
        let judged = judged.transpose()?;
        let written = watched(py, progress, "Writing the file", |progress| {
            write_trace(
                &path,
                &trace,
                &snapshot,
                (findings, judged.as_ref()),
                progress,
            )
        })?;
        written.map_err(exception)
    }

    /// Closes the run: its memory is released, and a window can open its labels.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        let Ok(trace) = self.0.trace() else {
            return format!("<callgrove.Run {}: closed>", self.0.source);
        };
        let span = trace.time_span();
        let duration = span.map_or(DurationNs::ZERO, |(begin, end)| DurationNs(end.0 - begin.0));
        let amount = trace.unit.amount(duration);
        format!(
            "<callgrove.Run {}: {}, {}, {amount}>",
            self.0.source,
            count_of(trace.ranks().len(), "rank"),
            count_of(trace.num_executions(), "call"),
        )
    }
}
