//! A store behind another process, and its client, over gRPC.
//!
//! `proto/provdb.proto` describes the protocol. Messages are bounded by [`MAX_MESSAGE_BYTES`] on both sides, and what
//! one request stores by [`MAX_PUT_BYTES`].

mod lease_client;
mod lease_server;
mod outflow;
mod reader_pool;
mod remote;
mod served_monitor;
mod served_readers;
mod service;
mod store_thread;
mod wire;

pub use reader_pool::ReaderPool;
pub use remote::RemoteStore;
pub use served_monitor::ServedMonitor;
pub use served_readers::ReadPolicy;
pub use service::{ProvDbService, ServedStore};

/// Larger messages are refused. Both sides split what they send well below; a single document must fit.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Most bytes that one call stores.
pub const MAX_PUT_BYTES: usize = 256 << 20;

/// The client of the protocol.
type RemoteClient = proto::prov_db_client::ProvDbClient<callgrove_net::GrpcChannel>;

/// Messages of a stream are filled up to here.
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
