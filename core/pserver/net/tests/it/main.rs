//! The parameter server over real sockets.

mod bus;
mod network;
mod posting;
#[path = "../../../tests/it/support.rs"]
mod support;
