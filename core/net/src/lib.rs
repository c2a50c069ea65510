//! The connections of the pipeline's clients to its servers: addresses, certificates, tokens, the owner of a server,
//! and the classification of failures.
//!
//! Errors are texts, because each client has its own error type for invalid settings.

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

pub use channel::{Bearer, GrpcChannel, GrpcTarget};
pub use credential::Credential;
pub use failure::{innermost_cause, is_connection_failure};
pub use trust::certificates;
