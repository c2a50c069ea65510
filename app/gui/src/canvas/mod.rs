//! Drawing areas that several views share.

pub mod points;
mod round_step;
pub(crate) mod time;

pub(crate) use round_step::round_step;
