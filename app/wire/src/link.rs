//! The viewer's end of the wire: queues of messages to send, and the frames received. The caller transfers the bytes.
//!
//! Commands survive a lost connection: each is kept until the session has carried it out, and is sent again on the
//! next connection, as are unanswered questions about calls. If the session was restarted in between, undo and redo
//! are not repeated, because the viewer cannot know whether they were carried out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use callgrove_query::CallRequest;
use callgrove_session::{
    Command, Notice, SessionHandle, Severity, Snapshot, SnapshotCell, guest_name,
};
use callgrove_watch::WatchHandle;

use crate::frame::{MAX_FILE_BYTES, ViewerFile, ViewerMessage, WIRE_VERSION, WireError};
use crate::mirror::{FrameContent, SnapshotMirror};
use crate::remote_watch::RemoteWatch;

/// Largest number of queued commands.
const MAX_WAITING: usize = 4096;
/// Number of the notice that the connection is lost. Sessions never use it.
const LOST_NOTICE: u64 = (1 << 63) - 1;

/// The effect of a frame on what is drawn.
#[derive(Debug)]
pub enum LinkEvent {
    /// A change that should be drawn at once.
    News,
    /// A part of a larger change: occasional redrawing is enough.
    Part,
    /// A file for the user.
    File(ViewerFile),
}

/// The viewer's end of the wire.
pub struct SessionLink {
    key: u64,
    /// Name of the user.
    name: String,
    commands: Receiver<Command>,
    cell: SnapshotCell,
    mirror: SnapshotMirror,
    /// Epoch of the session; `None` until it has sent it on this connection.
    epoch: Option<u64>,
    /// Epoch on the connection before.
    last_epoch: Option<u64>,
    /// Number of the newest command.
    number: u64,
    /// Commands that are not confirmed yet, oldest first.
    unconfirmed: VecDeque<(u64, Command)>,
    /// Number of these that were sent on this connection.
    num_sent: usize,
    /// Messages that take precedence over all others.
    first: VecDeque<ViewerMessage>,
    num_cancels_seen: u64,
    /// True if the caller stops the work itself and polls for cancel requests.
    has_external_stop: bool,
    watch: Option<RemoteWatch>,
}

impl SessionLink {
    /// Creates a link for a viewer with a unique key, from which its name is derived if the user has none. The handle
    /// is for the views.
    pub fn new(key: u64, name: Option<String>) -> (SessionHandle, Self) {
        let (sender, commands) = sync_channel(MAX_WAITING);
        let cell = SnapshotCell::default();
        let link = Self {
            key,
            name: name.unwrap_or_else(|| guest_name(key)),
            commands,
            cell: cell.clone(),
            mirror: SnapshotMirror::default(),
            epoch: None,
            last_epoch: None,
            number: 0,
            unconfirmed: VecDeque::new(),
            num_sent: 0,
            first: VecDeque::new(),
            num_cancels_seen: 0,
            has_external_stop: false,
            watch: None,
        };
        (SessionHandle::new(sender, cell), link)
    }

    /// Declares that the session receives no messages while it works: the caller polls [`SessionLink::wants_stop`] and
    /// stops the work.
    #[must_use]
    pub fn with_external_stop(self) -> Self {
        let has_external_stop = true;
        Self {
            has_external_stop,
            ..self
        }
    }

    /// Watches the run that the server watches. Returns the view's end.
    pub fn watch(&mut self) -> WatchHandle {
        let (handle, watch) = RemoteWatch::new();
        self.watch = Some(watch);
        handle
    }

    /// Starts a connection, and returns the first message on it.
    ///
    /// # Errors
    /// None are known.
    pub fn connected(&mut self) -> Result<Vec<u8>, WireError> {
        // A name given while there was no connection is already part of the hello.
        self.queue_commands();
        self.mirror = std::mem::take(&mut self.mirror).for_next_connection();
        self.last_epoch = self.epoch.take().or(self.last_epoch);
        self.num_sent = 0;
        self.first.clear();
        let hello = ViewerMessage::Hello {
            version: WIRE_VERSION,
            key: self.key,
            name: Some(self.name.clone()),
        };
        hello.to_bytes()
    }

    /// Returns the next message to send, if any. `file` returns the files of the viewer. A file that is too large is
    /// not sent, and the session reports it as missing.
    ///
    /// # Errors
    /// A command cannot be encoded; it is skipped.
    pub fn next_message(
        &mut self,
        file: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, WireError> {
        self.queue_commands();
        if self.epoch.is_none() {
            return Ok(None);
        }
        if !self.has_external_stop && self.wants_stop() {
            self.first.push_front(ViewerMessage::Cancel);
        }
        if let Some(message) = self.first.pop_front() {
            return message.to_bytes().map(Some);
        }
        if let Some(request) = self.watch.as_mut().and_then(RemoteWatch::next_request) {
            return ViewerMessage::Watch(request).to_bytes().map(Some);
        }
        let Some((number, command)) = self.unconfirmed.get(self.num_sent) else {
            return self
                .next_question()
                .map(|message| message.to_bytes())
                .transpose();
        };
        self.num_sent += 1;
        let message = ViewerMessage::Command {
            number: *number,
            command: Box::new(command.clone()),
        };
        let given = command
            .file_to_read()
            .and_then(|name| Some((name, file(name)?)))
            .filter(|(_, content)| content.len() as u64 <= MAX_FILE_BYTES);
        let Some((name, content)) = given else {
            return message.to_bytes().map(Some);
        };
        self.first.push_back(message);
        let name = name.to_owned();
        let file = ViewerMessage::File(ViewerFile { name, content });
        file.to_bytes().map(Some)
    }

    /// Returns the next question about calls, or the cancellation of one.
    fn next_question(&self) -> Option<ViewerMessage> {
        let (trace, calls) = self.mirror.calls()?;
        Some(match calls.next_request()? {
            CallRequest::Ask(number, question) => ViewerMessage::Ask {
                trace,
                number,
                question,
            },
            CallRequest::Forget(number) => ViewerMessage::Forget { number },
        })
    }

    /// Returns whether the user requested to stop the running work since the last call.
    pub fn wants_stop(&mut self) -> bool {
        let num_requests = self.cell.num_cancel_requests();
        num_requests != std::mem::replace(&mut self.num_cancels_seen, num_requests)
    }

    /// Discards all pending commands.
    pub fn discard_commands(&mut self) {
        self.queue_commands();
        self.unconfirmed.clear();
        self.first.clear();
        self.num_sent = 0;
    }

    /// Takes a frame.
    ///
    /// # Errors
    /// The frame cannot be decoded; the caller should reconnect.
    pub fn take(&mut self, frame: &[u8]) -> Result<LinkEvent, WireError> {
        match self.mirror.take(frame)? {
            FrameContent::Part => return Ok(LinkEvent::Part),
            FrameContent::Answer => {}
            FrameContent::Welcome(epoch) => self.begin_epoch(epoch),
            FrameContent::File(file) => return Ok(LinkEvent::File(file)),
            FrameContent::Watch(connection, update) => {
                if let Some(watch) = &mut self.watch {
                    watch.take(connection, *update);
                }
            }
            FrameContent::Snapshot(snapshot) => {
                let is_done = |unconfirmed: &mut (u64, Command)| {
                    unconfirmed.0 <= snapshot.viewers.carried_out
                };
                while self.unconfirmed.pop_front_if(is_done).is_some() {
                    self.num_sent = self.num_sent.saturating_sub(1);
                }
                self.cell.publish(snapshot);
            }
        }
        Ok(LinkEvent::News)
    }

    fn queue_commands(&mut self) {
        while let Ok(command) = self.commands.try_recv() {
            if let Command::SetName(name) = &command {
                self.name.clone_from(name);
            }
            self.number += 1;
            self.unconfirmed.push_back((self.number, command));
        }
    }

    fn begin_epoch(&mut self, epoch: u64) {
        self.epoch = Some(epoch);
        let is_another = self.last_epoch.is_some_and(|last| last != epoch);
        if is_another {
            let is_certain = |unconfirmed: &(u64, Command)| {
                !matches!(unconfirmed.1, Command::Undo | Command::Redo)
            };
            self.unconfirmed.retain(is_certain);
            self.mirror.forget_calls();
        }
    }

    /// Reports to the user that the connection was lost, with the reason `why`, and that it is being retried.
    pub fn lost(&mut self, why: &str) {
        self.queue_commands();
        if let Some(watch) = &mut self.watch {
            watch.lose(why);
        }
        let last = self.cell.newest();
        let waiting = match self.unconfirmed.len() {
            0 => String::new(),
            1 => " 1 change not sent yet.".to_owned(),
            number => format!(" {number} changes not sent yet."),
        };
        let notice = Notice {
            id: LOST_NOTICE,
            severity: Severity::Warning,
            text: format!("{why}. Trying again.{waiting}"),
        };
        let others = last.notices.iter().filter(|known| known.id != LOST_NOTICE);
        let snapshot = Snapshot {
            work: None,
            notices: others.cloned().chain([notice]).collect(),
            ..Snapshot::clone(&last)
        };
        self.cell.publish(Arc::new(snapshot));
    }

    /// Returns the number of commands that are not confirmed yet.
    pub fn num_unconfirmed(&self) -> usize {
        self.unconfirmed.len()
    }
}
