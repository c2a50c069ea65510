//! Connections that have not made a valid request yet. They have a small budget of their own, so that they cost clients
//! nothing that have.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The newcomers of a server. Where there are too many, the oldest gives way.
#[derive(Clone)]
pub(crate) struct Newcomers {
    max_at_once: usize,
    waiting: Arc<Mutex<Waiting>>,
}

/// What ends each newcomer, in the order in which they came.
#[derive(Default)]
struct Waiting {
    next: u64,
    ends: BTreeMap<u64, Arc<Notify>>,
}

/// What lets one connection stay once a request of its client has passed; an extension of each request.
#[derive(Clone)]
pub(crate) struct Admission(Arc<AdmissionState>);

struct AdmissionState {
    newcomers: Newcomers,
    number: u64,
    end: Arc<Notify>,
    /// The places of admitted connections, and that of this one.
    places: Arc<Semaphore>,
    place: OnceCell<OwnedSemaphorePermit>,
    has_asked: Notify,
    is_admitted: Notify,
}

impl Newcomers {
    pub(crate) fn new(max_at_once: usize) -> Self {
        Self {
            max_at_once,
            waiting: Arc::default(),
        }
    }

    /// Takes up one more, which will need one of `places` to stay. The oldest gives way for it if there are too many.
    pub(crate) fn enter(&self, places: &Arc<Semaphore>) -> Admission {
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
            newcomers: self.clone(),
            number,
            end,
            places: Arc::clone(places),
            place: OnceCell::new(),
            has_asked: Notify::new(),
            is_admitted: Notify::new(),
        }))
    }

    /// Ends the one that has waited longest. Returns whether there was one.
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
    /// Lets the connection stay, if there is a place for it within `patience`. Until then it is a newcomer. Returns whether
    /// it may stay.
    pub(crate) async fn admit(&self, patience: Duration) -> bool {
        let state = &self.0;
        state.has_asked.notify_one();
        let acquire = || Arc::clone(&state.places).acquire_owned();
        let place = timeout(patience, state.place.get_or_try_init(acquire));
        let is_placed = matches!(place.await, Ok(Ok(_)));
        if is_placed {
            state.newcomers.waiting().ends.remove(&state.number);
            state.is_admitted.notify_one();
        }
        is_placed
    }

    /// Ready once a valid request has asked for a place.
    pub(crate) async fn asked(&self) {
        self.0.has_asked.notified().await;
    }

    /// Ready once the connection may stay.
    pub(crate) async fn admitted(&self) {
        self.0.is_admitted.notified().await;
    }

    /// Ready when the connection has to give way.
    pub(crate) async fn ended(&self) {
        self.0.end.notified().await;
    }
}

impl Drop for AdmissionState {
    fn drop(&mut self) {
        self.newcomers.waiting().ends.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_that_is_not_admitted_gives_way() {
        let (newcomers, places) = (Newcomers::new(2), Arc::new(Semaphore::new(8)));
        let [first, second] = [(); 2].map(|()| newcomers.enter(&places));
        assert!(first.admit(Duration::ZERO).await);
        first.admitted().await;
        assert_eq!(places.available_permits(), 7);
        let third = newcomers.enter(&places);
        assert_eq!(newcomers.waiting().ends.len(), 2);
        let fourth = newcomers.enter(&places);
        second.ended().await;
        let waiting: Vec<u64> = newcomers.waiting().ends.keys().copied().collect();
        assert_eq!(waiting, [third.0.number, fourth.0.number]);
        drop((first, second, fourth));
        assert_eq!(places.available_permits(), 8);
        assert!(newcomers.end_oldest() && !newcomers.end_oldest());
    }

    #[tokio::test]
    async fn without_a_place_none_is_admitted() {
        let (newcomers, places) = (Newcomers::new(2), Arc::new(Semaphore::new(1)));
        let [first, second] = [(); 2].map(|()| newcomers.enter(&places));
        assert!(first.admit(Duration::ZERO).await);
        assert!(!second.admit(Duration::from_millis(1)).await);
        drop(first);
        assert!(second.admit(Duration::ZERO).await);
    }
}
