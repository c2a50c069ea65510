//! A store on a thread of its own, so that no task of the server waits for a disk.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use crate::{ProvDbError, Store};

/// Requests that wait for the store at most; more wait for a place among them.
const MOST_WAITING: usize = 64;
/// How long the end waits for a store to close, and between two looks.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(2);

type Job = Box<dyn FnOnce(&mut dyn Store) + Send>;

/// Gives jobs to the thread of a store, which closes it and ends when the last of its clones is gone.
#[derive(Clone, Debug)]
pub(super) struct StoreThread {
    jobs: mpsc::Sender<Job>,
    thread: Arc<JoinHandle<()>>,
}

impl StoreThread {
    pub(super) fn start(name: &str, mut store: Box<dyn Store>) -> io::Result<Self> {
        let (jobs, mut given) = mpsc::channel::<Job>(MOST_WAITING);
        let work = move || {
            while let Some(job) = given.blocking_recv() {
                job(store.as_mut());
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self {
            jobs,
            thread: Arc::new(thread),
        })
    }

    /// Whether it does nothing any more, which a panic alone can cause.
    pub(super) fn has_ended(&self) -> bool {
        self.jobs.is_closed()
    }

    /// Gives no more jobs, and waits until the stores are closed, for a while: other clones may not be gone yet.
    pub(super) fn finish(all: impl IntoIterator<Item = Self>) {
        let threads: Vec<_> = all.into_iter().map(|it| it.thread).collect();
        let give_up = Instant::now() + PATIENCE;
        while threads.iter().any(|it| !it.is_finished()) && Instant::now() < give_up {
            thread::sleep(LOOK);
        }
    }

    /// Runs a job on the store; it runs to its end even if nobody waits for it any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut dyn Store) -> Result<T, ProvDbError> + Send + 'static,
    ) -> Result<T, ProvDbError> {
        let (sender, answer) = oneshot::channel();
        let job = Box::new(move |store: &mut dyn Store| {
            // Whoever asked may be gone.
            drop(sender.send(job(store)));
        });
        let gone = || ProvDbError::Unreachable {
            cause: "the thread of the store has ended".to_owned(),
            place: "this process".to_owned(),
        };
        if self.jobs.send(job).await.is_err() {
            return Err(gone());
        }
        match answer.await {
            Ok(result) => result,
            Err(_) => Err(gone()),
        }
    }
}
