//! The request to stop the program: Ctrl+C, or a signal of the batch system.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::exit::Exit;
use crate::output::Problems;

/// Interval at which servers check for the request.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A flag that is set once the program is asked to stop. A second request stops it at once, as usual.
#[derive(Clone, Default)]
pub(crate) struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// Starts to listen for the request.
    pub(crate) fn listen() -> Result<Self> {
        let stop = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot listen for signals")?;
        let requested = stop.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(interrupted());
                requested.0.store(true, Ordering::Relaxed);
                runtime.block_on(interrupted());
                exit_at_once();
            })
            .context("cannot listen for signals")?;
        Ok(stop)
    }

    /// Returns whether the program is asked to stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// After the request, waits for other processes that stop at the same time, as in a batch job. Waits while `others`
    /// returns a description of them, which is reported, but at most for `limit`.
    pub(crate) fn wait_for(&self, limit: Duration, others: impl Fn() -> Option<String>) {
        let deadline = Instant::now() + limit;
        let mut problems = Problems::default();
        while self.is_set()
            && Instant::now() < deadline
            && let Some(others) = others()
        {
            let text = format!("waiting for {others}; a second signal stops the program at once");
            problems.report(vec![text]);
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns the request as a control flow: break once the program is asked to stop.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        if self.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[expect(
    clippy::exit,
    reason = "the main thread may be stuck in the work that is to be stopped"
)]
fn exit_at_once() {
    std::process::exit(Exit::Interrupted.code().into())
}

#[cfg(unix)]
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

#[cfg(not(unix))]
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
