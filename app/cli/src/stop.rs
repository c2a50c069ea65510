//! Whether the program was asked to end: by Ctrl+C, or by a signal of the batch system.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::exit::Exit;
use crate::output::Troubles;

/// How often a server looks whether it shall end.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// Set once somebody wants the program to end. A second wish ends it at once, as usual.
#[derive(Clone, Default)]
pub(crate) struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// From now on, listens for the wish.
    pub(crate) fn listen() -> Result<Self> {
        let stop = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot listen for signals")?;
        let told = stop.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(interrupted());
                told.0.store(true, Ordering::Relaxed);
                runtime.block_on(interrupted());
                exit_at_once();
            })
            .context("cannot listen for signals")?;
        Ok(stop)
    }

    /// Whether to end.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// After the wish, stays for others who end at the same time, as the processes of a batch job do: as long as `others`
    /// has words for what is waited for, which are told, and no longer than `limit`.
    pub(crate) fn stay_for(&self, limit: Duration, others: impl Fn() -> Option<String>) {
        let give_up = Instant::now() + limit;
        let mut troubles = Troubles::default();
        while self.is_set()
            && Instant::now() < give_up
            && let Some(others) = others()
        {
            let words = format!("waiting for {others}; a second signal ends it at once");
            troubles.report(vec![words]);
            std::thread::sleep(LOOK);
        }
    }

    /// The same as an answer to who asks whether to go on.
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
    reason = "the main thread may be stuck in what is to be ended"
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
