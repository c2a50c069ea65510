//! The parameter server over real sockets.

mod bus;
mod laws;
mod nats_server;
mod network;
mod posting;
#[path = "../../../tests/it/support.rs"]
mod support;
