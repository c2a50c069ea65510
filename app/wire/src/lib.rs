//! The connection between a session and a view without shared memory: commands one way, snapshots the other, as bytes.
//!
//! A browser uses it with the program that serves it, and a standalone page with its worker.
//!
//! ```text
//! view: Session ─ SessionLink ── ViewerMessage ──▶ Engine
//!                   ▲                               │
//!            SnapshotMirror ◀── frames ── SnapshotSender (one for each viewer)
//! ```
//!
//! A frame is a byte for its kind, a checksum, and content as MessagePack. Large parts are sent once, and again only
//! when they change. The rest, a snapshot without them, is sent on every change, always the newest one. Snapshots that
//! a slow viewer has missed are never sent.
//!
//! The calls of a run are never sent, nor data of the same size: waits and occurrences of patterns. A viewer receives
//! the head of the trace, the roots of its trees ([`callgrove_model::PackedRoots`]), trends, incidents and the list of
//! patterns. It queries ([`callgrove_query::Calls`]) the rest of what it draws: bars, messages, a tree, a curve. Each
//! answer is bounded. The server answers from the whole trace, in parallel to the engine, so that a question does not
//! wait for work.
//!
//! If the server can watch a run, requests and updates of the watch ([`callgrove_watch`]) use the same connection.

mod frame;
mod link;
mod mirror;
mod remote_watch;
mod sender;
mod viewers;

pub use frame::{
    MAX_FILE_BYTES, ViewerFile, ViewerMessage, WIRE_VERSION, WireError, answer_frame,
    refusal_frame, watch_frame, welcome_frame,
};
pub use link::{LinkEvent, SessionLink};
pub use mirror::{FrameContent, SnapshotMirror};
pub use sender::SnapshotSender;
pub use viewers::{ViewerHost, Viewers};
