//! Access control: who holds which token, what its role allows, and the check of every request.

mod check;
mod cookie;
mod members;
mod requirements;
mod revocable_body;
mod viewer_rights;

pub use cookie::address_with_token;
pub use members::TokenUse;
pub use requirements::{ROUTES, least_role};

pub(crate) use check::{Gate, check_access};
pub(crate) use members::{Access, Members};
pub(crate) use viewer_rights::ViewerRights;
