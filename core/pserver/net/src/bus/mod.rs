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

mod connection;
mod instance;
mod model_blocks;
mod published;
mod server;

pub use instance::{BusExchange, JetStream, connect};
pub use server::BusServer;
