//! How the clients of the pipeline reach its servers, whatever they say to them: address, certificate, token, and what a
//! failure means.
//!
//! Errors are in words, because each client has an error of its own for what it was told wrongly.

mod channel;
mod failure;
mod trust;

pub use channel::{Bearer, GrpcLine, GrpcTarget};
pub use failure::{innermost_cause, is_break};
pub use trust::certificates;
