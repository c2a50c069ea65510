//! Callgrove's window: views and panels over a session.
//!
//! [`CallgroveApp`] reads the newest [`callgrove_session::Snapshot`], draws it, and sends
//! [`callgrove_session::Command`]s. A frame never waits for work. What only the carrier of the
//! window can do (native dialogs) comes in through [`Platform`].
//!
//! ```text
//! app (frame loop, keys, layout) ── panels (bars, lists) ── views (one folder each) ── widgets
//!                                        └────────── ViewContext: snapshot, theme, commands ──────┘
//! ```

mod app;
pub mod canvas;
pub mod context;
pub mod hover;
mod monitor;
mod panels;
mod platform;
#[cfg(test)]
mod test_support;
pub mod theme;
pub mod views;
pub mod widgets;

pub use app::CallgroveApp;
pub use monitor::MonitorApp;
pub use platform::{FilePurpose, NoDialogs, Platform};
