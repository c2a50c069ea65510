//! Connections that have not made a valid request yet. They have a small budget of their own, so that they take no
//! resources from clients that have made one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The pending connections of a server. If there are too many, the oldest is closed.
#[derive(Clone)]
pub(crate) struct PendingConnections {
    max_at_once: usize,
    waiting: Arc<Mutex<Waiting>>,
}

/// The signal that closes each pending connection, in order of arrival.
#[derive(Default)]
struct Waiting {
    next: u64,
    ends: BTreeMap<u64, Arc<Notify>>,
}

/// The handle that admits one connection once a request of its client has passed; an extension of each request.
#[derive(Clone)]
pub(crate) struct Admission(Arc<AdmissionState>);

struct AdmissionState {
    pending: PendingConnections,
    number: u64,
    end: Arc<Notify>,
    /// The slots of all admitted connections.
    slots: Arc<Semaphore>,
    /// The slot of this connection, once it is admitted.
    slot: OnceCell<OwnedSemaphorePermit>,
    has_asked: Notify,
    is_admitted: Notify,
}

impl PendingConnections {
    pub(crate) fn new(max_at_once: usize) -> Self {
        Self {
            max_at_once,
            waiting: Arc::default(),
        }
    }

    /// Adds a connection, which needs one of `slots` to stay. If there are too many, the oldest is closed.
    pub(crate) fn enter(&self, slots: &Arc<Semaphore>) -> Admission {
        let end = Arc::new(Notify::new());
        let mut waiting = self.waiting();
        let number = waiting.next;
        waiting.next += 1;
        waiting.ends.insert(number, Arc::clone(&end));
        let is_full = waiting.ends.len() > self.max_at_once;
        drop(waiting);
        if is_full {
            self.end_oldest();
        }
        Admission(Arc::new(AdmissionState {
            pending: self.clone(),
            number,
            end,
            slots: Arc::clone(slots),
            slot: OnceCell::new(),
            has_asked: Notify::new(),
            is_admitted: Notify::new(),
        }))
    }

    /// Closes the oldest pending connection. Returns whether there was one.
    pub(crate) fn end_oldest(&self) -> bool {
        let oldest = self.waiting().ends.pop_first();
        let is_found = oldest.is_some();
        if let Some((_, end)) = oldest {
            end.notify_one();
        }
        is_found
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admission {
    /// Admits the connection, if a slot becomes free within `max_wait`. Until then the connection is pending. Returns
    /// whether it is admitted.
    pub(crate) async fn admit(&self, max_wait: Duration) -> bool {
        let state = &self.0;
        state.has_asked.notify_one();
        let acquire = || Arc::clone(&state.slots).acquire_owned();
        let slot = timeout(max_wait, state.slot.get_or_try_init(acquire));
        let is_admitted = matches!(slot.await, Ok(Ok(_)));
        if is_admitted {
            state.pending.waiting().ends.remove(&state.number);
            state.is_admitted.notify_one();
        }
        is_admitted
    }

    /// Ready once a valid request has asked for a slot.
    pub(crate) async fn asked(&self) {
        self.0.has_asked.notified().await;
    }

    /// Ready once the connection is admitted.
    pub(crate) async fn admitted(&self) {
        self.0.is_admitted.notified().await;
    }

    /// Ready when the connection has to close.
    pub(crate) async fn ended(&self) {
        self.0.end.notified().await;
    }
}

impl Drop for AdmissionState {
    fn drop(&mut self) {
        self.pending.waiting().ends.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_pending_connection_is_closed() {
        let (pending, slots) = (PendingConnections::new(2), Arc::new(Semaphore::new(8)));
        let [first, second] = [(); 2].map(|()| pending.enter(&slots));
        assert!(first.admit(Duration::ZERO).await);
        first.admitted().await;
        assert_eq!(slots.available_permits(), 7);
        let third = pending.enter(&slots);
        assert_eq!(pending.waiting().ends.len(), 2);
        let fourth = pending.enter(&slots);
        second.ended().await;
        let waiting: Vec<u64> = pending.waiting().ends.keys().copied().collect();
        assert_eq!(waiting, [third.0.number, fourth.0.number]);
        drop((first, second, fourth));
        assert_eq!(slots.available_permits(), 8);
        assert!(pending.end_oldest() && !pending.end_oldest());
    }

    #[tokio::test]
    async fn no_connection_is_admitted_without_a_free_slot() {
        let (pending, slots) = (PendingConnections::new(2), Arc::new(Semaphore::new(1)));
        let [first, second] = [(); 2].map(|()| pending.enter(&slots));
        assert!(first.admit(Duration::ZERO).await);
        assert!(!second.admit(Duration::from_millis(1)).await);
        drop(first);
        assert!(second.admit(Duration::ZERO).await);
    }
}
