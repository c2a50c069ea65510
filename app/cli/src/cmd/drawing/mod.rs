//! Pictures of the views, drawn without a window.

pub(crate) mod draw;
pub(crate) mod session_wait;
