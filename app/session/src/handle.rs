//! The two ends of a session: commands in, newest snapshot out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use crate::command::Command;
use crate::snapshot::{Notice, Severity, Snapshot};

/// Holds the newest snapshot. Readers never wait for work, only for the copy of a pointer.
#[derive(Clone, Default)]
pub struct SnapshotCell {
    newest: Arc<Mutex<Arc<Snapshot>>>,
    cancel: Arc<CancelCounts>,
}

/// Counts commands, so that a cancel request applies to the commands sent before it and to no others.
#[derive(Default)]
struct CancelCounts {
    sent: AtomicU64,
    begun: AtomicU64,
    /// Commands with a number up to this one are cancelled.
    cancelled: AtomicU64,
    /// Number of cancel requests.
    requests: AtomicU64,
}

/// The views' end of a session.
#[derive(Clone)]
pub struct SessionHandle {
    commands: SyncSender<Command>,
    cell: SnapshotCell,
}

/// A command that the session did not accept.
#[derive(Clone, PartialEq, Debug)]
pub enum SendError {
    /// The queue is full; the command can be sent again later.
    Full(Command),
    /// The session has ended and accepts no more commands.
    Ended(Command),
}

impl SnapshotCell {
    /// Returns the newest snapshot.
    pub fn newest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.newest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the newest snapshot.
    pub fn publish(&self, snapshot: Arc<Snapshot>) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }

    /// Asks the running work, and all commands sent before this call, to stop.
    pub fn cancel(&self) {
        let counts = &self.cancel;
        let num_sent = counts.sent.load(Ordering::SeqCst);
        let num_begun = counts.begun.load(Ordering::SeqCst);
        let num_cancelled = num_sent.max(num_begun);
        counts.cancelled.store(num_cancelled, Ordering::SeqCst);
        counts.requests.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the number of cancel requests.
    pub fn num_cancel_requests(&self) -> u64 {
        self.cancel.requests.load(Ordering::SeqCst)
    }

    /// Returns whether the running work should stop.
    pub fn is_cancelled(&self) -> bool {
        let counts = &self.cancel;
        counts.cancelled.load(Ordering::SeqCst) >= counts.begun.load(Ordering::SeqCst)
    }

    /// Marks the start of the next command.
    pub(crate) fn begin(&self) {
        self.cancel.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// Reports to the user that the session ended with `cause`. The host application calls this last.
    pub fn end(&self, cause: &str) {
        let last = self.newest();
        let kept = match &last.edits.journal {
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
    /// Returns a handle that sends commands to `commands` and reads snapshots from `cell`.
    pub fn new(commands: SyncSender<Command>, cell: SnapshotCell) -> Self {
        Self { commands, cell }
    }

    /// Sends a command. Never blocks.
    ///
    /// # Errors
    /// The session's queue is full, or the session has ended.
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

    /// Returns the newest snapshot.
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
    fn a_cancel_request_applies_to_earlier_commands() {
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
    fn a_busy_session_differs_from_an_ended_one() {
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
    fn the_end_is_reported_with_cause_and_remedy() {
        let cell = SnapshotCell::default();
        let mut snapshot = Snapshot::default();
        snapshot.edits.journal = Some("run.jsonl".into());
        cell.publish(Arc::new(snapshot));
        cell.end("index out of bounds");
        let shown = cell.newest();
        assert_eq!(
            shown.notices[0].text,
            "The session has ended unexpectedly: index out of bounds. Your labels are safe in \
             run.jsonl; close the window and open the trace again."
        );
    }
}
