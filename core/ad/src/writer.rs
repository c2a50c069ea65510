//! The way to the provenance database: a thread that stores, so that detection never waits for a disk.
//!
//! What the database refuses is kept and tried again, up to a bound; a full disk thus costs nothing once there
//! is room again.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use callgrove_provdb::{Document, Store};

use crate::AdError;

/// Documents that may wait for the database, in bytes; what comes beyond is lost, and said to be.
const MAX_WAITING_BYTES: usize = 256 << 20;
/// Documents stored at once, at least one.
const MAX_BATCH_BYTES: usize = 8 << 20;
/// Pause before a refused batch is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the end waits for a database that refuses.
const PATIENCE: Duration = Duration::from_secs(30);

/// What became of the documents so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// On disk.
    pub num_documents: u64,
    /// Their size.
    pub num_bytes: u64,
    /// Refused and given up.
    pub num_lost: u64,
    /// What the database said last, if it refuses at present.
    pub refusal: Option<String>,
}

/// The end at which documents are handed in.
#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    // Dropped to say that the thread shall end.
    alive: Option<SyncSender<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    documents: std::collections::VecDeque<Document>,
    num_bytes: usize,
    is_busy: bool,
    stored: Stored,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`AdError::Thread`].
    pub(crate) fn start(store: Box<dyn Store>) -> Result<Self, AdError> {
        let shared = Arc::new(Shared::default());
        let (alive, ended) = sync_channel(0);
        let thread = thread::Builder::new()
            .name("provenance".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || run(&shared, store, &ended)
            })
            .map_err(AdError::Thread)?;
        Ok(Self { shared, thread: Some(thread), alive: Some(alive) })
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

    /// How it goes.
    pub(crate) fn stored(&self) -> Stored {
        self.shared.lock().stored.clone()
    }

    /// Waits until everything is on disk, while the database takes what it is given.
    ///
    /// # Errors
    /// [`AdError::Lost`] if it does not.
    pub(crate) fn finish(mut self) -> Result<Stored, AdError> {
        let deadline = Instant::now() + PATIENCE;
        let mut queue = self.shared.lock();
        while (queue.is_busy || !queue.documents.is_empty())
            && (queue.stored.refusal.is_none() || Instant::now() < deadline)
        {
            let (after, _) = self
                .shared
                .changed
                .wait_timeout(queue, PAUSE)
                .unwrap_or_else(PoisonError::into_inner);
            queue = after;
        }
        let mut stored = queue.stored.clone();
        stored.num_lost += queue.documents.len() as u64;
        drop(queue);
        self.alive = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            stored.refusal = Some("the thread that stores has ended early".to_owned());
        }
        match stored.num_lost {
            0 => Ok(stored),
            count => Err(AdError::Lost {
                count,
                reason: stored.refusal.unwrap_or_else(|| "too many wait for the database".to_owned()),
            }),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run(shared: &Shared, mut store: Box<dyn Store>, ended: &Receiver<()>) {
    let mut batch: Vec<Document> = Vec::new();
    loop {
        if batch.is_empty() {
            batch = next_batch(shared);
        }
        if batch.is_empty() {
            match ended.try_recv() {
                Err(std::sync::mpsc::TryRecvError::Disconnected) => return,
                _ => continue,
            }
        }
        match store.put(&batch) {
            Ok(()) => {
                let num_bytes: usize = batch.iter().map(|document| document.json.len()).sum();
                let mut queue = shared.lock();
                queue.num_bytes -= num_bytes;
                queue.is_busy = false;
                queue.stored.refusal = None;
                queue.stored.num_documents += batch.len() as u64;
                queue.stored.num_bytes += num_bytes as u64;
                batch.clear();
                shared.changed.notify_all();
            }
            Err(error) => {
                shared.lock().stored.refusal = Some(error.to_string());
                // The end gives up on what is refused; until then it is tried again.
                if ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        }
    }
}

/// Takes what waits, after waiting for a while for something to come.
fn next_batch(shared: &Shared) -> Vec<Document> {
    let mut queue = shared.lock();
    if queue.documents.is_empty() {
        let (after, _) =
            shared.changed.wait_timeout(queue, PAUSE).unwrap_or_else(PoisonError::into_inner);
        queue = after;
    }
    let mut num_bytes = 0;
    let mut num_documents = 0;
    for document in &queue.documents {
        if num_documents > 0 && num_bytes + document.json.len() > MAX_BATCH_BYTES {
            break;
        }
        num_bytes += document.json.len();
        num_documents += 1;
    }
    queue.is_busy = num_documents > 0;
    queue.documents.drain(..num_documents).collect()
}
