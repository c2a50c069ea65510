//! A session without a window, for commands and for Python.
//!
//! ```text
//!  files, journals ── LocalHost ── engine (a thread) ── HeadlessSession ─┬─ snapshot ── tables
//!                                        progress, stop ── WorkMonitor ──┘          └── findings for traces
//! ```
//!
//! A [`HeadlessSession`] opens a run, carries out commands and waits for each of them. A [`WorkMonitor`] shows its progress
//! and cancels it. Snapshots become tables in
//! `callgrove-tables`.

mod engine;
mod files;
mod findings;
mod headless_session;
mod input_files;
mod journal_file;
mod local_host;

pub use engine::start_engine;
pub use files::{
    Readers, config_folder, create_secret_file, replace_file, replace_file_with, user_folder,
};
pub use findings::{JudgedForest, trace_findings};
pub use headless_session::{HeadlessSession, WorkMonitor};
pub use input_files::input_files;
pub use journal_file::{JournalFile, default_folder};
pub use local_host::LocalHost;
