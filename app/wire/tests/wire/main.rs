//! Remote viewers of a session: they see what a local one sees, whatever they send.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

mod hostile;
mod remote_calls;
mod snapshots;
