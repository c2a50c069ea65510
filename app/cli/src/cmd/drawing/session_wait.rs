//! Sessions of commands: with the journal that a command may use, with progress on standard error, until Ctrl+C.

use std::io::{IsTerminal as _, Write as _};

use anyhow::{Result, anyhow};
use callgrove_headless::{HeadlessSession, WorkMonitor, default_folder};
use callgrove_session::Work;

use crate::host::{NativeHost, check_source};
use crate::stop::StopSignal;

/// The use of the labels in the user's journal by a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JournalUse {
    /// They are not used, so that the result depends on the arguments only.
    Ignored,
    /// They are used, also while a window has the run open; none are given.
    Read,
    /// They are used, and new ones are kept.
    Written,
}

/// Shows progress on standard error, if that is a terminal, and stops the work when the program must stop.
struct TerminalMonitor {
    stop: StopSignal,
    /// True if standard error is a terminal.
    is_watched: bool,
    /// The stage and the percentage that are shown.
    shown: Option<(String, u32)>,
}

impl JournalUse {
    fn host(self) -> NativeHost {
        match self {
            Self::Ignored => NativeHost::new(Err(anyhow!("pictures have no journal"))),
            Self::Read => NativeHost::new(default_folder()).reading(),
            Self::Written => NativeHost::new(default_folder()),
        }
    }
}

impl WorkMonitor for TerminalMonitor {
    fn at(&mut self, work: Option<&Work>) -> bool {
        if let Some(work) = work.filter(|_| self.is_watched) {
            let now = (work.stage.clone(), (work.fraction * 100.0) as u32);
            if self.shown.as_ref() != Some(&now) {
                write!(std::io::stderr(), "\r\x1b[2K{}… {} %", now.0, now.1).ok();
                self.shown = Some(now);
            }
        }
        !self.stop.is_set()
    }

    fn clear(&mut self) {
        if self.shown.take().is_some() {
            write!(std::io::stderr(), "\r\x1b[2K").ok();
        }
    }
}

/// Opens a trace or a saved session, and waits until everything is computed.
///
/// # Errors
/// If the run cannot be opened, or the program is asked to stop.
pub(crate) fn open_session(
    source: &str,
    function: Option<&str>,
    journal: JournalUse,
    stop: &StopSignal,
) -> Result<HeadlessSession> {
    check_source(source)?;
    let monitor = TerminalMonitor {
        stop: stop.clone(),
        is_watched: std::io::stderr().is_terminal(),
        shown: None,
    };
    HeadlessSession::open(
        source,
        function,
        Box::new(journal.host()),
        Box::new(monitor),
    )
}
