//! A run that is open as a session without a window.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use anyhow::{Result, bail};
use callgrove_session::{Command, Host, Session, Severity, Snapshot, Wake, Work};

use crate::engine::start_engine;

/// Interval after which the session is looked at even if it reported nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Shows the progress of a session's work, and asks it to stop.
pub trait WorkMonitor: Send {
    /// Shows the current work, if there is any. Returns `false` once the work must stop.
    fn at(&mut self, work: Option<&Work>) -> bool;

    /// Removes what is shown: the work has ended.
    fn clear(&mut self) {}
}

/// A session whose run is open, with its forest, its scores, causes, trends and patterns.
pub struct HeadlessSession {
    /// The session.
    pub session: Session,
    waiter: Waiter,
    /// Number of markers that were sent.
    num_markers: u64,
    /// Number of the last notice that was looked at.
    last_notice: u64,
}

/// Waits for the session's news, and reports its progress.
struct Waiter {
    news: Receiver<()>,
    monitor: Box<dyn WorkMonitor>,
}

impl HeadlessSession {
    /// Opens a trace or a saved session, and waits until everything is computed.
    ///
    /// # Errors
    /// If the run cannot be opened, or the monitor stops the work.
    pub fn open(
        source: &str,
        function: Option<&str>,
        host: Box<dyn Host>,
        monitor: Box<dyn WorkMonitor>,
    ) -> Result<Self> {
        let (sender, news) = sync_channel(1);
        let wake: Wake = Arc::new(move || {
            // A waiting report is enough for any number of snapshots.
            sender.try_send(()).ok();
        });
        let mut opened = Self {
            session: Session::new(start_engine(host, wake)?, None),
            waiter: Waiter { news, monitor },
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
            snapshot.trace().is_some() && (function.is_none() || snapshot.analysis().is_some());
        match error {
            Some(error) if !has_all => bail!("{}", error.trim_end_matches('.')),
            _ if !has_all => bail!("the run could not be opened"),
            _ => Ok(opened),
        }
    }

    /// Carries out commands, waits until that is done, and returns the first error that the session reported.
    ///
    /// # Errors
    /// If the monitor stops the work.
    pub fn perform(
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
            if snapshot.viewers.name.as_deref() == Some(&*marker) {
                self.waiter.monitor.clear();
                return Ok(self.new_error(&snapshot));
            }
            if !self.waiter.wait(&snapshot) {
                self.session.cancel();
                self.waiter.monitor.clear();
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

    /// Returns the session, and what to call while it works: waits a moment, and returns `false` once the monitor
    /// stops the work.
    pub fn parts(&mut self) -> (&mut Session, impl FnMut(&mut Session) -> bool) {
        let waiter = &mut self.waiter;
        let wait = move |session: &mut Session| {
            let snapshot = Arc::clone(session.snapshot());
            waiter.wait(&snapshot)
        };
        (&mut self.session, wait)
    }
}

impl Waiter {
    /// Waits for news. Returns `false` once the monitor stops the work.
    fn wait(&mut self, snapshot: &Snapshot) -> bool {
        let continues = self.monitor.at(snapshot.work.as_ref());
        if continues {
            // Without news, the caller looks again.
            self.news.recv_timeout(POLL_INTERVAL).ok();
        }
        continues
    }
}
