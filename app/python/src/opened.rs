//! The state of an open run: its session, and what was computed for its newest scores.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use callgrove_headless::HeadlessSession;
use callgrove_model::{Forest, FuncId, FunctionPattern, Trace, TreeIdx};
use callgrove_query::RunCauses;
use callgrove_session::{Command, Detection, Explainer, Snapshot};
use pyo3::prelude::*;

use crate::errors::{error, exception};
use crate::watch::{SessionMonitor, watched};

/// A run and its session.
pub(crate) struct OpenedRun {
    pub(crate) source: String,
    /// `None` once the run is closed.
    session: Mutex<Option<HeadlessSession>>,
    snapshot: Mutex<Option<Arc<Snapshot>>>,
    /// Compares trees with usual ones; with the snapshot that it belongs to.
    explainer: Mutex<Option<(u64, Arc<Explainer>)>>,
    monitor: SessionMonitor,
    /// The function that was named last.
    function: Mutex<Option<String>>,
    pub(crate) may_label: bool,
}

/// A judged forest with its snapshot.
pub(crate) struct Judged {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) explainer: Arc<Explainer>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenedRun {
    /// Returns the state of a run that was opened.
    pub(crate) fn new(
        (source, function): (String, Option<&str>),
        session: HeadlessSession,
        monitor: SessionMonitor,
        may_label: bool,
    ) -> Self {
        let snapshot = Arc::clone(session.session.snapshot());
        Self {
            source,
            session: Mutex::new(Some(session)),
            snapshot: Mutex::new(Some(snapshot)),
            explainer: Mutex::new(None),
            monitor,
            function: Mutex::new(function.map(str::to_owned)),
            may_label,
        }
    }

    /// Returns the newest snapshot.
    pub(crate) fn snapshot(&self) -> PyResult<Arc<Snapshot>> {
        let snapshot = lock(&self.snapshot).clone();
        snapshot.ok_or_else(|| error("the run is closed"))
    }

    /// Returns the trace.
    pub(crate) fn trace(&self) -> PyResult<Arc<Trace>> {
        let trace = self.snapshot()?.trace().cloned();
        trace.ok_or_else(|| error("the run has no trace"))
    }

    /// Carries out commands, and waits for them.
    pub(crate) fn perform(
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
    pub(crate) fn judged(
        &self,
        py: Python<'_>,
        function: Option<String>,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<Judged> {
        let mut snapshot = self.snapshot()?;
        let known = lock(&self.function).clone();
        if let Some(function) = function.filter(|it| Some(it) != known.as_ref()) {
            let commands = vec![Command::SetRoot {
                function: function.clone(),
            }];
            snapshot = self.perform(py, commands, progress.map(|it| it.clone_ref(py)))?;
            *lock(&self.function) = Some(function);
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
            Explainer::new(forest, detection, &snapshot.edits.labels_by_tree, progress)
        })?;
        let explainer = Arc::new(explainer.map_err(exception)?);
        *lock(&self.explainer) = Some((snapshot.revision, Arc::clone(&explainer)));
        Ok(Judged {
            snapshot,
            explainer,
        })
    }

    /// Returns the functions that a name or pattern selects, sorted.
    pub(crate) fn functions(trace: &Trace, pattern: Option<&str>) -> PyResult<Option<Vec<FuncId>>> {
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

    /// Releases the session and all that was computed.
    pub(crate) fn close(&self) {
        lock(&self.session).take();
        lock(&self.snapshot).take();
        lock(&self.explainer).take();
    }
}

/// Returns the forest whose executions are judged, and their scores.
pub(crate) fn forest_of(snapshot: &Snapshot) -> PyResult<(&Forest, &Detection)> {
    let analysis = snapshot.analysis();
    let analysis = analysis.ok_or_else(|| {
        error("no function of this run is judged: name one, as in rank(\"PairEAM::compute\")")
    })?;
    let detection = snapshot.detection();
    let detection = detection.ok_or_else(|| error("the executions are not judged"))?;
    Ok((&analysis.forest, detection))
}

/// Returns the causes of the delays of a run.
pub(crate) fn causes_of(snapshot: &Snapshot) -> PyResult<&Arc<RunCauses>> {
    let causes = snapshot.causes().filter(|it| it.is_timed());
    causes.ok_or_else(|| error("causes need a trace: the trees of a file have no times"))
}

/// Returns the tree with a name such as `#0-40`, or with an event label such as `0:3:17`.
pub(crate) fn tree_named(forest: &Forest, name: &str) -> PyResult<TreeIdx> {
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
