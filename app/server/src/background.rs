//! A thread that does its work until it is told to end.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::ServerError;

/// A thread of its owner. A panic in it is an error of the owner, now and at the end, and nobody else's end.
#[derive(Debug)]
pub struct Background<T> {
    what: &'static str,
    stop: SyncSender<()>,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts `work`, which goes on until nobody is at the other end of what it is given; `what` it is called in words.
    ///
    /// # Errors
    /// [`ServerError::Threads`].
    pub fn start(
        what: &'static str,
        work: impl FnOnce(&Receiver<()>) -> T + Send + 'static,
    ) -> Result<Self, ServerError> {
        let (stop, stopped) = sync_channel(1);
        let thread = thread::Builder::new()
            .name(what.to_owned())
            .spawn(move || work(&stopped))
            .map_err(|source| ServerError::Threads { source })?;
        Ok(Self { what, stop, thread })
    }

    /// Why it does nothing any more, if it ended by itself, in words.
    pub fn fault(&self) -> Option<String> {
        let has_ended = self.thread.is_finished();
        has_ended.then(|| ServerError::Panicked { what: self.what }.to_string())
    }

    /// Has it end, and waits for that.
    ///
    /// # Errors
    /// [`ServerError::Panicked`].
    pub fn finish(self) -> Result<T, ServerError> {
        drop(self.stop);
        let panicked = |_| ServerError::Panicked { what: self.what };
        self.thread.join().map_err(panicked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_the_owner_before_the_end_too() {
        let well = Background::start("what works", |stopped| stopped.recv().is_err()).unwrap();
        assert_eq!(well.fault(), None);
        assert!(well.finish().unwrap());
        let ill = Background::start("what breaks", |_| panic!("of the test")).unwrap();
        let ill: Background<()> = ill;
        while ill.fault().is_none() {
            thread::yield_now();
        }
        let told = ill.finish().unwrap_err().to_string();
        assert!(told.contains("what breaks"), "{told}");
    }
}
