//! The live view of a running pipeline: anomalies as they come, and the way from each to its document.
//!
//! [`MonitorView`] draws a [`callgrove_session::monitor::Monitor`] and carries out what its panels wish, once a
//! frame. [`MonitorApp`] is a window of its own around it; [`crate::CallgroveApp`] shows it in place of its
//! views.
//!
//! ```text
//! view (frame loop, keys) ── bar, connect ── overview │ functions │ counters │ executions │ document
//!                                   └──── MonitorContext: monitor, theme, commands ────┘
//! ```

mod app;
mod bar;
mod connect;
mod context;
mod counters;
mod document;
mod executions;
mod functions;
mod help;
mod keys;
mod overview;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod view;

pub use app::MonitorApp;
pub(crate) use view::MonitorView;
