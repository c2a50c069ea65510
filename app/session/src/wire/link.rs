//! The viewer's end of the wire: what is to be sent, and what has come. Whoever has the connection moves the bytes.
//!
//! No command is lost with a connection: each is kept until the session has carried it out, and sent again on the next
//! connection, as are questions about calls that have no answer. A session that has begun anew meanwhile is not told to
//! undo or redo again, since nobody knows whether it did.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::far_watch::FarWatch;
use super::frame::{MAX_FILE_BYTES, ViewerFile, ViewerMessage, WIRE_VERSION, WireError};
use super::mirror::{Arrived, SnapshotMirror};
use crate::calls::CallWish;
use crate::viewer::guest_name;
use crate::watch::WatchHandle;
use crate::{Command, Notice, SessionHandle, Severity, Snapshot, SnapshotCell};

/// Commands that may wait before any is taken up; a person does not type that fast.
const MAX_WAITING: usize = 4096;
/// The number of the notice that the connection is lost: no session gives it.
const LOST: u64 = (1 << 63) - 1;

/// What a frame brought, for whoever draws.
#[derive(Debug)]
pub enum LinkEvent {
    /// Something to be seen at once.
    News,
    /// A part of what is coming: it is enough to look now and then.
    Part,
    /// A file for the person.
    File(ViewerFile),
}

/// The viewer's end of the wire.
pub struct SessionLink {
    key: u64,
    /// What the person calls itself.
    name: String,
    commands: Receiver<Command>,
    cell: SnapshotCell,
    mirror: SnapshotMirror,
    /// Which life of the session this is; `None` until it has said so on this connection.
    life: Option<u64>,
    /// The one before.
    last_life: Option<u64>,
    /// Number of the newest command.
    number: u64,
    /// Commands that are not known to be carried out, oldest first.
    kept: VecDeque<(u64, Command)>,
    /// How many of them were sent on this connection.
    num_sent: usize,
    /// Messages that go before all others.
    first: VecDeque<ViewerMessage>,
    wishes_told: u64,
    /// Whether whoever has the link ends the work itself, and asks for wishes to stop.
    is_stopped_elsewhere: bool,
    watch: Option<FarWatch>,
}

impl SessionLink {
    /// A link for a viewer with a key that no other has, by which it is called where the person has no name; the handle
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
            life: None,
            last_life: None,
            number: 0,
            kept: VecDeque::new(),
            num_sent: 0,
            first: VecDeque::new(),
            wishes_told: 0,
            is_stopped_elsewhere: false,
            watch: None,
        };
        (SessionHandle::new(sender, cell), link)
    }

    /// The session cannot hear while it works: whoever has the link asks [`SessionLink::wants_stop`] and ends it.
    #[must_use]
    pub fn stopped_elsewhere(self) -> Self {
        let is_stopped_elsewhere = true;
        Self {
            is_stopped_elsewhere,
            ..self
        }
    }

    /// Has the run watched that the server watches; the answer is the view's end.
    pub fn watch(&mut self) -> WatchHandle {
        let (handle, watch) = FarWatch::new();
        self.watch = Some(watch);
        handle
    }

    /// A connection stands: the first message on it.
    ///
    /// # Errors
    /// Never, as far as is known.
    pub fn connected(&mut self) -> Result<Vec<u8>, WireError> {
        // A name that was given meanwhile is told at once.
        self.keep_commands();
        self.mirror = std::mem::take(&mut self.mirror).again();
        self.last_life = self.life.take().or(self.last_life);
        self.num_sent = 0;
        self.first.clear();
        let hello = ViewerMessage::Hello {
            version: WIRE_VERSION,
            key: self.key,
            name: Some(self.name.clone()),
        };
        hello.to_bytes()
    }

    /// The next message to send, if any; `file` knows the files of the viewer. One that is too large stays here, and
    /// the session says so.
    ///
    /// # Errors
    /// A command holds what cannot be written; it is left out.
    pub fn next_message(
        &mut self,
        file: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, WireError> {
        self.keep_commands();
        if self.life.is_none() {
            return Ok(None);
        }
        if !self.is_stopped_elsewhere && self.wants_stop() {
            self.first.push_front(ViewerMessage::Cancel);
        }
        if let Some(message) = self.first.pop_front() {
            return message.to_bytes().map(Some);
        }
        if let Some(request) = self.watch.as_mut().and_then(FarWatch::next_request) {
            return ViewerMessage::Watch(request).to_bytes().map(Some);
        }
        let Some((number, command)) = self.kept.get(self.num_sent) else {
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

    /// What the views want to know of calls, or not any more.
    fn next_question(&self) -> Option<ViewerMessage> {
        let (trace, calls) = self.mirror.calls()?;
        Some(match calls.next_wish()? {
            CallWish::Ask(number, question) => ViewerMessage::Ask {
                trace,
                number,
                question,
            },
            CallWish::Forget(number) => ViewerMessage::Forget { number },
        })
    }

    /// Whether the person asked since the last time that the running work shall stop.
    pub fn wants_stop(&mut self) -> bool {
        let wishes = self.cell.num_wishes_to_stop();
        wishes != std::mem::replace(&mut self.wishes_told, wishes)
    }

    /// Nothing that was asked for is wanted any more.
    pub fn give_up(&mut self) {
        self.keep_commands();
        self.kept.clear();
        self.first.clear();
        self.num_sent = 0;
    }

    /// Takes a frame.
    ///
    /// # Errors
    /// The frame cannot be read; the connection is best made anew.
    pub fn take(&mut self, frame: &[u8]) -> Result<LinkEvent, WireError> {
        match self.mirror.take(frame)? {
            Arrived::Part => return Ok(LinkEvent::Part),
            Arrived::Answer => {}
            Arrived::Welcome(life) => self.begin_life(life),
            Arrived::File(file) => return Ok(LinkEvent::File(file)),
            Arrived::Watch(connection, update) => {
                if let Some(watch) = &mut self.watch {
                    watch.take(connection, *update);
                }
            }
            Arrived::Snapshot(snapshot) => {
                let is_done = |kept: &mut (u64, Command)| kept.0 <= snapshot.carried_out;
                while self.kept.pop_front_if(is_done).is_some() {
                    self.num_sent = self.num_sent.saturating_sub(1);
                }
                self.cell.publish(snapshot);
            }
        }
        Ok(LinkEvent::News)
    }

    fn keep_commands(&mut self) {
        while let Ok(command) = self.commands.try_recv() {
            if let Command::SetName(name) = &command {
                self.name.clone_from(name);
            }
            self.number += 1;
            self.kept.push_back((self.number, command));
        }
    }

    fn begin_life(&mut self, life: u64) {
        self.life = Some(life);
        let is_another = self.last_life.is_some_and(|last| last != life);
        if is_another {
            let is_certain =
                |kept: &(u64, Command)| !matches!(kept.1, Command::Undo | Command::Redo);
            self.kept.retain(is_certain);
            self.mirror.forget_calls();
        }
    }

    /// The connection is lost; the person is told `why`, and that it is tried again.
    pub fn lost(&mut self, why: &str) {
        self.keep_commands();
        if let Some(watch) = &mut self.watch {
            watch.lose(why);
        }
        let last = self.cell.newest();
        let waiting = match self.kept.len() {
            0 => String::new(),
            1 => " One thing that you did waits to be sent.".to_owned(),
            number => format!(" {number} things that you did wait to be sent."),
        };
        let notice = Notice {
            id: LOST,
            severity: Severity::Warning,
            text: format!("{why}. Trying again.{waiting}"),
        };
        let others = last.notices.iter().filter(|known| known.id != LOST);
        let snapshot = Snapshot {
            work: None,
            notices: others.cloned().chain([notice]).collect(),
            ..Snapshot::clone(&last)
        };
        self.cell.publish(Arc::new(snapshot));
    }

    /// Number of commands that are not known to be carried out.
    pub fn num_kept(&self) -> usize {
        self.kept.len()
    }
}
