//! The way to the provenance database: a thread that stores, so that detection never waits for a disk.
//!
//! What the database refuses is kept and tried again, up to a bound; a full disk thus costs nothing once there
//! is room again.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use callgrove_model::RunIdentity;
use callgrove_provdb::{Document, ProvDbError, Store};

use crate::AdError;

/// Documents that may wait for the database, in bytes; what comes beyond is lost, and said to be.
const MAX_WAITING_BYTES: usize = 256 << 20;
/// Documents stored at once, at least one.
const MAX_BATCH_BYTES: usize = 8 << 20;
/// Pause before a refused batch is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the end waits for a database that refuses.
const PATIENCE: Duration = Duration::from_secs(30);

/// Counts of the documents stored so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageStatus {
    /// On disk.
    pub num_documents: u64,
    /// Their size.
    pub num_bytes: u64,
    /// Refused and given up.
    pub num_lost: u64,
    /// What the database said last, if it refuses at present.
    pub refusal: Option<String>,
}

/// The queue of documents and the thread that stores them.
#[derive(Debug)]
pub(crate) struct ProvenanceWriter {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// What the database has not been told of the run.
    run: Option<RunIdentity>,
    documents: std::collections::VecDeque<Document>,
    num_bytes: usize,
    is_busy: bool,
    is_ending: bool,
    stored: StorageStatus,
}

impl ProvenanceWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`AdError::Thread`].
    pub(crate) fn start(store: Box<dyn Store>) -> Result<Self, AdError> {
        let shared = Arc::new(Shared::default());
        let thread = thread::Builder::new()
            .name("provenance".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || run(&shared, store)
            })
            .map_err(AdError::Thread)?;
        Ok(Self { shared, thread })
    }

    /// Hands documents in; never waits.
    pub(crate) fn send(&self, documents: Vec<Document>) {
        if documents.is_empty() {
            return;
        }
        let mut queue = self.shared.lock();
        for document in documents {
            if queue.num_bytes + document.json.len() > MAX_WAITING_BYTES {
                queue.stored.num_lost += 1;
            } else {
                queue.num_bytes += document.json.len();
                queue.documents.push_back(document);
            }
        }
        self.shared.changed.notify_all();
    }

    /// Tells more of the run; never waits.
    pub(crate) fn join_run(&self, run: &RunIdentity) {
        self.shared.lock().run = Some(run.clone());
        self.shared.changed.notify_all();
    }

    /// The counts so far.
    pub(crate) fn stored(&self) -> StorageStatus {
        self.shared.lock().stored.clone()
    }

    /// Waits until everything is on disk, while the database takes what it is given.
    ///
    /// # Errors
    /// [`AdError::Lost`] if it does not.
    pub(crate) fn finish(self) -> Result<StorageStatus, AdError> {
        let deadline = Instant::now() + PATIENCE;
        let mut queue = self.shared.lock();
        while (queue.is_busy || queue.run.is_some() || !queue.documents.is_empty())
            && (queue.stored.refusal.is_none() || Instant::now() < deadline)
        {
            queue = wait(&self.shared, queue);
        }
        let mut stored = queue.stored.clone();
        stored.num_lost += queue.documents.len() as u64;
        queue.is_ending = true;
        drop(queue);
        self.shared.changed.notify_all();
        if self.thread.join().is_err() {
            stored.refusal = Some("the thread that stores has ended early".to_owned());
        }
        match stored.num_lost {
            0 => Ok(stored),
            count => Err(AdError::Lost {
                count,
                reason: stored
                    .refusal
                    .unwrap_or_else(|| "too many wait for the database".to_owned()),
            }),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run(shared: &Shared, mut store: Box<dyn Store>) {
    while let Some((run, batch)) = next_batch(shared) {
        while let Err(error) = write(store.as_mut(), run.as_ref(), &batch) {
            let mut queue = shared.lock();
            queue.stored.refusal = Some(error.to_string());
            // The end gives up on what is refused; until then it is tried again.
            if !queue.is_ending {
                queue = wait(shared, queue);
            }
            if queue.is_ending {
                return;
            }
        }
        let num_bytes: usize = batch.iter().map(|document| document.json.len()).sum();
        let mut queue = shared.lock();
        queue.num_bytes -= num_bytes;
        queue.is_busy = false;
        queue.stored.refusal = None;
        queue.stored.num_documents += batch.len() as u64;
        queue.stored.num_bytes += num_bytes as u64;
        shared.changed.notify_all();
    }
}

fn write(
    store: &mut dyn Store,
    run: Option<&RunIdentity>,
    batch: &[Document],
) -> Result<(), ProvDbError> {
    if let Some(run) = run {
        store.join_run(run)?;
    }
    store.put(batch)
}

/// What waits, or will; none at the end.
fn next_batch(shared: &Shared) -> Option<(Option<RunIdentity>, Vec<Document>)> {
    let mut queue = shared.lock();
    while queue.documents.is_empty() && queue.run.is_none() {
        if queue.is_ending {
            return None;
        }
        queue = wait(shared, queue);
    }
    let mut num_bytes = 0;
    let fits = |document: &&Document| {
        num_bytes += document.json.len();
        num_bytes <= MAX_BATCH_BYTES
    };
    let num_fitting = queue.documents.iter().take_while(fits).count();
    let num_documents = num_fitting.max(1).min(queue.documents.len());
    queue.is_busy = true;
    let run = queue.run.take();
    Some((run, queue.documents.drain(..num_documents).collect()))
}

/// Waits for a change, for a while.
fn wait<'a>(shared: &Shared, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
    let waited = shared.changed.wait_timeout(queue, PAUSE);
    waited.unwrap_or_else(PoisonError::into_inner).0
}
