//! Drawing areas that several views share.

pub mod points;
