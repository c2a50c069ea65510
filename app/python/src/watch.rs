//! Progress and cancellation of long work, which runs without Python's global lock.

use std::io::{IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callgrove_headless::WorkMonitor;
use callgrove_model::Progress;
use callgrove_session::Work;
use pyo3::prelude::*;

use crate::errors::error;

/// Interval of looking for Ctrl+C.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Shows progress through a function of the user, or on standard error, and looks for signals.
#[derive(Default)]
pub(crate) struct WorkReporter {
    /// The user's function, called with a stage and a fraction.
    callback: Option<Py<PyAny>>,
    is_terminal: bool,
    /// The stage and the percentage that are shown.
    shown: Option<(String, u32)>,
    /// The exception that stopped the work.
    stopped: Option<PyErr>,
}

/// The reporter of the session's current work.
#[derive(Clone, Default)]
pub(crate) struct SessionMonitor(Arc<Mutex<WorkReporter>>);

impl WorkReporter {
    /// Returns a reporter to `callback`, or else to standard error, if that is a terminal.
    pub(crate) fn new(callback: Option<Py<PyAny>>) -> Self {
        Self {
            is_terminal: callback.is_none() && std::io::stderr().is_terminal(),
            callback,
            ..Self::default()
        }
    }

    /// Shows progress. Returns `false` once an exception must end the work.
    fn report(&mut self, progress: Option<(&str, f32)>) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        let reported = Python::attach(|py| {
            py.check_signals()?;
            match progress {
                Some((stage, fraction)) => self.show(py, stage, fraction),
                None => Ok(()),
            }
        });
        self.stopped = reported.err();
        self.stopped.is_none()
    }

    fn show(&mut self, py: Python<'_>, stage: &str, fraction: f32) -> PyResult<()> {
        let now = (stage.to_owned(), (fraction * 100.0) as u32);
        if self.shown.as_ref() == Some(&now) {
            return Ok(());
        }
        if let Some(callback) = &self.callback {
            callback.call1(py, (stage, fraction))?;
        } else if self.is_terminal {
            write!(std::io::stderr(), "\r\x1b[2K{}… {} %", now.0, now.1).ok();
        }
        self.shown = Some(now);
        Ok(())
    }

    fn clear(&mut self) {
        if self.shown.take().is_some() && self.is_terminal {
            write!(std::io::stderr(), "\r\x1b[2K").ok();
        }
    }
}

impl SessionMonitor {
    /// Replaces the reporter, for the next command.
    pub(crate) fn begin(&self, callback: Option<Py<PyAny>>) {
        *self.lock() = WorkReporter::new(callback);
    }

    /// Returns the exception that stopped the work, if one did.
    pub(crate) fn end(&self) -> Option<PyErr> {
        std::mem::take(&mut *self.lock()).stopped
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WorkReporter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorkMonitor for SessionMonitor {
    fn at(&mut self, work: Option<&Work>) -> bool {
        self.lock().report(work.map(|it| (&*it.stage, it.fraction)))
    }

    fn clear(&mut self) {
        self.lock().clear();
    }
}

/// Runs `work` on a thread of its own, without Python's global lock, while this one shows its progress.
///
/// # Errors
/// `KeyboardInterrupt` after Ctrl+C, and exceptions of the callback; `work` panics.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    stage: &str,
    work: impl FnOnce(Progress<'_>) -> T + Send,
) -> PyResult<T> {
    let mut reporter = WorkReporter::new(callback);
    let (is_cancelled, permille) = (AtomicBool::new(false), AtomicU32::new(0));
    let sink = |fraction: f32| {
        permille.store((fraction * 1e3) as u32, Ordering::Relaxed);
        if is_cancelled.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, ended) = sync_channel::<()>(1);
            let sink = &sink;
            let worker = scope.spawn(move || {
                // Dropped at the end, also after a panic, which wakes the other thread.
                let _ended = sender;
                work(Progress::new(sink))
            });
            while ended.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let fraction = permille.load(Ordering::Relaxed) as f32 / 1e3;
                if !reporter.report(Some((stage, fraction))) {
                    is_cancelled.store(true, Ordering::Relaxed);
                }
            }
            reporter.clear();
            worker.join()
        })
    });
    match (reporter.stopped, result) {
        (Some(stopped), _) => Err(stopped),
        (None, Ok(result)) => Ok(result),
        (None, Err(_)) => Err(error(format!(
            "{stage} failed: this is a defect of Callgrove"
        ))),
    }
}
