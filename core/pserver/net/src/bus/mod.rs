//! The exchange over NATS JetStream, for more nodes than one server can talk to, and for jobs whose server may be away.
//!
//! ```text
//! AD instance ─ JetStream ─┬─ contributions ──▶ log (a stream) ──▶ BusServer ─ ServerState ─ database
//! (a Transport)            │                     forgotten once saved ◀──────────────┘
//!                          ├─ newest models ◀── models (a stream, one message a block) ◀── BusServer
//!                          └─ requests ────────────────────────────────────────────────▶ BusServer
//! ```
//!
//! A contribution that the log has is safe, with or without a server. Nothing rests on the bus counting it once:
//! instances number their contributions, and the server saves the numbers with the sums. The parts of a large
//! contribution are one atomic batch. A request (registration, progress, sign-off) is answered after the server has read
//! the log up to the moment of the request, so an instance always sees what it has sent.
//!
//! With many instances, groups of them write to logs of their own, whose sums a merger of each group writes to the log of
//! the server:
//!
//! ```text
//! AD instances ─▶ log of group 0 ─▶ BusMerger ─▶ log ─▶ BusServer
//! AD instances ─▶ log of group 1 ─▶ BusMerger ─▶ log
//! ```
//!
//! The server counts the entries of a group's log that are in its sums, and saves this with them. So a merger keeps nothing,
//! and of two mergers that have read the same entries the first counts.

mod answers;
mod bus_task;
mod connection;
mod groups;
mod instance;
mod log_reader;
mod merger;
mod model_blocks;
mod published;
mod server;

pub use instance::{BusExchange, JetStream, connect};
pub use merger::BusMerger;
pub use server::BusServer;
