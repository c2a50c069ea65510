//! The messages and frames of the wire.

use callgrove_model::{FuncId, PackedError, PackedRoots, TraceHead, TreeRef};
use callgrove_packed::frame::{self, FrameDamaged};
use callgrove_query::{CallQuestion, Calls, CallsFacts};
use callgrove_session::{Analysis, Command, Suggestion};
use callgrove_watch::{ConnectionId, WatchRequest, WatchUpdate};
use rmp_serde::Serializer;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of the wire protocol. Both sides must have the same.
pub const WIRE_VERSION: u32 = 9;

/// A message from a view to the session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum ViewerMessage {
    /// The first message of a connection.
    Hello {
        /// [`WIRE_VERSION`] of the view.
        version: u32,
        /// Identifies the viewer, also after it reconnects.
        key: u64,
        /// Name of the user.
        name: Option<String>,
    },
    /// A command.
    Command {
        /// Number of the command, from 1 for each viewer.
        number: u64,
        /// The command itself.
        command: Box<Command>,
    },
    /// Cancels the running work.
    Cancel,
    /// A file of the viewer that the next command refers to.
    File(ViewerFile),
    /// A request to the watch of the run.
    Watch(WatchRequest),
    /// A question about the calls of the run.
    Ask {
        /// The trace of the question, by its order of arrival on this connection, from 1.
        trace: u64,
        /// Number that the answer repeats.
        number: u64,
        /// The question.
        question: CallQuestion,
    },
    /// Cancels a question.
    Forget {
        /// Number of the question.
        number: u64,
    },
}

/// The kind of a frame. The sender is trusted, because it also serves the page; the checksum of frames detects damage in
/// transit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum FrameKind {
    /// The small parts of the newest snapshot. The frames before it contain its large parts.
    Snapshot = 1,
    /// The facts of the trace, or its absence. Invalidates everything of the trace before.
    Trace = 2,
    /// The forest, or its absence. Invalidates everything of the forest before.
    Analysis = 4,
    Map = 5,
    Detection = 6,
    Causes = 7,
    Patterns = 8,
    /// A file for the viewer.
    File = 9,
    /// The answer to a hello: the epoch of the session.
    Welcome = 10,
    /// An update of the watched run.
    Watch = 11,
    /// The answer to a question about calls.
    Answer = 12,
    Trends = 13,
}

/// A trace whose calls remain in the server.
#[derive(Serialize, Deserialize)]
pub(crate) struct RemoteTrace {
    pub(crate) head: TraceHead,
    pub(crate) facts: CallsFacts,
    pub(crate) suggestions: Vec<Suggestion>,
}

/// The answer to a question about calls.
#[derive(Serialize, Deserialize)]
pub(crate) enum CallAnswer {
    /// The encoded answer.
    Known(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The reason of a refusal, as text.
    Refused(String),
}

/// [`Analysis`] without the trace.
#[derive(Serialize, Deserialize)]
pub(crate) struct AnalysisParts {
    pub(crate) functions: Vec<FuncId>,
    pub(crate) trees: Vec<TreeRef>,
    pub(crate) num_unclosed: usize,
    /// Everything about the trees that is shown without a query.
    pub(crate) roots: PackedRoots,
    pub(crate) analysis: Analysis,
}

/// Returns the first frame of a connection. `epoch` changes whenever the session is restarted.
///
/// # Errors
/// None are known.
pub fn welcome_frame(epoch: u64) -> Result<Vec<u8>, WireError> {
    FrameKind::Welcome.named(&epoch)
}

/// Returns a frame with an update of the run that a viewer watches.
///
/// # Errors
/// The update cannot be encoded.
pub fn watch_frame(connection: ConnectionId, update: &WatchUpdate) -> Result<Vec<u8>, WireError> {
    FrameKind::Watch.named(&(connection, update))
}

/// Returns a frame with the answer to a question of a viewer; `None` once it `is_forgotten`. Questions that cannot be
/// answered are refused.
///
/// # Errors
/// None are known.
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

/// Returns a frame that refuses a question without examining it. `why` is the reason, as text.
///
/// # Errors
/// None are known.
pub fn refusal_frame(number: u64, why: &str) -> Result<Vec<u8>, WireError> {
    FrameKind::Answer.compact(&(number, CallAnswer::Refused(why.to_owned())))
}

/// Largest file of a viewer, in bytes: a session, a model or labels.
pub const MAX_FILE_BYTES: u64 = 60 << 20;

/// A file that a viewer sends or receives.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ViewerFile {
    /// Its name, without a folder.
    pub name: String,
    /// Content of the file.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
}

/// An error of decoding or encoding.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The bytes are not a valid message.
    #[error("a message cannot be read: {0}")]
    Message(#[from] rmp_serde::decode::Error),
    /// A message cannot be encoded.
    #[error("a message cannot be written: {0}")]
    Write(#[from] rmp_serde::encode::Error),
    /// The bytes are not a valid lane of a trace.
    #[error("the trace cannot be read: {0}")]
    Trace(#[from] PackedError),
    /// The checksum is wrong.
    #[error("a message is damaged")]
    Damaged(#[from] FrameDamaged),
    /// The message does not fit the ones before.
    #[error("a message does not fit the one before it")]
    Order,
}

impl ViewerFile {
    /// Returns the frame with the file.
    ///
    /// # Errors
    /// None are known.
    pub fn to_frame(&self) -> Result<Vec<u8>, WireError> {
        FrameKind::File.named(self)
    }
}

impl ViewerMessage {
    /// Encodes the message.
    ///
    /// # Errors
    /// The message cannot be encoded.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WireError> {
        Ok(rmp_serde::to_vec_named(self)?)
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// The bytes are not a valid message.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        Ok(rmp_serde::from_slice(bytes)?)
    }
}

impl FrameKind {
    fn of_byte(byte: u8) -> Option<Self> {
        let all = [
            Self::Snapshot,
            Self::Trace,
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

    /// Returns a frame whose fields are encoded with their names.
    pub(crate) fn named(self, content: &impl Serialize) -> Result<Vec<u8>, WireError> {
        let mut frame = frame::begin(0);
        content.serialize(&mut Serializer::new(&mut frame).with_struct_map())?;
        Ok(frame::seal(self as u8, frame))
    }

    /// Returns a frame whose fields are encoded without names, for content with many small items.
    pub(crate) fn compact(self, content: &impl Serialize) -> Result<Vec<u8>, WireError> {
        let mut frame = frame::begin(0);
        content.serialize(&mut Serializer::new(&mut frame))?;
        Ok(frame::seal(self as u8, frame))
    }

    /// Returns whether a frame is of this kind.
    pub(crate) fn is_of(self, frame: &[u8]) -> bool {
        frame.first() == Some(&(self as u8))
    }

    /// Returns kind and content of a frame, if its checksum is right.
    pub(crate) fn open(frame: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (kind, content) = frame::open(frame)?;
        let kind = Self::of_byte(kind).ok_or(FrameDamaged)?;
        Ok((kind, content))
    }
}

pub(crate) fn read<T: DeserializeOwned>(content: &[u8]) -> Result<T, WireError> {
    Ok(rmp_serde::from_slice(content)?)
}
