//! How the clients of the pipeline reach its servers: address, certificate, token, whose server it is, and what a failure
//! means.
//!
//! Errors are in words, because each client has an error of its own for what it was told wrongly.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod channel;
mod credential;
mod failure;
mod listener_owner;
mod trust;

pub use channel::{Bearer, GrpcLine, GrpcTarget};
pub use credential::Credential;
pub use failure::{innermost_cause, is_break};
pub use trust::certificates;
