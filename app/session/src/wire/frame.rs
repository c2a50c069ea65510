//! What is said on the wire.

use callgrove_model::{FuncId, PackedError, PackedRoots, TraceHead, TreeRef, fnv1a};
use rmp_serde::Serializer;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::calls::CallsFacts;
use crate::watch::{ConnectionId, WatchRequest, WatchUpdate};
use crate::{Analysis, CallQuestion, Calls, Command};

/// Both sides must speak the same version.
pub const WIRE_VERSION: u32 = 6;

/// What stands before the content of a frame: a byte for its kind, eight for the sum of both. Whoever makes frames
/// is trusted, as it made the page; what happened to them on the way is not.
const HEAD_BYTES: usize = 9;

/// From a view to the session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum ViewerMessage {
    /// The first message of all.
    Hello {
        /// [`WIRE_VERSION`] of the view.
        version: u32,
        /// Tells the viewer from all others, also when it comes back after its connection broke.
        key: u64,
        /// What the person calls itself.
        name: Option<String>,
    },
    /// A wish.
    Command {
        /// The viewer's first is 1.
        number: u64,
        /// What.
        command: Box<Command>,
    },
    /// The running work shall stop.
    Cancel,
    /// A file of the viewer's own, which a command that follows names.
    File(ViewerFile),
    /// What the watch of the run shall do.
    Watch(WatchRequest),
    /// A question about the calls of the run.
    Ask {
        /// Which of the traces that came on this connection it is about; the first is 1.
        trace: u64,
        /// What the answer names.
        number: u64,
        /// The question.
        question: CallQuestion,
    },
    /// The answer to a question is not wanted any more.
    Forget {
        /// Its number.
        number: u64,
    },
}

/// What a frame holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum FrameKind {
    /// All that is small, of the newest snapshot. What came before belongs to it.
    Snapshot = 1,
    /// What is always known of a trace, or that there is none. All that was of another one goes. In a file its head
    /// alone.
    Trace = 2,
    /// The next lane, in a file.
    Lane = 3,
    /// The forest, or none. All that was of another one goes.
    Analysis = 4,
    Map = 5,
    Detection = 6,
    Causes = 7,
    Patterns = 8,
    /// A file for the viewer.
    File = 9,
    /// The answer to a hello: which life of the session this is, as a number.
    Welcome = 10,
    /// News of the watched run.
    Watch = 11,
    /// The answer to a question about calls.
    Answer = 12,
    Trends = 13,
}

/// A trace whose calls stay where they are.
#[derive(Serialize, Deserialize)]
pub(super) struct FarTrace {
    pub(super) head: TraceHead,
    pub(super) facts: CallsFacts,
}

/// What became of a question.
#[derive(Serialize, Deserialize)]
pub(super) enum CallAnswer {
    /// It is answered.
    Known(#[serde(with = "serde_bytes")] Vec<u8>),
    /// It is refused, for a reason in words.
    Refused(String),
}

/// [`Analysis`] without the trace.
#[derive(Serialize, Deserialize)]
pub(super) struct AnalysisParts {
    pub(super) functions: Vec<FuncId>,
    pub(super) trees: Vec<TreeRef>,
    pub(super) num_unclosed: usize,
    /// What there is to see of the trees without asking.
    pub(super) roots: PackedRoots,
    pub(super) analysis: Analysis,
}

/// The first frame of a connection. `life` is another number whenever the session has begun anew.
///
/// # Errors
/// Never, as far as is known.
pub fn welcome_frame(life: u64) -> Result<Vec<u8>, WireError> {
    FrameKind::Welcome.named(&life)
}

/// News of the run that a viewer watches.
///
/// # Errors
/// They hold what cannot be written.
pub fn watch_frame(connection: ConnectionId, update: &WatchUpdate) -> Result<Vec<u8>, WireError> {
    FrameKind::Watch.named(&(connection, update))
}

/// The answer to a question of a viewer who knows these calls; none once it `is_forgotten`. A question that cannot be
/// answered is refused, whatever it is.
///
/// # Errors
/// Never, as far as is known.
pub fn answer_frame(
    calls: &Calls,
    (number, question): (u64, &CallQuestion),
    is_forgotten: impl Fn() -> bool,
) -> Result<Option<Vec<u8>>, WireError> {
    let answer = match calls.answer(question, is_forgotten) {
        Ok(None) => return Ok(None),
        Ok(Some(bytes)) => CallAnswer::Known(bytes),
        Err(why) => CallAnswer::Refused(why),
    };
    FrameKind::Answer.compact(&(number, answer)).map(Some)
}

/// A question that is not even looked at, for a reason in words.
///
/// # Errors
/// Never, as far as is known.
pub fn refusal_frame(number: u64, why: &str) -> Result<Vec<u8>, WireError> {
    FrameKind::Answer.compact(&(number, CallAnswer::Refused(why.to_owned())))
}

/// The largest file that a viewer gives: a session, a model or labels.
pub const MAX_FILE_BYTES: u64 = 60 << 20;

/// A file that a viewer gives or gets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ViewerFile {
    /// Its name, without a folder.
    pub name: String,
    /// What it holds.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
}

/// Why bytes could not be understood.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// They are no message.
    #[error("a message cannot be read: {0}")]
    Message(#[from] rmp_serde::decode::Error),
    /// A message cannot be written.
    #[error("a message cannot be written: {0}")]
    Write(#[from] rmp_serde::encode::Error),
    /// They are no lane of a trace.
    #[error("the trace cannot be read: {0}")]
    Trace(#[from] PackedError),
    /// They are not as they were sent.
    #[error("a message is damaged")]
    Damaged,
    /// They do not fit what came before.
    #[error("a message does not fit the one before it")]
    Order,
}

impl ViewerFile {
    /// The frame that brings it.
    ///
    /// # Errors
    /// Never, as far as is known.
    pub fn to_frame(&self) -> Result<Vec<u8>, WireError> {
        FrameKind::File.named(self)
    }
}

impl ViewerMessage {
    /// The message as bytes.
    ///
    /// # Errors
    /// It holds what cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WireError> {
        Ok(rmp_serde::to_vec_named(self)?)
    }

    /// The message that bytes hold.
    ///
    /// # Errors
    /// They hold none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        Ok(rmp_serde::from_slice(bytes)?)
    }
}

impl FrameKind {
    fn of_byte(byte: u8) -> Option<Self> {
        let all = [
            Self::Snapshot,
            Self::Trace,
            Self::Lane,
            Self::Analysis,
            Self::Map,
            Self::Detection,
            Self::Causes,
            Self::Patterns,
            Self::File,
            Self::Welcome,
            Self::Watch,
            Self::Answer,
            Self::Trends,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// A frame whose fields have names.
    pub(super) fn named(self, content: &impl Serialize) -> Result<Vec<u8>, WireError> {
        let mut frame = Self::begin(0);
        content.serialize(&mut Serializer::new(&mut frame).with_struct_map())?;
        Ok(self.seal(frame))
    }

    /// A frame of many small things whose fields need no names.
    pub(super) fn compact(self, content: &impl Serialize) -> Result<Vec<u8>, WireError> {
        let mut frame = Self::begin(0);
        content.serialize(&mut Serializer::new(&mut frame))?;
        Ok(self.seal(frame))
    }

    /// A frame whose content is bytes already.
    pub(super) fn raw(self, content: &[u8]) -> Vec<u8> {
        let mut frame = Self::begin(content.len());
        frame.extend_from_slice(content);
        self.seal(frame)
    }

    /// Whether a frame is of this kind.
    pub(super) fn is_of(self, frame: &[u8]) -> bool {
        frame.first() == Some(&(self as u8))
    }

    /// An empty head, with room for so many bytes of content.
    fn begin(num_bytes: usize) -> Vec<u8> {
        let mut frame = Vec::with_capacity(HEAD_BYTES + num_bytes);
        frame.resize(HEAD_BYTES, 0);
        frame
    }

    fn seal(self, mut frame: Vec<u8>) -> Vec<u8> {
        let sum = self.sum(&frame[HEAD_BYTES..]);
        frame[0] = self as u8;
        frame[1..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
        frame
    }

    fn sum(self, content: &[u8]) -> u64 {
        fnv1a(content) ^ u64::from(self as u8)
    }

    /// What a frame holds, if it is as it was sent.
    pub(super) fn open(frame: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (head, content) = frame
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(WireError::Damaged)?;
        let [kind, sum @ ..] = *head;
        let kind = Self::of_byte(kind).ok_or(WireError::Damaged)?;
        if kind.sum(content) != u64::from_le_bytes(sum) {
            return Err(WireError::Damaged);
        }
        Ok((kind, content))
    }
}

pub(super) fn read<T: DeserializeOwned>(content: &[u8]) -> Result<T, WireError> {
    Ok(rmp_serde::from_slice(content)?)
}
