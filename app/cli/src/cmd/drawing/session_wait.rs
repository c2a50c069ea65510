//! A session without a window: opens a run, and waits until it is analysed.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use callgrove_session::{Command, Session, Severity, Snapshot};

use crate::engine;
use crate::host::NativeHost;
use crate::journal_file;
use crate::output::with_progress;
use crate::platform::open_commands;

/// Time between two looks at the state of the session.
const PAUSE: Duration = Duration::from_millis(5);

/// A session that a command drives.
pub(crate) struct HeadlessSession {
    session: Session,
    /// Number of the last notice that was seen.
    last_notice: u64,
}

impl HeadlessSession {
    /// Starts to open a run. `host` decides whether labels are written.
    pub(crate) fn open(host: NativeHost, sources: &[String], root: Option<&str>) -> Result<Self> {
        let engine = engine::start(Box::new(host), Arc::new(|| ()))?;
        let mut session = Session::new(engine, None);
        for command in open_commands(sources, root) {
            session.send(command);
        }
        Ok(Self {
            session,
            last_notice: 0,
        })
    }

    /// Opens a run whose labels are shown and not changed, and waits until it is analysed.
    pub(crate) fn reading(sources: &[String], root: Option<&str>) -> Result<Self> {
        let host = NativeHost::new(journal_file::default_folder()).reading();
        let mut session = Self::open(host, sources, root)?;
        session.wait(is_analysed)?;
        Ok(session)
    }

    /// Returns the session.
    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Returns the state of the session.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(self.session.snapshot())
    }

    /// Waits until no work is left and `is_done`, and shows the progress.
    ///
    /// # Errors
    /// The first error that the session reports.
    pub(crate) fn wait(&mut self, is_done: impl Fn(&Snapshot) -> bool) -> Result<()> {
        with_progress("Analysing the run", |progress| {
            loop {
                self.session.update();
                let snapshot = Arc::clone(self.session.snapshot());
                self.check(&snapshot)?;
                match &snapshot.work {
                    Some(work) => progress.at(work.fraction)?,
                    None if is_done(&snapshot) => return Ok(()),
                    None => {}
                }
                thread::sleep(PAUSE);
            }
        })
    }

    /// Returns the first new error of a snapshot.
    fn check(&mut self, snapshot: &Snapshot) -> Result<()> {
        let new = snapshot
            .notices
            .iter()
            .filter(|it| it.id > self.last_notice);
        for notice in new {
            self.last_notice = notice.id;
            if notice.severity == Severity::Error {
                bail!("{}", notice.text);
            }
        }
        Ok(())
    }
}

/// Returns whether everything that follows from a trace is known.
pub(crate) fn is_analysed(snapshot: &Snapshot) -> bool {
    snapshot.patterns.is_some()
}
