//! The pipeline as a person at a cluster uses it: processes over sockets, real traces, SST streams, `kill -9`.

#![expect(clippy::unwrap_used, reason = "what is missing fails the test")]

mod equal;
mod faults;
mod finding;
mod kills;
mod support;
mod trees;
