//! A bounded pool of read-only stores, each of which serves one client at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_provdb::{ProvDbError, ReadBounds, ReadLimits, Store};
use tokio::sync::Semaphore;

/// Time that an engine has to stop a read by itself after its time limit, before the read is interrupted.
const GRACE: Duration = Duration::from_secs(1);
/// Timeout for interrupted reads when the pool closes.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between checks whether the reads have ended.
const CLOSE_POLL_INTERVAL: Duration = Duration::from_millis(2);

type OpenReader = dyn Fn() -> Result<Box<dyn Store>, ProvDbError> + Send + Sync;

/// Reads a database for clients, at most a number of them at the same time; others wait. Stores are opened on demand. A
/// read whose client has gone is interrupted.
#[derive(Clone)]
pub struct ReaderPool {
    shared: Arc<PoolState>,
}

/// The reuse of a store for the next client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reuse {
    /// Reused until it fails.
    Always,
    /// Used once: plain SQL can change the session that it runs in.
    Never,
}

struct PoolState {
    open: Arc<OpenReader>,
    limits: ReadLimits,
    reuse: Reuse,
    num_permits: usize,
    permits: Arc<Semaphore>,
    reads: Mutex<Reads>,
}

/// The reads of a pool.
#[derive(Default)]
struct Reads {
    is_closed: bool,
    has_panicked: bool,
    next: u64,
    running: BTreeMap<u64, ReadBounds>,
    idle: Vec<Box<dyn Store>>,
}

/// A read that a client waits for. Dropping it interrupts the read.
struct AwaitedRead {
    pool: Arc<PoolState>,
    number: u64,
    bounds: ReadBounds,
}

impl Drop for AwaitedRead {
    fn drop(&mut self) {
        self.pool.reads().running.remove(&self.number);
        // No effect if the read has finished.
        self.bounds.interrupt();
    }
}

impl ReaderPool {
    /// Creates a pool with at most `max_at_once` (at least 1) concurrent reads, each within `limits`, on stores that
    /// `open` opens.
    pub fn new(
        max_at_once: usize,
        limits: ReadLimits,
        open: impl Fn() -> Result<Box<dyn Store>, ProvDbError> + Send + Sync + 'static,
    ) -> Self {
        Self::with_opener(max_at_once, limits, Reuse::Always, Arc::new(open))
    }

    /// Creates a pool that shares its opener with other pools.
    pub(super) fn with_opener(
        max_at_once: usize,
        limits: ReadLimits,
        reuse: Reuse,
        open: Arc<OpenReader>,
    ) -> Self {
        let num_permits = max_at_once.clamp(1, Semaphore::MAX_PERMITS);
        let state = PoolState {
            open,
            limits,
            reuse,
            num_permits,
            permits: Arc::new(Semaphore::new(num_permits)),
            reads: Mutex::default(),
        };
        Self {
            shared: Arc::new(state),
        }
    }

    /// Runs a read on a store, on a blocking thread. Dropping the future interrupts the read.
    ///
    /// # Errors
    /// Those of the store, [`ProvDbError::Interrupted`] once the pool is closed, and [`ProvDbError::TooSlow`].
    pub async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Store) -> Result<T, ProvDbError> + Send + 'static,
    ) -> Result<T, ProvDbError> {
        let Ok(permit) = Arc::clone(&self.shared.permits).acquire_owned().await else {
            return Err(ProvDbError::Interrupted);
        };
        let awaited = self.shared.begin()?;
        let (pool, bounds) = (Arc::clone(&self.shared), awaited.bounds.clone());
        let mut answer = tokio::task::spawn_blocking(move || {
            let answer = pool.answer(&bounds, query);
            drop(permit);
            answer
        });
        let answer = tokio::select! {
            answer = &mut answer => answer,
            // Interrupt an engine that has not stopped in time.
            () = tokio::time::sleep(self.shared.limits.time + GRACE) => {
                awaited.bounds.interrupt();
                answer.await
            }
        };
        match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.shared.reads().has_panicked |= error.is_panic();
                Err(ProvDbError::Unreachable {
                    cause: "the thread of the store has ended".to_owned(),
                    place: "this process".to_owned(),
                })
            }
        }
    }

    /// Returns whether a read has panicked.
    pub(super) fn has_panicked(&self) -> bool {
        self.shared.reads().has_panicked
    }

    /// Interrupts all reads, and refuses new ones.
    pub fn close(&self) {
        let (running, idle) = {
            let mut reads = self.shared.reads();
            reads.is_closed = true;
            let running: Vec<_> = reads.running.values().cloned().collect();
            (running, std::mem::take(&mut reads.idle))
        };
        self.shared.permits.close();
        for bounds in running {
            bounds.interrupt();
        }
        drop(idle);
    }

    /// Waits until the interrupted reads have ended, and their stores are closed.
    pub(super) fn finish(&self) {
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        let is_idle = || self.shared.permits.available_permits() == self.shared.num_permits;
        while !is_idle() && Instant::now() < deadline {
            thread::sleep(CLOSE_POLL_INTERVAL);
        }
    }
}

impl PoolState {
    fn reads(&self) -> MutexGuard<'_, Reads> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(self: &Arc<Self>) -> Result<AwaitedRead, ProvDbError> {
        let bounds = ReadBounds::new(self.limits);
        let mut reads = self.reads();
        if reads.is_closed {
            return Err(ProvDbError::Interrupted);
        }
        let number = reads.next;
        reads.next += 1;
        reads.running.insert(number, bounds.clone());
        Ok(AwaitedRead {
            pool: Arc::clone(self),
            number,
            bounds,
        })
    }

    fn answer<T>(
        &self,
        bounds: &ReadBounds,
        query: impl FnOnce(&mut dyn Store) -> Result<T, ProvDbError>,
    ) -> Result<T, ProvDbError> {
        let idle = self.reads().idle.pop();
        let mut store = idle.map_or_else(|| (self.open)(), Ok)?;
        store.bound_reads(bounds);
        let answer = query(store.as_mut());
        let is_interrupted = bounds.finish();
        let answer = answer?;
        // Reopen the store after a failure: the folder may have been replaced, or the server may be back. And a late
        // interruption that is still on its way to a server must not hit the next read.
        let mut reads = self.reads();
        if self.reuse == Reuse::Always && !is_interrupted && !reads.is_closed {
            reads.idle.push(store);
        }
        Ok(answer)
    }
}
