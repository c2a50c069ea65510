//! A session and a view that do not share their memory: commands one way, snapshots the other, as bytes.
//!
//! A browser talks so with the program that serves it, and a page alone with its worker.
//!
//! ```text
//! view: Session ─ SessionLink ── ViewerMessage ──▶ Engine
//!                   ▲                               │
//!            SnapshotMirror ◀── frames ── SnapshotSender (one for each viewer)
//! ```
//!
//! A frame is a byte that says what it holds, a sum against damage, and that as MessagePack. What is large comes once,
//! and again only when it is another; the rest, a snapshot without it, comes whenever something changed, always the
//! newest. What was on its way to a viewer who is slower than the session is never sent.
//!
//! The calls of a run are never sent, nor what is as many as they are: waits and occurrences of patterns. A viewer gets
//! the head of the trace, the roots of its trees ([`callgrove_model::PackedRoots`]), trends, incidents and the list of
//! patterns, and asks ([`crate::Calls`]) for what it draws of the rest: bars, messages, a tree, a curve. Each answer is
//! bounded. Whoever serves answers from the whole trace, beside the engine, so that a question need not wait for work.
//!
//! Where the server can watch a run, requests and updates of the watch ([`crate::watch`]) go over the same wire.

mod far_watch;
mod frame;
mod link;
mod mirror;
mod sender;
mod trace_file;
mod viewers;

pub use frame::{
    MAX_FILE_BYTES, ViewerFile, ViewerMessage, WIRE_VERSION, WireError, answer_frame,
    refusal_frame, watch_frame, welcome_frame,
};
pub use link::{LinkEvent, SessionLink};
pub use mirror::{Arrived, SnapshotMirror};
pub use sender::SnapshotSender;
pub use trace_file::{TRACE_FILE_EXTENSION, TraceFileError, read_trace_file, write_trace_file};
pub use viewers::{ViewerHost, Viewers};
