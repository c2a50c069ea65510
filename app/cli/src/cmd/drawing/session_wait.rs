//! A run that is open as a session without a window.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use callgrove_session::{Command, Session, Severity, Snapshot, Wake};

use crate::engine;
use crate::host::{NativeHost, check_source};
use crate::journal_file;
use crate::stop::StopSignal;

/// Interval after which the session is looked at even if it reported nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A session whose run is open, with its forest, its scores, causes, trends and patterns.
pub(crate) struct HeadlessSession {
    pub(crate) session: Session,
    waiter: Waiter,
    /// Number of markers that were sent.
    num_markers: u64,
    /// Number of the last notice that was looked at.
    last_notice: u64,
}

/// Waits for the session's news, and reports its progress.
struct Waiter {
    news: Receiver<()>,
    stop: StopSignal,
    /// Whether standard error is a terminal.
    is_watched: bool,
    /// The stage and the percentage that are shown.
    shown: Option<(String, u32)>,
}

/// What a session does with the labels of the user's journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JournalUse {
    /// They are not used, so that the result depends on the arguments only.
    Ignored,
    /// They are used, also while a window has the run open; none are given.
    Read,
    /// They are used, and new ones are kept.
    Written,
}

impl JournalUse {
    fn host(self) -> NativeHost {
        match self {
            Self::Ignored => NativeHost::new(Err(anyhow!("pictures have no journal"))),
            Self::Read => NativeHost::new(journal_file::default_folder()).reading(),
            Self::Written => NativeHost::new(journal_file::default_folder()),
        }
    }
}

impl HeadlessSession {
    /// Opens a trace or a saved session, and waits until everything is computed.
    ///
    /// # Errors
    /// If the run cannot be opened, or the program is asked to stop.
    pub(crate) fn open(
        source: &str,
        function: Option<&str>,
        journal: JournalUse,
        stop: &StopSignal,
    ) -> Result<Self> {
        check_source(source)?;
        let (sender, news) = sync_channel(1);
        let wake: Wake = Arc::new(move || {
            // A waiting report is enough for any number of snapshots.
            sender.try_send(()).ok();
        });
        let engine = engine::start(Box::new(journal.host()), wake)?;
        let mut opened = Self {
            session: Session::new(engine, None),
            waiter: Waiter {
                news,
                stop: stop.clone(),
                is_watched: std::io::stderr().is_terminal(),
                shown: None,
            },
            num_markers: 0,
            last_notice: 0,
        };
        let open = Command::OpenTrace {
            source: source.to_owned(),
            function: function.map(str::to_owned),
        };
        let error = opened.perform([open])?;
        let snapshot = opened.session.snapshot();
        let has_all =
            snapshot.trace.is_some() && (function.is_none() || snapshot.analysis.is_some());
        match error {
            Some(error) if !has_all => bail!("{}", error.trim_end_matches('.')),
            _ if !has_all => bail!("the run could not be opened"),
            _ => Ok(opened),
        }
    }

    /// Carries out commands, waits until that is done, and returns the first error that the session reported.
    ///
    /// # Errors
    /// If the program is asked to stop.
    pub(crate) fn perform(
        &mut self,
        commands: impl IntoIterator<Item = Command>,
    ) -> Result<Option<String>> {
        for command in commands {
            self.session.send(command);
        }
        // Commands are carried out in order, and a name is shown as soon as it is set.
        self.num_markers += 1;
        let marker = format!("marker {}", self.num_markers);
        self.session.send(Command::SetName(marker.clone()));
        loop {
            self.session.update();
            let snapshot = Arc::clone(self.session.snapshot());
            if snapshot.name.as_deref() == Some(&*marker) {
                self.waiter.clear();
                return Ok(self.new_error(&snapshot));
            }
            if !self.waiter.wait(&snapshot) {
                self.session.cancel();
                self.waiter.clear();
                bail!("cancelled");
            }
        }
    }

    /// Returns the first error of a snapshot that was not returned before.
    fn new_error(&mut self, snapshot: &Snapshot) -> Option<String> {
        let before = self.last_notice;
        let new = snapshot.notices.iter().filter(|it| it.id > before);
        self.last_notice = new.clone().map(|it| it.id).max().unwrap_or(before);
        let mut errors = new.filter(|it| it.severity == Severity::Error);
        errors.next().map(|error| error.text.clone())
    }

    /// Returns the session, and what to call while it works: waits a moment, and returns `false` once the program is
    /// asked to stop.
    pub(crate) fn parts(&mut self) -> (&mut Session, impl FnMut(&mut Session) -> bool) {
        let waiter = &mut self.waiter;
        let wait = move |session: &mut Session| {
            let snapshot = Arc::clone(session.snapshot());
            waiter.wait(&snapshot)
        };
        (&mut self.session, wait)
    }
}

impl Waiter {
    /// Waits for news. Returns `false` once the program is asked to stop.
    fn wait(&mut self, snapshot: &Snapshot) -> bool {
        if let Some(work) = snapshot.work.as_ref().filter(|_| self.is_watched) {
            let now = (work.stage.clone(), (work.fraction * 100.0) as u32);
            if self.shown.as_ref() != Some(&now) {
                write!(std::io::stderr(), "\r\x1b[2K{}… {} %", now.0, now.1).ok();
                self.shown = Some(now);
            }
        }
        // Without news, the caller looks again.
        self.news.recv_timeout(POLL_INTERVAL).ok();
        !self.stop.is_set()
    }

    /// Removes the progress from the terminal.
    fn clear(&mut self) {
        if self.shown.take().is_some() {
            write!(std::io::stderr(), "\r\x1b[2K").ok();
        }
    }
}
