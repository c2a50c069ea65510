//! The pipeline as on a cluster: processes over sockets, real traces, SST streams, `kill -9`.

#![expect(clippy::unwrap_used, reason = "a missing value fails the test")]

mod access;
mod announced;
mod bus;
mod faults;
mod healthy_run;
mod hostile;
mod interrupts;
mod kills;
mod live_and_offline;
#[path = "../../core/pserver/net/tests/it/nats_server.rs"]
mod nats_server;
#[cfg(unix)]
#[path = "../../core/provdb/stores/tests/support/postgres_server.rs"]
#[expect(dead_code, reason = "the tests of the store use more of it")]
mod postgres_server;
mod relay;
mod same_results;
mod support;
mod tau_traces;
mod trees;
