//! The writer of the provenance database: a thread that stores documents, so that detection never waits for a disk.
//!
//! Documents that the database refuses are kept and retried, up to a limit. So nothing is lost if a full disk is freed
//! in time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use callgrove_model::{ProgramId, RankId, RunIdentity, StepId};
use callgrove_provdb::{Document, ProvDbError, Store};

use crate::error::RecordsError;

/// Largest size in bytes of the documents that wait for the database. Documents beyond it are lost and counted as lost.
const MAX_WAITING_BYTES: usize = 256 << 20;
/// Largest size in bytes of the documents that are stored at once; one larger document is stored alone.
const MAX_BATCH_BYTES: usize = 8 << 20;
/// Time for which documents are collected before they are stored, because a commit costs as much as dozens of
/// documents.
const GATHER_TIME: Duration = Duration::from_millis(50);
/// Size in bytes of the gathered documents at which they are stored at once.
const GATHER_BYTES: usize = 1 << 20;
/// Pause before a refused batch is retried.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// The refusal after the storing thread has panicked.
const THREAD_ENDED: &str = "the thread that stores documents has ended early";
/// Maximum time that an ending instance waits for a database that refuses documents.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// Counts of the documents stored so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageStatus {
    /// Number of documents on disk.
    pub num_documents: u64,
    /// Their size in bytes.
    pub num_bytes: u64,
    /// Number of documents that were refused and given up.
    pub num_lost: u64,
    /// Number of documents in memory that are not stored yet.
    pub num_waiting: u64,
    /// The reason for which the first document was refused that no database can store.
    pub first_unfit: Option<String>,
    /// The last error of the database, if it refuses at present.
    pub refusal: Option<String>,
    /// True if the database will never accept anything again from this instance.
    pub is_closed: bool,
}

fn num(documents: &[Document]) -> u64 {
    documents.len() as u64
}

/// A question to the store. It is asked again after an error that may pass.
type Question = Box<dyn FnMut(&mut dyn Store) -> Result<(), ProvDbError> + Send>;

/// A waiting task; tasks are done in order.
enum Task {
    Store(Document),
    /// Removes the earlier records of a step.
    RemoveStep(ProgramId, RankId, StepId),
    /// Stores bytes under a name.
    ReplaceState(String, Vec<u8>),
    Ask(Question),
}

/// The tasks that are done together.
enum Work {
    Join(RunIdentity),
    RemoveStep(ProgramId, RankId, StepId),
    ReplaceState(String, Vec<u8>),
    Ask(Question),
    Store(Vec<Document>),
}

/// The queue of documents and the thread that stores them.
pub struct ProvenanceWriter {
    num_sent: u64,
    shared: Arc<Shared>,
    thread: JoinHandle<Box<dyn Store>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// The identity of the run, if the database has not got it yet.
    run: Option<RunIdentity>,
    tasks: VecDeque<Task>,
    /// Number of documents that wait or are being stored.
    num_unsettled: u64,
    /// Their size in bytes.
    num_bytes: usize,
    /// Time at which the oldest waiting task was added.
    oldest_since: Option<Instant>,
    is_busy: bool,
    /// True if a caller waits until everything is stored.
    is_awaited: bool,
    is_ending: bool,
    stored: StorageStatus,
}

impl Queue {
    fn push(&mut self, task: Task) {
        if self.tasks.is_empty() {
            self.oldest_since = Some(Instant::now());
        }
        self.tasks.push_back(task);
    }

    /// Returns how long to gather more before storing.
    fn gather_time(&self) -> Duration {
        if self.run.is_some() || self.is_awaited || self.num_bytes >= GATHER_BYTES {
            return Duration::ZERO;
        }
        let waited = self
            .oldest_since
            .map_or(GATHER_TIME, |since| since.elapsed());
        GATHER_TIME.saturating_sub(waited)
    }

    fn count_stored(&mut self, documents: &[Document]) {
        let num_bytes = self.remove(documents);
        self.stored.num_documents += num(documents);
        self.stored.num_bytes += num_bytes as u64;
    }

    fn count_unfit(&mut self, documents: &[Document], reason: String) {
        self.remove(documents);
        self.stored.num_lost += num(documents);
        self.stored.first_unfit.get_or_insert(reason);
    }

    /// Removes documents from the counts. Returns their size in bytes.
    fn remove(&mut self, documents: &[Document]) -> usize {
        let num_bytes = documents.iter().map(|document| document.json.len()).sum();
        self.num_bytes -= num_bytes;
        self.num_unsettled -= num(documents);
        num_bytes
    }
}

impl ProvenanceWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`RecordsError::Thread`].
    pub fn start(store: Box<dyn Store>) -> Result<Self, RecordsError> {
        let shared = Arc::new(Shared::default());
        let thread = thread::Builder::new()
            .name("provenance".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || run(&shared, store)
            })
            .map_err(RecordsError::Thread)?;
        Ok(Self {
            num_sent: 0,
            shared,
            thread,
        })
    }

    /// Adds documents without waiting. Returns the number of documents added so far.
    pub fn send(&mut self, documents: Vec<Document>) -> u64 {
        self.num_sent += num(&documents);
        if documents.is_empty() {
            return self.num_sent;
        }
        let mut queue = self.shared.lock();
        let was_empty = queue.tasks.is_empty();
        for document in documents {
            let is_too_much = queue.num_bytes + document.json.len() > MAX_WAITING_BYTES;
            if is_too_much || queue.stored.is_closed {
                queue.stored.num_lost += 1;
            } else {
                queue.num_unsettled += 1;
                queue.num_bytes += document.json.len();
                queue.push(Task::Store(document));
            }
        }
        // While documents are gathered, the thread need not wake up.
        if was_empty || queue.num_bytes >= GATHER_BYTES {
            self.shared.changed.notify_all();
        }
        self.num_sent
    }

    /// Removes the earlier records of a step before anything that is sent later. Does not wait.
    pub fn remove_step(&self, program: ProgramId, rank: RankId, step: StepId) {
        let mut queue = self.shared.lock();
        queue.push(Task::RemoveStep(program, rank, step));
        self.shared.changed.notify_all();
    }

    /// Stores bytes under a name before anything that is sent later. Does not wait.
    pub fn replace_state(&self, name: String, bytes: Vec<u8>) {
        let mut queue = self.shared.lock();
        queue.push(Task::ReplaceState(name, bytes));
        self.shared.changed.notify_all();
    }

    /// Asks the store after everything that was sent before. Does not wait.
    pub fn ask(
        &self,
        question: impl FnMut(&mut dyn Store) -> Result<(), ProvDbError> + Send + 'static,
    ) {
        let mut queue = self.shared.lock();
        queue.push(Task::Ask(Box::new(question)));
        self.shared.changed.notify_all();
    }

    /// Adds to the identity of the run. Does not wait.
    pub fn join_run(&self, run: &RunIdentity) {
        self.shared.lock().run = Some(run.clone());
        self.shared.changed.notify_all();
    }

    /// Returns the counts so far.
    pub fn stored(&self) -> StorageStatus {
        let queue = self.shared.lock();
        let mut stored = queue.stored.clone();
        stored.num_waiting = queue.num_unsettled;
        drop(queue);
        if self.thread.is_finished() && !stored.is_closed {
            stored.is_closed = true;
            stored.refusal = Some(THREAD_ENDED.to_owned());
        }
        stored
    }

    /// Waits until everything is on disk, as long as the database accepts it. Also returns the store.
    ///
    /// # Errors
    /// [`RecordsError::Lost`] if the database does not accept everything.
    pub fn finish(self) -> Result<(StorageStatus, Box<dyn Store>), RecordsError> {
        let deadline = Instant::now() + END_TIMEOUT;
        let mut queue = self.shared.lock();
        queue.is_awaited = true;
        self.shared.changed.notify_all();
        while (queue.is_busy || queue.run.is_some() || !queue.tasks.is_empty())
            && !queue.stored.is_closed
            && !self.thread.is_finished()
            && (queue.stored.refusal.is_none() || Instant::now() < deadline)
        {
            queue = wait(&self.shared, queue);
        }
        queue.is_ending = true;
        drop(queue);
        self.shared.changed.notify_all();
        let store = self.thread.join().ok();
        let queue = self.shared.lock();
        let mut stored = queue.stored.clone();
        stored.num_lost += queue.num_unsettled;
        drop(queue);
        if store.is_none() {
            stored.refusal = Some(THREAD_ENDED.to_owned());
        }
        match (stored.num_lost, store) {
            (0, Some(store)) if !stored.is_closed => Ok((stored, store)),
            (count, _) => Err(RecordsError::Lost {
                count,
                reason: stored
                    .refusal
                    .or(stored.first_unfit)
                    .unwrap_or_else(|| "too many documents wait for the database".to_owned()),
            }),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run(shared: &Shared, mut store: Box<dyn Store>) -> Box<dyn Store> {
    while let Some(work) = next_work(shared) {
        let outcome = match work {
            Work::Join(run) => retry(shared, || store.join_run(&run).map(drop)),
            Work::RemoveStep(program, rank, step) => {
                retry(shared, || store.forget_step(program.0, rank.0, step.0))
            }
            Work::ReplaceState(name, bytes) => retry(shared, || store.replace_state(&name, &bytes)),
            Work::Ask(mut question) => retry(shared, || question(&mut *store)),
            Work::Store(documents) => put(shared, &mut *store, &documents),
        };
        if outcome == Outcome::GivenUp {
            break;
        }
        shared.lock().is_busy = false;
        shared.changed.notify_all();
    }
    store
}

/// Stores documents. A document that no database can store is found by bisection, so that the others are not held back.
fn put(shared: &Shared, store: &mut dyn Store, documents: &[Document]) -> Outcome {
    let mut rest = vec![documents];
    while let Some(part) = rest.pop() {
        match retry(shared, || store.put(part)) {
            Outcome::Done => shared.lock().count_stored(part),
            Outcome::Unfit(_) if part.len() > 1 => {
                let (first, second) = part.split_at(part.len() / 2);
                rest.extend([second, first]);
            }
            Outcome::Unfit(reason) => shared.lock().count_unfit(part, reason),
            Outcome::GivenUp => return Outcome::GivenUp,
        }
    }
    Outcome::Done
}

/// The outcome of a task.
#[derive(PartialEq, Eq)]
enum Outcome {
    Done,
    /// No database can store the document, for this reason.
    Unfit(String),
    /// The instance is ending, or the database will never accept anything again.
    GivenUp,
}

/// Retries what the database refuses, if waiting can help.
fn retry(shared: &Shared, mut store: impl FnMut() -> Result<(), ProvDbError>) -> Outcome {
    loop {
        let error = match store() {
            Ok(()) => {
                shared.lock().stored.refusal = None;
                return Outcome::Done;
            }
            Err(error) if error.is_of_document() => return Outcome::Unfit(error.to_string()),
            Err(error) => error,
        };
        let mut queue = shared.lock();
        queue.stored.refusal = Some(error.to_string());
        queue.stored.is_closed = error.is_final();
        if queue.stored.is_closed {
            shared.changed.notify_all();
            return Outcome::GivenUp;
        }
        if !queue.is_ending {
            // `finish` may have reached its timeout.
            shared.changed.notify_all();
            queue = wait(shared, queue);
        }
        if queue.is_ending {
            return Outcome::GivenUp;
        }
    }
}

/// Waits for the next work. Returns `None` at the end.
fn next_work(shared: &Shared) -> Option<Work> {
    let mut queue = shared.lock();
    loop {
        let is_idle = queue.tasks.is_empty() && queue.run.is_none();
        let pause = if is_idle {
            RETRY_PAUSE
        } else {
            queue.gather_time()
        };
        match (is_idle, queue.is_ending) {
            (true, true) => return None,
            (false, _) if pause.is_zero() => break,
            _ => queue = wait_for(shared, queue, pause),
        }
    }
    queue.is_busy = true;
    if let Some(run) = queue.run.take() {
        return Some(Work::Join(run));
    }
    let (mut documents, mut num_bytes) = (Vec::new(), 0);
    while let Some(task) = queue.tasks.pop_front() {
        match task {
            Task::RemoveStep(program, rank, step) if documents.is_empty() => {
                return Some(Work::RemoveStep(program, rank, step));
            }
            Task::ReplaceState(name, bytes) if documents.is_empty() => {
                return Some(Work::ReplaceState(name, bytes));
            }
            Task::Ask(question) if documents.is_empty() => return Some(Work::Ask(question)),
            Task::Store(document)
                if documents.is_empty() || num_bytes + document.json.len() <= MAX_BATCH_BYTES =>
            {
                num_bytes += document.json.len();
                documents.push(document);
            }
            next => {
                queue.tasks.push_front(next);
                break;
            }
        }
    }
    Some(Work::Store(documents))
}

/// Waits for a change, at most [`RETRY_PAUSE`].
fn wait<'a>(shared: &Shared, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
    wait_for(shared, queue, RETRY_PAUSE)
}

fn wait_for<'a>(
    shared: &Shared,
    queue: MutexGuard<'a, Queue>,
    pause: Duration,
) -> MutexGuard<'a, Queue> {
    let waited = shared.changed.wait_timeout(queue, pause);
    waited.unwrap_or_else(PoisonError::into_inner).0
}
