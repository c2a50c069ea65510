//! Who may do what at a server: tokens, their roles, and lists of tokens; and the certificates by which clients recognize
//! servers.
//!
//! ```text
//! Token ── its digest ──▶ TokenList (name, role) ── a file ──▶ server
//!   └────────────────── with each request ──────────────────────▶
//! ```

mod error;
mod issued_certificate;
mod role;
mod token;
mod token_list;

pub use error::TokenError;
pub use issued_certificate::{IssuedCertificate, issued_by, new_certificate_pem, self_signed};
pub use role::TokenRole;
pub use token::{TOKEN_VARIABLE, Token, readable_by_all};
pub use token_list::{OWN_NAMES, TokenEntry, TokenFile, TokenList, digest, is_same_digest};
