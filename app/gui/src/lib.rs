//! Callgrove's window: views and panels over a session.
//!
//! [`CallgroveApp`] reads the newest [`callgrove_session::Snapshot`], draws it, and sends
//! [`callgrove_session::Command`]s. A frame never blocks on work. Functions that depend on the host of the window
//! (native dialogs) come in through [`Platform`].
//!
//! ```text
//! app (frame loop, actions, keys, layouts) ── panels (bars, dialogs) ── views (one folder each) ── widgets
//!                                        └────────── ViewContext: snapshot, theme, commands ──────┘
//! ```

mod app;
pub mod canvas;
pub mod context;
mod delay;
pub mod hover;
mod latest_answer;
mod panels;
mod platform;
#[cfg(test)]
mod remote_tests;
#[cfg(test)]
mod stall_run_for_tests;
#[cfg(test)]
mod test_support;
mod text;
pub mod theme;
#[cfg(test)]
mod trend_run_for_tests;
pub mod views;
pub mod widgets;

pub use app::{CallgroveApp, Place, stored_window_size};
pub use platform::{FilePurpose, NoDialogs, PathKind, Platform, command_for};
