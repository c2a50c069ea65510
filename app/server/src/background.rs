//! A background thread that works until its owner stops it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::error::ServerError;

/// A thread that its owner stops and joins. A panic in the thread is reported to the owner, now and at the end, and
/// does not end the process.
#[derive(Debug)]
pub struct Background<T> {
    name: &'static str,
    stop: SyncSender<()>,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts `work`, which runs until the sender of the channel that it is passed is dropped. `name` is the name of
    /// the thread in messages.
    ///
    /// # Errors
    /// [`ServerError::Threads`].
    pub fn start(
        name: &'static str,
        work: impl FnOnce(&Receiver<()>) -> T + Send + 'static,
    ) -> Result<Self, ServerError> {
        let (stop, stopped) = sync_channel(1);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&stopped))
            .map_err(|cause| ServerError::Threads { cause })?;
        Ok(Self { name, stop, thread })
    }

    /// Returns the reason why the thread has ended by itself, as text; `None` while it runs.
    pub fn fault(&self) -> Option<String> {
        let has_ended = self.thread.is_finished();
        has_ended.then(|| ServerError::Panicked { what: self.name }.to_string())
    }

    /// Stops the thread and waits until it has ended.
    ///
    /// # Errors
    /// [`ServerError::Panicked`].
    pub fn finish(self) -> Result<T, ServerError> {
        drop(self.stop);
        let panicked = |_| ServerError::Panicked { what: self.name };
        self.thread.join().map_err(panicked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_reported_to_the_owner_before_and_at_the_end() {
        let healthy = Background::start("working", |stopped| stopped.recv().is_err()).unwrap();
        assert_eq!(healthy.fault(), None);
        assert!(healthy.finish().unwrap());
        let failed = Background::start("panicking", |_| panic!("of the test")).unwrap();
        let failed: Background<()> = failed;
        while failed.fault().is_none() {
            thread::yield_now();
        }
        let error = failed.finish().unwrap_err().to_string();
        assert!(error.contains("panicking"), "{error}");
    }
}
