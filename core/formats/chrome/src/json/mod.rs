//! JSON text, read piece by piece without building documents in memory.

mod cursor;
mod decimal;
mod skipper;
mod text;
mod window;

pub(crate) use cursor::{JsonCursor, JsonFault, JsonValue};
pub(crate) use decimal::scaled;
pub(crate) use skipper::ValueSkipper;
pub(crate) use text::JsonText;
pub(crate) use window::TextWindow;
