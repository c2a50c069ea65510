//! Drawing areas that several views share.

pub mod points;
pub(crate) mod time;
