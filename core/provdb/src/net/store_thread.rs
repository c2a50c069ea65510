//! A store on a thread of its own, so that no task of the server waits for a disk.

use std::thread;

use tokio::sync::{mpsc, oneshot};

use crate::{ProvDbError, Store};

/// Requests that wait for the store at most; more wait for a place among them.
const MOST_WAITING: usize = 64;

type Job = Box<dyn FnOnce(&mut dyn Store) + Send>;

/// Gives jobs to the thread of a store, which ends when the last of its clones is gone.
#[derive(Clone)]
pub(super) struct StoreThread(mpsc::Sender<Job>);

impl StoreThread {
    pub(super) fn new(name: &str, mut store: Box<dyn Store>) -> Self {
        let (sender, mut jobs) = mpsc::channel::<Job>(MOST_WAITING);
        let work = move || {
            while let Some(job) = jobs.blocking_recv() {
                job(store.as_mut());
            }
        };
        // Without a thread the jobs' end of the channel is gone, and every request is told so.
        drop(thread::Builder::new().name(name.to_owned()).spawn(work));
        Self(sender)
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
        if self.0.send(job).await.is_err() {
            return Err(gone());
        }
        match answer.await {
            Ok(result) => result,
            Err(_) => Err(gone()),
        }
    }
}
