//! Who may do what at a server: tokens, their roles, and lists of tokens.
//!
//! ```text
//! Token ── its digest ──▶ TokenList (name, role) ── a file ──▶ server
//!   └────────────────── with each request ──────────────────────▶
//! ```

mod error;
mod role;
mod token;
mod token_list;

pub use error::TokenError;
pub use role::TokenRole;
pub use token::{TOKEN_VARIABLE, Token, readable_by_all};
pub use token_list::{OWN_NAMES, TokenEntry, TokenFile, TokenList, digest, is_same_digest};
