//! The parameter server from outside: its laws, its faults, its records, and over the network.

mod faults;
mod merging;
#[cfg(feature = "net")]
mod network;
mod packets;
#[cfg(feature = "net")]
mod posting;
mod saving;
mod support;
