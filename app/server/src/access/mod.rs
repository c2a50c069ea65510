//! Access control: tokens and their roles, the list of tokens, and the check of every request.

mod check;
mod cookie;
mod members;
mod requirements;
mod revocable_body;
mod role;
mod token;
mod token_list;
mod viewer_rights;

pub use cookie::address_with_token;
pub use members::TokenUse;
pub use requirements::{ROUTES, least_role};
pub use role::Role;
pub use token::{TOKEN_VARIABLE, Token};
pub use token_list::{TokenEntry, TokenFile, TokenList};

pub(crate) use check::{Gate, check_access};
pub(crate) use members::{Access, Members};
pub(crate) use token::readable_by_all;
pub(crate) use viewer_rights::ViewerRights;
