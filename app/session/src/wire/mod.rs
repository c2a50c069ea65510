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
//! A frame is a byte that says what it holds, a sum against damage, and that: a lane of the trace as
//! [`callgrove_model::PackedLanes`] takes it, all else as MessagePack. What is large comes once, and again only when it
//! is another; the rest, a snapshot without it, comes whenever something changed, always the newest. What was on its
//! way to a viewer who is slower than the session is never sent. The forest comes before the lanes, with the roots of
//! its trees ([`callgrove_model::PackedRoots`]): so points and candidates are seen while the calls are on their way.
//!
//! Where the server can watch a run, requests and updates of the watch ([`crate::watch`]) go over the same wire.

mod far_watch;
mod frame;
mod lane_frames;
mod link;
mod mirror;
mod sender;
mod trace_file;
mod viewers;

pub use frame::{ViewerFile, ViewerMessage, WIRE_VERSION, WireError, watch_frame, welcome_frame};
pub use lane_frames::LaneFrames;
pub use link::{LinkEvent, SessionLink};
pub use mirror::{Arrived, SnapshotMirror};
pub use sender::SnapshotSender;
pub use trace_file::{TRACE_FILE_EXTENSION, TraceFileError, read_trace_file, write_trace_file};
pub use viewers::{ViewerHost, Viewers};
