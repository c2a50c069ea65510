//! The parameter server over real sockets.

mod network;
mod posting;
#[path = "../../../tests/it/support.rs"]
mod support;
