//! A store on its own thread, so that no task of the server waits for a disk.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use callgrove_provdb::{ProvDbError, Store};
use tokio::sync::{mpsc, oneshot};

/// Maximum number of queued jobs; further ones wait.
const MAX_WAITING_JOBS: usize = 64;
/// Timeout for stores to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between checks whether the stores are closed.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

type Job = Box<dyn FnOnce(&mut dyn Store) + Send>;

/// Sends jobs to the thread of a store, which closes the store and ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub(super) struct StoreThread {
    jobs: mpsc::Sender<Job>,
    thread: Arc<JoinHandle<()>>,
}

impl StoreThread {
    pub(super) fn start(name: &str, mut store: Box<dyn Store>) -> io::Result<Self> {
        let (jobs, mut queue) = mpsc::channel::<Job>(MAX_WAITING_JOBS);
        let work = move || {
            while let Some(job) = queue.blocking_recv() {
                job(store.as_mut());
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self {
            jobs,
            thread: Arc::new(thread),
        })
    }

    /// Returns true if the thread has ended, which only a panic can cause.
    pub(super) fn has_ended(&self) -> bool {
        self.jobs.is_closed()
    }

    /// Accepts no more jobs, and waits until the stores are closed or a timeout, since other clones may still exist.
    pub(super) fn finish(all: impl IntoIterator<Item = Self>) {
        let threads: Vec<_> = all.into_iter().map(|it| it.thread).collect();
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        while threads.iter().any(|it| !it.is_finished()) && Instant::now() < deadline {
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Runs a job on the store; it runs to its end even if the caller stops waiting.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut dyn Store) -> Result<T, ProvDbError> + Send + 'static,
    ) -> Result<T, ProvDbError> {
        let (sender, answer) = oneshot::channel();
        let job = Box::new(move |store: &mut dyn Store| {
            // The caller may be gone.
            drop(sender.send(job(store)));
        });
        let ended = || ProvDbError::Unreachable {
            cause: "the thread of the store has ended".to_owned(),
            place: "this process".to_owned(),
        };
        if self.jobs.send(job).await.is_err() {
            return Err(ended());
        }
        match answer.await {
            Ok(result) => result,
            Err(_) => Err(ended()),
        }
    }
}
