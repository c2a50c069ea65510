//! The part of a process that reads a log in the background.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callgrove_pserver::PserverError;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::connection::Bus;
use crate::grpc_exchange::ExchangeOptions;

/// Pause between attempts to reach the bus.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// Time in which the rest of the log must be read at the end.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// What works in the background, for as long as it takes.
pub(super) trait BusWork: Send + 'static {
    /// Works until asked to stop and at the end of the log. After an error it is called again, unless asked to stop.
    fn follow(
        &mut self,
        stopped: &mut watch::Receiver<bool>,
    ) -> impl Future<Output = Result<(), String>> + Send;
}

/// Why work does not go on at present.
#[derive(Clone, Debug, Default)]
pub(super) struct BusProblem(Arc<Mutex<Option<String>>>);

impl BusProblem {
    pub(super) fn set(&self, problem: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    fn get(&self) -> Option<String> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.clone()
    }
}

/// BusWork in the background on a thread of its own.
pub(super) struct BusTask {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    problem: BusProblem,
    /// Last, since the task needs it to end.
    runtime: Runtime,
}

impl BusTask {
    /// Connects to the bus of the options, waiting for one that has not started yet, and begins.
    ///
    /// # Errors
    /// [`PserverError::NotConnected`] if the bus cannot be reached or lacks what is needed; [`PserverError::BadOption`].
    pub(super) fn start<W: BusWork>(
        options: &ExchangeOptions,
        name: &str,
        work: impl FnOnce(Bus, BusProblem) -> W,
    ) -> Result<Self, PserverError> {
        let runtime = runtime_of(options, name)?;
        let give_up = Instant::now() + options.startup_wait;
        let bus = loop {
            match runtime.block_on(Bus::open(options)) {
                Ok(bus) => break bus,
                Err(_) if Instant::now() + RETRY_INTERVAL < give_up => {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                Err(cause) => {
                    return Err(PserverError::NotConnected {
                        address: options.address.clone(),
                        cause,
                    });
                }
            }
        };
        let problem = BusProblem::default();
        let (stop, stopped) = watch::channel(false);
        let work = work(bus, problem.clone());
        Ok(Self {
            stop,
            task: runtime.spawn(run(work, problem.clone(), stopped)),
            problem,
            runtime,
        })
    }

    /// Returns why it does not go on at present.
    pub(super) fn problem(&self) -> Option<String> {
        self.problem.get()
    }

    /// Returns whether it has ended by itself.
    pub(super) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Reads what the log has now, and ends. Returns why it could not, if so.
    pub(super) fn finish(self) -> Option<String> {
        self.stop.send_replace(true);
        let ended = self
            .runtime
            .block_on(async { timeout(END_TIMEOUT, self.task).await });
        match ended {
            Ok(Ok(())) => self.problem.get(),
            Ok(Err(panicked)) => Some(panicked.to_string()),
            Err(_) => {
                let cause = format!("the log was not read to its end within {END_TIMEOUT:?}");
                Some(
                    self.problem
                        .get()
                        .map_or(cause.clone(), |it| format!("{cause}: {it}")),
                )
            }
        }
    }
}

impl fmt::Debug for BusTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BusTask")
            .field("problem", &self.problem())
            .finish_non_exhaustive()
    }
}

async fn run(mut work: impl BusWork, problem: BusProblem, mut stopped: watch::Receiver<bool>) {
    loop {
        match work.follow(&mut stopped).await {
            Ok(()) => return,
            Err(cause) => {
                problem.set(Some(format!("the message bus: {cause}")));
                if *stopped.borrow() {
                    return;
                }
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }
}

/// Starts the thread that drives a connection to a bus.
pub(super) fn runtime_of(options: &ExchangeOptions, name: &str) -> Result<Runtime, PserverError> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name(name)
        .enable_all()
        .build();
    runtime.map_err(|error| PserverError::BadOption {
        option: format!("the message bus {}", options.address),
        cause: error.to_string(),
    })
}
