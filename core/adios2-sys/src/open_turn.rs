//! The turns in which a copy of ADIOS2 opens streams over SST.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Adios2Error;

/// Duration of an open from which on it counts as waiting for its peer, so that others no longer wait for it. A peer
/// that is there answers within some 10 ms; the rest is for a busy machine.
const HOLD_LIMIT: Duration = Duration::from_secs(2);

/// The turns of the loaded copies, by the address of a function, because a library that is loaded twice may be one
/// copy. They live as long as the copies, which are never unloaded.
static COPIES: Mutex<BTreeMap<usize, &'static OpenTurn>> = Mutex::new(BTreeMap::new());

/// The turn of one copy of ADIOS2. SST keeps the open streams of both directions in a list that it does not lock
/// (`LastCallFreeList`, 2.12.1), and adds to it at the end of an open, so two concurrent opens corrupt the heap. An open
/// may wait for its peer without limit, and that peer for another open of this process. So no open waits for one that
/// does: it gets an error.
#[derive(Debug, Default)]
pub(crate) struct OpenTurn {
    holder: Mutex<Option<Holder>>,
    freed: Condvar,
}

/// The stream that is being opened.
#[derive(Debug)]
struct Holder {
    name: String,
    since: Instant,
}

/// A turn that ends when it is dropped.
#[derive(Debug)]
pub(crate) struct HeldTurn<'a>(&'a OpenTurn);

impl OpenTurn {
    /// Returns the turn of the copy that has a function at this address.
    pub(crate) fn of_copy(function: *const c_void) -> &'static Self {
        let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
        copies
            .entry(function.addr())
            .or_insert_with(|| Box::leak(Box::default()))
    }

    /// Waits for the turn to open the stream `name`.
    ///
    /// # Errors
    /// [`Adios2Error::Busy`] if the stream that has the turn waits for its peer.
    pub(crate) fn take(&self, name: &str) -> Result<HeldTurn<'_>, Adios2Error> {
        let mut holder = self.holder();
        while let Some(current) = &*holder {
            let left = HOLD_LIMIT.saturating_sub(current.since.elapsed());
            if left.is_zero() {
                return Err(Adios2Error::Busy {
                    other: current.name.clone(),
                    name: name.to_owned(),
                });
            }
            let waited = self.freed.wait_timeout(holder, left);
            (holder, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *holder = Some(Holder {
            name: name.to_owned(),
            since: Instant::now(),
        });
        Ok(HeldTurn(self))
    }

    /// Returns whether the stream that has the turn waits for its peer.
    pub(crate) fn waits_for_peer(&self) -> bool {
        let holder = self.holder();
        holder
            .as_ref()
            .is_some_and(|it| it.since.elapsed() >= HOLD_LIMIT)
    }

    fn holder(&self) -> MutexGuard<'_, Option<Holder>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeldTurn<'_> {
    fn drop(&mut self) {
        *self.0.holder() = None;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn an_open_waits_for_another_that_ends() {
        let turn = OpenTurn::default();
        thread::scope(|scope| {
            let held = turn.take("first").unwrap();
            let second = scope.spawn(|| turn.take("second").map(drop));
            thread::sleep(Duration::from_millis(20));
            drop(held);
            second.join().unwrap().unwrap();
        });
        assert!(!turn.waits_for_peer());
    }

    #[test]
    fn an_open_does_not_wait_for_one_that_waits_for_its_peer() {
        let turn = OpenTurn::default();
        let held = turn.take("first").unwrap();
        assert!(!turn.waits_for_peer());
        let error = turn.take("second").unwrap_err().to_string();
        assert!(
            error.contains("first") && error.ends_with("second"),
            "{error}"
        );
        assert!(turn.waits_for_peer());
        drop(held);
        turn.take("second").unwrap();
    }

    #[test]
    fn each_copy_has_one_turn() {
        let functions = [1_u8, 2];
        let turns = [0, 1, 0].map(|copy| OpenTurn::of_copy((&raw const functions[copy]).cast()));
        assert!(std::ptr::eq(turns[0], turns[2]) && !std::ptr::eq(turns[0], turns[1]));
    }
}
