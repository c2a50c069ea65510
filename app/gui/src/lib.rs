//! Callgrove's window: views and panels over a session.
//!
//! [`CallgroveApp`] reads the newest [`callgrove_session::Snapshot`], draws it, and sends
//! [`callgrove_session::Command`]s. A frame never blocks on work. Functions that depend on the host of the window
//! (native dialogs) come in through [`Platform`].
//!
//! Each module uses only those below it:
//!
//! ```text
//! app                    frame loop, layouts, overlays
//! panels, export         bars and dialogs; tables and reports as files
//! picture                views as pictures, without a window
//! views                  one folder each
//! context, platform      snapshot, theme and commands of a view; the host of the window
//! background             files that are made while the window is used
//! command                actions, menus, keys, names of views and layouts
//! ```

mod app;
mod background;
mod command;
pub mod context;
pub mod export;
mod latest_answer;
mod panels;
pub mod picture;
mod platform;
#[cfg(test)]
mod remote_tests;
#[cfg(test)]
mod test_support;
pub mod views;

pub use app::{CallgroveApp, Place, stored_window_size};
pub use background::{ExportProgress, FileMaker};
pub use command::{FilePurpose, PictureView, ReportScope, WindowTable};
pub use platform::{InputFinder, NoDialogs, PathKind, Platform, command_for};
