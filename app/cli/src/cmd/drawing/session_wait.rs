//! A run that is open as a session without a window.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use callgrove_session::{Command, Session, Severity, Snapshot, Wake};

use crate::engine;
use crate::host::{NativeHost, check_source};
use crate::stop::StopSignal;

/// Interval after which the session is looked at even if it reported nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Name by which the session reports that it has carried out all commands before.
const MARKER: &str = "draw";

/// A session whose run is open, with its forest, its scores, causes, trends and patterns.
pub(crate) struct HeadlessSession {
    pub(crate) session: Session,
    waiter: Waiter,
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

impl HeadlessSession {
    /// Opens a trace or a saved session, and waits until everything is computed. The labels of the user's journal are
    /// not used, so that a picture depends on its arguments only.
    ///
    /// # Errors
    /// If the run cannot be opened, or the program is asked to stop.
    pub(crate) fn open(source: &str, function: Option<&str>) -> Result<Self> {
        check_source(source)?;
        let (sender, news) = sync_channel(1);
        let wake: Wake = Arc::new(move || {
            // A waiting report is enough for any number of snapshots.
            sender.try_send(()).ok();
        });
        let host = NativeHost::new(Err(anyhow!("pictures have no journal")));
        let engine = engine::start(Box::new(host), wake)?;
        let mut opened = Self {
            session: Session::new(engine, None),
            waiter: Waiter {
                news,
                stop: StopSignal::listen()?,
                is_watched: std::io::stderr().is_terminal(),
                shown: None,
            },
        };
        opened.session.send(Command::OpenTrace {
            source: source.to_owned(),
            function: function.map(str::to_owned),
        });
        opened.session.send(Command::SetName(MARKER.to_owned()));
        loop {
            opened.session.update();
            let snapshot = Arc::clone(opened.session.snapshot());
            if snapshot.name.as_deref() == Some(MARKER) {
                opened.waiter.clear();
                opened.check(&snapshot, function)?;
                return Ok(opened);
            }
            if !opened.waiter.wait(&snapshot) {
                opened.session.cancel();
                opened.waiter.clear();
                bail!("cancelled: no picture was written");
            }
        }
    }

    /// Checks that the trace is open, and that the named function has a forest.
    fn check(&self, snapshot: &Snapshot, function: Option<&str>) -> Result<()> {
        let errors = snapshot.notices.iter();
        let mut errors = errors.filter(|notice| notice.severity == Severity::Error);
        let has_all =
            snapshot.trace.is_some() && (function.is_none() || snapshot.analysis.is_some());
        match errors.next() {
            Some(error) if !has_all => bail!("{}", error.text.trim_end_matches('.')),
            _ if !has_all => bail!("the run could not be opened"),
            _ => Ok(()),
        }
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
