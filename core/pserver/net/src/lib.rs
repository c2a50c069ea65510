//! The parameter server over the network: the exchange over gRPC or a message bus, and packets over HTTP.
//!
//! ```text
//! AD instance                                          parameter server
//! GrpcExchange (a ModelExchange) ─ ExchangeSession ─ Grpc (a Transport) ─ wire ── gRPC ── wire ─ PserverService ─ ServerState
//!                                                      Poster ─ packets as JSON ── HTTP ──▶ a receiver
//! ```
//!
//! Past a few nodes the exchange goes over NATS JetStream: see `bus`. `proto/pserver.proto` describes the protocol. Messages are bounded by [`MAX_MESSAGE_BYTES`] on both sides.

#![cfg_attr(
    not(test),
    warn(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_lossless
    )
)]

mod bus;
mod grpc_exchange;
mod poster;
mod registration;
mod service;
mod wire;

pub use bus::{BusExchange, BusMerger, BusServer, JetStream, connect as connect_to_bus};
pub use grpc_exchange::{ExchangeOptions, Grpc, GrpcExchange, connect};
pub use poster::{Poster, PosterOptions, PosterStatus};
pub use service::{PserverService, service};

/// Maximum size of a message in bytes; larger ones are refused. Sessions and the state split their data well below it.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// The messages, server and client, generated from `proto/pserver.proto`.
mod proto {
    #![allow(
        dead_code,
        missing_docs,
        unreachable_pub,
        clippy::allow_attributes,
        clippy::all,
        clippy::pedantic,
        reason = "generated code, some of it for tests alone"
    )]
    tonic::include_proto!("callgrove.pserver.v1");
}
