//! Callgrove's window: views and panels over a session.
//!
//! [`CallgroveApp`] reads the newest [`callgrove_session::Snapshot`], draws it, and sends
//! [`callgrove_session::Command`]s. A frame never waits for work. What only the carrier of the
//! window can do (native dialogs) comes in through [`Platform`].
//!
//! ```text
//! app (frame loop, actions, keys, layouts) ── panels (bars, dialogs) ── views (one folder each) ── widgets
//!                                        └────────── ViewContext: snapshot, theme, commands ──────┘
//! ```

mod app;
mod asked;
pub mod canvas;
pub mod context;
mod delay;
#[cfg(test)]
mod far_tests;
pub mod hover;
mod panels;
mod platform;
#[cfg(test)]
mod stall_for_tests;
#[cfg(test)]
mod test_support;
mod text;
pub mod theme;
#[cfg(test)]
mod trend_for_tests;
pub mod views;
pub mod widgets;

pub use app::{CallgroveApp, Place, stored_window_size};
pub use platform::{FilePurpose, NoDialogs, PathKind, Platform, command_for};
