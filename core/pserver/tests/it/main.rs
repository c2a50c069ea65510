//! Integration tests of the parameter server: merging, faults, records and the network.

mod faults;
mod merging;
#[cfg(feature = "net")]
mod network;
mod packets;
#[cfg(feature = "net")]
mod posting;
mod saving;
mod support;
