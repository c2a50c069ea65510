//! The two ends of a session: commands in, newest snapshot out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Command, Notice, Severity, Snapshot};

/// Holds the newest snapshot. Readers never wait for work, only for a pointer to be copied.
#[derive(Clone, Default)]
pub struct SnapshotCell {
    newest: Arc<Mutex<Arc<Snapshot>>>,
    cancel: Arc<CancelCounts>,
}

/// Commands are counted, so that a wish to stop is for those sent before it and for no other.
#[derive(Default)]
struct CancelCounts {
    sent: AtomicU64,
    begun: AtomicU64,
    /// Commands up to this one shall stop.
    cancelled: AtomicU64,
    /// How often somebody wished to stop.
    wishes: AtomicU64,
}

/// What the views hold of a session.
#[derive(Clone)]
pub struct SessionHandle {
    commands: SyncSender<Command>,
    cell: SnapshotCell,
}

/// A command that the session did not take.
#[derive(Clone, PartialEq, Debug)]
pub enum SendError {
    /// Too many wait already; it can be sent again later.
    Full(Command),
    /// The session has ended, and nothing will be taken any more.
    Ended(Command),
}

impl SnapshotCell {
    /// The newest snapshot.
    pub fn newest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.newest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the newest snapshot.
    pub fn publish(&self, snapshot: Arc<Snapshot>) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }

    /// Asks the running work, and all that waits before it, to stop.
    pub fn cancel(&self) {
        let counts = &self.cancel;
        let num_sent = counts.sent.load(Ordering::SeqCst);
        let num_begun = counts.begun.load(Ordering::SeqCst);
        let num_cancelled = num_sent.max(num_begun);
        counts.cancelled.store(num_cancelled, Ordering::SeqCst);
        counts.wishes.fetch_add(1, Ordering::SeqCst);
    }

    /// How often somebody asked to stop.
    pub(crate) fn num_wishes_to_stop(&self) -> u64 {
        self.cancel.wishes.load(Ordering::SeqCst)
    }

    /// Whether the running work shall stop.
    pub fn is_cancelled(&self) -> bool {
        let counts = &self.cancel;
        counts.cancelled.load(Ordering::SeqCst) >= counts.begun.load(Ordering::SeqCst)
    }

    /// The work for the next command begins.
    pub(crate) fn begin(&self) {
        self.cancel.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// Tells the person that the session died of `cause`: the carrier's last word for it.
    pub fn end(&self, cause: &str) {
        let last = self.newest();
        let kept = match &last.journal {
            Some(place) => format!("Your labels are safe in {place}; close the window and open"),
            None => {
                "Labels given since the session was saved last are lost. Close the window and open"
                    .to_owned()
            }
        };
        let notice = Notice {
            // The engine counts from 1.
            id: 0,
            severity: Severity::Error,
            text: format!("The session has ended unexpectedly: {cause}. {kept} the trace again."),
        };
        self.publish(Arc::new(Snapshot {
            revision: last.revision + 1,
            work: None,
            notices: last.notices.iter().cloned().chain([notice]).collect(),
            ..Snapshot::clone(&last)
        }));
    }
}

impl SessionHandle {
    /// A handle whose commands go into `commands` and whose snapshots come from `cell`.
    pub fn new(commands: SyncSender<Command>, cell: SnapshotCell) -> Self {
        Self { commands, cell }
    }

    /// Sends a command; never waits.
    ///
    /// # Errors
    /// The session is too busy to take the command, or has ended.
    pub fn send(&self, command: Command) -> Result<(), SendError> {
        self.commands
            .try_send(command)
            .map_err(|error| match error {
                TrySendError::Full(command) => SendError::Full(command),
                TrySendError::Disconnected(command) => SendError::Ended(command),
            })?;
        self.cell.cancel.sent.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// The newest snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.cell.newest()
    }

    /// Asks the running work to stop.
    pub fn cancel(&self) {
        self.cell.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn a_wish_to_stop_is_for_the_commands_before_it() {
        let (sender, _commands) = sync_channel(4);
        let cell = SnapshotCell::default();
        let handle = SessionHandle::new(sender, cell.clone());
        handle.cancel();
        handle.send(Command::Train).unwrap();
        cell.begin();
        assert!(!cell.is_cancelled(), "nothing ran when it was made");
        handle.send(Command::Train).unwrap();
        handle.cancel();
        assert!(cell.is_cancelled(), "it runs");
        cell.begin();
        assert!(
            cell.is_cancelled(),
            "it was sent, though it did not run yet"
        );
        handle.send(Command::Train).unwrap();
        cell.begin();
        assert!(!cell.is_cancelled(), "it was sent later");
    }

    #[test]
    fn a_busy_session_and_one_that_has_ended_are_told_apart() {
        let (sender, commands) = sync_channel(1);
        let handle = SessionHandle::new(sender, SnapshotCell::default());
        handle.send(Command::Undo).unwrap();
        assert_eq!(
            handle.send(Command::Train),
            Err(SendError::Full(Command::Train))
        );
        drop(commands);
        assert_eq!(
            handle.send(Command::Train),
            Err(SendError::Ended(Command::Train))
        );
    }

    #[test]
    fn the_end_is_told_with_cause_and_remedy() {
        let cell = SnapshotCell::default();
        cell.publish(Arc::new(Snapshot {
            journal: Some("run.jsonl".into()),
            ..Snapshot::default()
        }));
        cell.end("index out of bounds");
        let told = cell.newest();
        assert_eq!(
            told.notices[0].text,
            "The session has ended unexpectedly: index out of bounds. Your labels are safe in \
             run.jsonl; close the window and open the trace again."
        );
    }
}
