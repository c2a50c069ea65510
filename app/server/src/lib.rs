//! The one port of a server of Callgrove: gRPC, the JSON interface and the page, behind one token and one certificate.

pub mod api;
pub mod background;
pub mod client;
mod config;
mod connection;
mod cookie;
mod error;
pub mod grpc;
pub mod hub;
mod issued_certificate;
mod late_routes;
pub mod maintenance;
pub mod monitoring;
pub mod page;
mod questions;
pub mod recorded_overview;
mod server;
mod state_saver;
mod tls;
mod token;
mod token_check;
pub mod view;

pub use axum::Router;
pub use callgrove_net::{AddressFile, Credential, ServerAnnouncement};
pub use config::{DEFAULT_PORT, Limits, ServerConfig};
pub use cookie::address_with_token;
pub use error::ServerError;
pub use late_routes::LateRoutes;
pub use server::{RunningServer, Server};
pub use tls::{TlsCertificate, TlsFiles};
pub use token::{TOKEN_VARIABLE, Token};
