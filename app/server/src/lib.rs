//! The one port of a server of Callgrove: gRPC, the JSON interface and the page, behind one token and one certificate.

pub mod access;
pub mod api;
pub mod background;
pub mod client;
mod config;
mod connection;
mod error;
pub mod grpc;
pub mod hub;
mod late_routes;
pub mod maintenance;
pub mod monitoring;
pub mod page;
mod questions;
pub mod recorded_overview;
mod server;
mod state_saver;
mod tls;
pub mod view;

pub use access::{TokenUse, address_with_token};
pub use axum::Router;
pub use callgrove_access::{
    TOKEN_VARIABLE, Token, TokenEntry, TokenError, TokenFile, TokenList, TokenRole,
};
pub use callgrove_net::{
    AddressFile, BUS_SCHEME, Credential, Fingerprint, ServerAnnouncement, certificates,
    write_for_user,
};
pub use config::{DEFAULT_PORT, Limits, ServerConfig};
pub use error::ServerError;
pub use late_routes::LateRoutes;
pub use server::{RunningServer, Server};
pub use tls::{TlsCertificate, TlsFiles, new_certificate_pem};
