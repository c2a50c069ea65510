//! Opening of runs.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use callgrove_headless::{HeadlessSession, LocalHost, default_folder};
use callgrove_source::PATH_SEPARATOR;
use pyo3::exceptions::{PyFileNotFoundError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{exception, warn_of_damage};
use crate::opened::OpenedRun;
use crate::run::PyRun;
use crate::watch::SessionMonitor;

/// The sources of a run: one path or pattern, or several.
#[derive(FromPyObject)]
pub(crate) enum SourcePaths {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

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
    source: SourcePaths,
    function: Option<&str>,
    labels: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyRun> {
    let paths = match source {
        SourcePaths::One(path) => vec![path],
        SourcePaths::Several(paths) => paths,
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
    if let Some(trace) = session.session.snapshot().trace() {
        warn_of_damage(py, &trace.warnings)?;
    }
    let may_label = labels == "write";
    Ok(PyRun(OpenedRun::new(
        (source, function),
        session,
        monitor,
        may_label,
    )))
}
