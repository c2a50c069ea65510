//! A store of provenance behind another process, over gRPC.
//!
//! ```text
//! client process                              server process
//! RemoteStore (a Store) ─ wire ── gRPC ── wire ─ ProvDbService ─┬─ StoreThread: all writes ─┬─ a Store
//!      │                                              │         └─ ReaderPool: reads ───────┘
//!      └─ lease_client: heartbeats ──────────── lease_server: claims of ranks
//! ```
//!
//! `proto/provdb.proto` describes the protocol. [`MAX_MESSAGE_BYTES`] limits messages on both sides, and
//! [`MAX_PUT_BYTES`] what one request stores.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod last_writes;
mod lease_client;
mod lease_server;
mod reader_pool;
mod remote;
mod reply_stream;
mod served_monitor;
mod served_readers;
mod service;
mod store_thread;
mod wire;

pub use reader_pool::ReaderPool;
pub use remote::{RemoteOptions, RemoteStore};
pub use served_monitor::ServedMonitor;
pub use served_readers::ReadPolicy;
pub use service::{ProvDbService, ServedStore};

/// Maximum size of a message in bytes; larger ones are refused. Both sides split their data well below it; a single
/// document must fit.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Maximum number of bytes that one call stores.
pub const MAX_PUT_BYTES: usize = 256 << 20;

/// The client of the protocol.
type RemoteClient = proto::prov_db_client::ProvDbClient<callgrove_net::GrpcChannel>;

/// Size up to which messages of a stream are filled, in bytes.
const PART_BYTES: usize = 1 << 20;

/// The messages, server and client, generated from `proto/provdb.proto`.
mod proto {
    #![allow(
        missing_docs,
        unreachable_pub,
        clippy::allow_attributes,
        clippy::all,
        clippy::pedantic,
        reason = "generated code"
    )]
    tonic::include_proto!("callgrove.provdb.v1");
}
