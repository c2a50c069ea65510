//! Callgrove's window: panels, layouts and dialogs around the views of a session.
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
//! platform               the host of the window
//! background             files that are made while the window is used
//! ```

mod app;
mod background;
pub mod export;
mod panels;
mod platform;

pub use app::{CallgroveApp, Place, stored_window_size};
pub use background::{ExportProgress, FileMaker};
pub use callgrove_actions::{FilePurpose, PictureView, ReportScope, WindowTable};
pub use platform::{InputFinder, NoDialogs, PathKind, Platform, command_for};
