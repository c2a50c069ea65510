//! The two ends of a session: commands in, newest snapshot out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Command, Snapshot};

/// Holds the newest snapshot. Readers never wait for work, only for a pointer to be copied.
#[derive(Clone, Default)]
pub struct SnapshotCell {
    newest: Arc<Mutex<Arc<Snapshot>>>,
    cancel: Arc<AtomicBool>,
}

/// What the views hold of a session.
#[derive(Clone)]
pub struct SessionHandle {
    commands: SyncSender<Command>,
    cell: SnapshotCell,
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

    /// Asks the running work to stop.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Whether the running work shall stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Forgets an earlier wish to stop, before new work begins.
    pub fn clear_cancel(&self) {
        self.cancel.store(false, Ordering::Relaxed);
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
    /// The command itself, if the session is too busy to take it or has ended.
    pub fn send(&self, command: Command) -> Result<(), Command> {
        self.commands
            .try_send(command)
            .map_err(|error| match error {
                TrySendError::Full(command) | TrySendError::Disconnected(command) => command,
            })
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
