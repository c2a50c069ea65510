//! The connections of the pipeline's clients to its servers: addresses, certificates, tokens, address
//! files, the owner of a server, and the classification of failures.
//!
//! Errors are texts, because each client has its own error type for invalid settings.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod address_file;
mod bearer;
mod channel;
mod credential;
mod failure;
mod fingerprint;
mod listener_owner;
mod pinned_agent;
mod pinned_server;
mod trust;

pub use address_file::{AddressFile, BUS_SCHEME, ServerAnnouncement, write_for_user};
pub use bearer::Bearer;
pub use channel::{GrpcChannel, GrpcTarget};
pub use credential::Credential;
pub use failure::{innermost_cause, is_connection_failure};
pub use fingerprint::{Fingerprint, has_other_certificate, pinned_config};
pub use pinned_agent::pinned_agent;
pub use pinned_server::{PinnedAddress, PinnedServer};
pub use trust::certificates;
