//! An open run, and the questions about it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use anyhow::{Context as _, anyhow};
use arrow_array::RecordBatch;
use callgrove_export::write_perfetto;
use callgrove_headless::tables::{CauseTable, IncidentTable, PatternTable, TreeTable};
use callgrove_headless::{
    HeadlessSession, JudgedForest, LocalHost, Readers, default_folder, replace_file_with,
    trace_findings,
};
use callgrove_model::{
    DurationNs, Forest, FuncId, FunctionPattern, Label, Progress, Trace, TreeIdx, thousands,
};
use callgrove_query::{RunCauses, RunPatterns};
use callgrove_session::{
    Command, Detection, Explainer, Host as _, Snapshot, TrainingAnswer, grow_forest,
    median_duration, tree_rows,
};
use callgrove_source::PATH_SEPARATOR;
use pyo3::exceptions::{PyFileNotFoundError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::batch_of;
use crate::errors::{error, exception, warn_of_damage};
use crate::rows::LaneFilter;
use crate::table::{Table, TableRows};
use crate::tree::Tree;
use crate::watch::{SessionMonitor, watched};

/// A run that is open: its contents and what was found in it.
///
/// `callgrove.open` opens one. `close()`, or the end of a `with` block, releases its memory and its labels.
#[pyclass(frozen, module = "callgrove")]
pub(crate) struct Run {
    source: String,
    /// `None` once the run is closed.
    session: Mutex<Option<HeadlessSession>>,
    snapshot: Mutex<Option<Arc<Snapshot>>>,
    /// What compares trees with usual ones, and the snapshot that it belongs to.
    explainer: Mutex<Option<(u64, Arc<Explainer>)>>,
    monitor: SessionMonitor,
    may_label: bool,
}

/// The sources of a run: one path or pattern, or several.
#[derive(FromPyObject)]
pub(crate) enum Sources {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

/// A judged forest with its snapshot.
struct Judged {
    snapshot: Arc<Snapshot>,
    explainer: Arc<Explainer>,
}

/// A path to a file that is written.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub(crate) struct OutputPath(PathBuf);

/// Opens a run: a folder, a file or a pattern such as `run/*.bp`, or a list of these; of any format.
///
/// The run is read whole, and the executions of `function` are judged; without one, those of the most promising function.
/// Labels are read from the user's journal, where those of the window are, too. With `labels="write"` this process owns the
/// journal, and `label` stores labels in it; with `"read"` the journal may be open in a window; with `"ignore"` it is not
/// used.
///
/// `progress(stage, fraction)` is called while this works; without it, progress is shown on standard error, if that is a
/// terminal. Ctrl+C raises `KeyboardInterrupt`. Damage in the data is reported as `DataWarning`.
#[pyfunction]
#[pyo3(signature = (source, function = None, *, labels = "write", progress = None))]
pub(crate) fn open(
    py: Python<'_>,
    source: Sources,
    function: Option<&str>,
    labels: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Run> {
    let paths = match source {
        Sources::One(path) => vec![path],
        Sources::Several(paths) => paths,
    };
    let paths: Vec<_> = paths.iter().map(|it| it.to_string_lossy()).collect();
    let source = paths.join(PATH_SEPARATOR);
    let mut host = match labels {
        "write" => LocalHost::new(default_folder(), None),
        "read" => LocalHost::new(default_folder(), None).reading(),
        "ignore" => LocalHost::new(Err(anyhow!("labels are ignored")), None),
        other => {
            let text =
                format!("labels={other:?} is unknown: use \"write\", \"read\" or \"ignore\"");
            return Err(PyValueError::new_err(text));
        }
    };
    py.detach(|| host.check_source(&source)).map_err(|cause| {
        if Path::new(&source).exists() {
            exception(cause)
        } else {
            PyFileNotFoundError::new_err(cause.with_causes())
        }
    })?;
    let monitor = SessionMonitor::default();
    monitor.begin(progress);
    let watching = Box::new(monitor.clone());
    let opened = py.detach(|| HeadlessSession::open(&source, function, Box::new(host), watching));
    if let Some(stopped) = monitor.end() {
        return Err(stopped);
    }
    let session = opened.map_err(exception)?;
    let snapshot = Arc::clone(session.session.snapshot());
    if let Some(trace) = &snapshot.trace {
        warn_of_damage(py, &trace.warnings)?;
    }
    Ok(Run {
        source,
        session: Mutex::new(Some(session)),
        snapshot: Mutex::new(Some(snapshot)),
        explainer: Mutex::new(None),
        monitor,
        may_label: labels == "write",
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    fn snapshot(&self) -> PyResult<Arc<Snapshot>> {
        let snapshot = lock(&self.snapshot).clone();
        snapshot.ok_or_else(|| error("the run is closed"))
    }

    fn trace(&self) -> PyResult<Arc<Trace>> {
        let trace = self.snapshot()?.trace.clone();
        trace.ok_or_else(|| error("the run has no trace"))
    }

    /// Carries out commands, and waits for them.
    fn perform(
        &self,
        py: Python<'_>,
        commands: Vec<Command>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Arc<Snapshot>> {
        py.detach(|| {
            // Another thread that waits here would keep the lock that the first one's progress needs.
            let mut session = match self.session.try_lock() {
                Ok(session) => session,
                Err(TryLockError::Poisoned(session)) => session.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    return Err(error("another thread works with this run: wait for it"));
                }
            };
            let session = session.as_mut();
            let session = session.ok_or_else(|| error("the run is closed"))?;
            self.monitor.begin(progress);
            let performed = session.perform(commands);
            let stopped = self.monitor.end();
            let snapshot = Arc::clone(session.session.snapshot());
            *lock(&self.snapshot) = Some(Arc::clone(&snapshot));
            match (stopped, performed) {
                (Some(stopped), _) => Err(stopped),
                (None, Ok(None)) => Ok(snapshot),
                (None, Ok(Some(problem))) => Err(error(problem.trim_end_matches('.'))),
                (None, Err(cause)) => Err(exception(cause)),
            }
        })
    }

    /// Returns the state with the executions of `function` judged, if it is given.
    fn judged(
        &self,
        py: Python<'_>,
        function: Option<String>,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<Judged> {
        let mut snapshot = self.snapshot()?;
        let root = snapshot.analysis.as_ref().map(|it| it.root_name.clone());
        if let Some(function) = function.filter(|it| Some(it) != root.as_ref()) {
            let commands = vec![Command::SetRoot { function }];
            snapshot = self.perform(py, commands, progress.map(|it| it.clone_ref(py)))?;
        }
        let (forest, detection) = forest_of(&snapshot)?;
        let known = lock(&self.explainer).clone();
        let known = known.filter(|(revision, _)| *revision == snapshot.revision);
        if let Some((_, explainer)) = known {
            return Ok(Judged {
                snapshot,
                explainer,
            });
        }
        let callback = progress.map(|it| it.clone_ref(py));
        let explainer = watched(py, callback, "Comparing the trees", |progress| {
            Explainer::new(forest, detection, &snapshot.labels_by_tree, progress)
        })?;
        let explainer = Arc::new(explainer.map_err(exception)?);
        *lock(&self.explainer) = Some((snapshot.revision, Arc::clone(&explainer)));
        Ok(Judged {
            snapshot,
            explainer,
        })
    }

    /// Returns the functions that a name or pattern selects, sorted.
    fn functions(trace: &Trace, pattern: Option<&str>) -> PyResult<Option<Vec<FuncId>>> {
        let Some(pattern) = pattern else {
            return Ok(None);
        };
        let mut functions = Forest::functions_named(trace, &FunctionPattern::new(pattern));
        if functions.is_empty() {
            return Err(error(format!(
                "no function of the run is called {pattern}: write its name, or a pattern with *"
            )));
        }
        functions.sort();
        Ok(Some(functions))
    }
}

fn forest_of(snapshot: &Snapshot) -> PyResult<(&Forest, &Detection)> {
    let analysis = snapshot.analysis.as_ref();
    let analysis = analysis.ok_or_else(|| {
        error("no function of this run is judged: name one, as in rank(\"PairEAM::compute\")")
    })?;
    let detection = snapshot.detection.as_ref();
    let detection = detection.ok_or_else(|| error("the executions are not judged"))?;
    Ok((&analysis.forest, detection))
}

fn causes_of(snapshot: &Snapshot) -> PyResult<&Arc<RunCauses>> {
    let causes = snapshot.causes.as_ref().filter(|it| it.is_timed());
    causes.ok_or_else(|| error("causes need a trace: the trees of a file have no times"))
}

/// Returns the tree with a name such as `#0-40`, or with an event label such as `0:3:17`.
fn tree_named(forest: &Forest, name: &str) -> PyResult<TreeIdx> {
    let mut trees = (0..forest.len()).map(TreeIdx::from_index);
    let found = trees.find(|&tree| {
        forest.code(tree).to_string() == name || forest.label(tree).to_string() == name
    });
    found.ok_or_else(|| {
        error(format!(
            "no judged execution is {name}: name it as rank() does, #RANK-INDEX or an event_id"
        ))
    })
}

fn table(batch: PyResult<RecordBatch>) -> PyResult<Table> {
    Ok(Table(TableRows::Batch(batch?)))
}

#[pymethods]
impl Run {
    /// The path or pattern that the run was opened from.
    #[getter]
    fn source(&self) -> &str {
        &self.source
    }

    /// The function whose executions are judged.
    #[getter]
    fn function(&self) -> PyResult<Option<String>> {
        let snapshot = self.snapshot()?;
        Ok(snapshot.analysis.as_ref().map(|it| it.root_name.clone()))
    }

    /// The number of ranks.
    #[getter]
    fn num_ranks(&self) -> PyResult<usize> {
        Ok(self.trace()?.ranks().len())
    }

    /// The number of calls.
    #[getter]
    fn num_calls(&self) -> PyResult<usize> {
        Ok(self.trace()?.num_executions())
    }

    /// The time from the first call to the end of the last one, in nanoseconds.
    #[getter]
    fn duration_ns(&self) -> PyResult<i64> {
        let span = self.trace()?.time_span();
        Ok(span.map_or(0, |(begin, end)| end.0 - begin.0))
    }

    /// The file of the run's labels, if there is one.
    #[getter]
    fn journal(&self) -> PyResult<Option<String>> {
        Ok(self.snapshot()?.journal.as_ref().map(ToString::to_string))
    }

    /// Returns the functions whose executions are worth judging, the most promising first.
    fn suggestions(&self) -> PyResult<Vec<String>> {
        let snapshot = self.snapshot()?;
        Ok(snapshot
            .suggestions
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
    ) -> PyResult<Table> {
        let trace = self.trace()?;
        let functions = Self::functions(&trace, function)?;
        let filter = LaneFilter { program, rank };
        Ok(Table(TableRows::Calls(trace, filter, functions)))
    }

    /// Returns the messages between ranks, in order of sending.
    fn messages(&self) -> PyResult<Table> {
        Ok(Table(TableRows::Messages(self.trace()?)))
    }

    /// Returns the enters and leaves in order of time, in the columns of Pipit.
    #[pyo3(signature = (rank = None, *, program = None))]
    fn events(&self, rank: Option<u32>, program: Option<u32>) -> PyResult<Table> {
        let filter = LaneFilter { program, rank };
        Ok(Table(TableRows::Events(self.trace()?, filter)))
    }

    /// Returns the executions of a function or pattern with their times: the trees that `rank` judges.
    #[pyo3(signature = (function = None))]
    fn executions(&self, py: Python<'_>, function: Option<&str>) -> PyResult<Table> {
        let snapshot = self.snapshot()?;
        let forest = match function {
            Some(function) => grow_forest(&self.trace()?, function).map_err(exception)?.0,
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
    ) -> PyResult<Table> {
        let Judged {
            snapshot,
            explainer,
        } = self.judged(py, function, progress.as_ref())?;
        let (forest, detection) = forest_of(&snapshot)?;
        let causes = snapshot.causes.as_deref();
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
            let labels = &snapshot.labels_by_tree;
            batch_of(
                &of,
                tree_rows(forest, detection, labels, causes, reasons_of),
            )
        })?)
    }

    /// Returns what delayed the abnormal executions; with `all`, every execution. As `callgrove causes`.
    #[pyo3(signature = (*, all = false, progress = None))]
    fn causes(&self, py: Python<'_>, all: bool, progress: Option<Py<PyAny>>) -> PyResult<Table> {
        let snapshot = self.snapshot()?;
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
    fn incidents(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Table> {
        let snapshot = self.snapshot()?;
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
    fn patterns(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Table> {
        let (snapshot, trace) = (self.snapshot()?, self.trace()?);
        let batch = watched(py, progress, "Searching for patterns", |progress| {
            let patterns = RunPatterns::find(&trace, progress).map_err(exception)?;
            let rows = patterns.listed().into_iter();
            let rows = rows.map(|it| patterns.row(it, snapshot.reference));
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
        } = self.judged(py, None, None)?;
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
        let root = snapshot.analysis.as_ref().map_or("", |it| &it.root_name);
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
        let snapshot = self.snapshot()?;
        let tree = tree_named(forest_of(&snapshot)?.0, id)?;
        if !self.may_label || snapshot.journal.is_none() {
            return Err(error(
                "labels are not stored: open the run with labels=\"write\", and in no window at the same time",
            ));
        }
        let user = LocalHost::new(default_folder(), None).user();
        let trees = vec![tree];
        let author = user.map(Command::SetName);
        let mut commands: Vec<Command> = author.into_iter().collect();
        commands.push(Command::SetLabel { trees, label });
        self.perform(py, commands, progress).map(|_| ())
    }

    /// Trains with all labels, and ranks the executions anew. Returns the number of labels.
    #[pyo3(signature = (*, progress = None))]
    fn train(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<usize> {
        let again = progress.as_ref().map(|it| it.clone_ref(py));
        let mut snapshot = self.perform(py, vec![Command::Train], progress)?;
        if snapshot.question.is_some() {
            // The call of this function is the user's answer.
            let commands = vec![Command::Answer(TrainingAnswer::Keep)];
            snapshot = self.perform(py, commands, again)?;
        }
        Ok(snapshot.labels.len())
    }

    /// Returns the labels of the judged executions: names and `"normal"` or `"abnormal"`.
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = self.snapshot()?;
        let (forest, _) = forest_of(&snapshot)?;
        let labels = PyDict::new(py);
        for (tree, label) in snapshot.labels_by_tree.iter().enumerate() {
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
        self.perform(py, commands, progress).map(|_| ())
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
        let snapshot = self.snapshot()?;
        let trace = self.trace()?;
        let is_judged = findings && snapshot.detection.is_some();
        let callback = progress.as_ref();
        let judged = is_judged.then(|| self.judged(py, None, callback));
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
        py.detach(|| {
            lock(&self.session).take();
            lock(&self.snapshot).take();
            lock(&self.explainer).take();
        });
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        let Ok(trace) = self.trace() else {
            return format!("<callgrove.Run {}: closed>", self.source);
        };
        let span = trace.time_span();
        let duration = span.map_or(DurationNs::ZERO, |(begin, end)| DurationNs(end.0 - begin.0));
        let amount = trace.unit.amount(duration);
        format!(
            "<callgrove.Run {}: {} ranks, {} calls, {amount}>",
            self.source,
            thousands(trace.ranks().len()),
            thousands(trace.num_executions()),
        )
    }
}

/// Writes a trace of Perfetto.
fn write_trace(
    path: &Path,
    trace: &Trace,
    snapshot: &Snapshot,
    (with_findings, judged): (bool, Option<&Judged>),
    progress: Progress<'_>,
) -> anyhow::Result<()> {
    let causes = snapshot.causes.as_deref().filter(|_| with_findings);
    let forest = judged.and_then(|it| {
        Some(JudgedForest {
            forest: &it.snapshot.analysis.as_ref()?.forest,
            detection: it.snapshot.detection.as_ref()?,
            explainer: &it.explainer,
            labels: &it.snapshot.labels_by_tree,
        })
    });
    let findings = causes.map(|causes| trace_findings(causes, forest));
    replace_file_with(path, Readers::ByMask, |file| {
        let mut file = std::io::BufWriter::new(file);
        write_perfetto(trace, findings.as_ref(), &mut file, progress)?;
        anyhow::Ok(())
    })
    .with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the executions of a forest, in its order.
fn executions(forest: &Forest) -> PyResult<RecordBatch> {
    use callgrove_export::{TableCell, TableColumn, UntypedTable};
    let columns = [
        TableColumn::text("tree"),
        TableColumn::text("event_id"),
        TableColumn::int("program"),
        TableColumn::int("rank"),
        TableColumn::int("thread"),
        TableColumn::int("index"),
        TableColumn::int("entry_ns"),
        TableColumn::int("exit_ns"),
        TableColumn::int("duration_ns"),
        TableColumn::int("num_calls"),
    ];
    let rows = (0..forest.len()).map(TreeIdx::from_index).map(|tree| {
        let (code, lane, cstree) = (forest.code(tree), forest.lane_of(tree), forest.tree(tree));
        let cells = vec![
            TableCell::Text(code.to_string()),
            TableCell::Text(forest.label(tree).to_string()),
            TableCell::Int(lane.program.0.into()),
            TableCell::Int(code.rank.0.into()),
            TableCell::Int(lane.thread.0.into()),
            TableCell::Int(code.index.into()),
            TableCell::Int(cstree.entry().first().map_or(0, |it| it.0)),
            TableCell::Int(cstree.exit().0),
            TableCell::Int(cstree.duration().0),
            TableCell::Int(i64::try_from(cstree.len()).unwrap_or(i64::MAX)),
        ];
        ((), cells)
    });
    batch_of(&UntypedTable::new("executions", &columns), rows)
}
