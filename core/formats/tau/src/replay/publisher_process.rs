//! The processes of a replay, seen from the replay.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_model::{RankId, WarningKind, Warnings};
use callgrove_source::rank_in_name;

use super::messages::{FromPublisher, ToPublisher};
use super::publisher::{CLOSE_GRACE, StreamCopy};
use super::replay_clock::ReplayClock;
use crate::error::TauError;

/// Interval between two checks whether a process has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Longest wait for the end of a process that was asked to stop; then it is killed. Twice the time that it allows
/// itself.
pub(super) const END_TIMEOUT: Duration = CLOSE_GRACE.saturating_mul(2);

/// The program that publishes one stream in a process of its own: with these arguments, followed by those of the
/// stream, it must call [`super::publish`] with the latter. It should ignore the interrupt that a terminal sends to the
/// replay and its processes together.
#[derive(Clone, Debug)]
pub struct PublisherProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, before those of the stream.
    pub arguments: Vec<OsString>,
}

/// A report about one stream.
pub(super) enum Report {
    /// The number of steps that it will publish.
    Opened(usize),
    /// One step was published.
    Step,
    /// The process has ended.
    Done(Result<Warnings, TauError>),
}

/// The process that publishes one stream; killed when this is dropped.
#[derive(Debug)]
pub(super) struct PublisherProcess {
    copy: StreamCopy,
    child: Mutex<Child>,
    /// Its standard input, until it was asked to stop.
    input: Mutex<Option<ChildStdin>>,
    /// Its standard output, until it is followed.
    output: Mutex<Option<ChildStdout>>,
}

impl PublisherProgram {
    /// Starts the process of a stream.
    ///
    /// # Errors
    /// [`TauError::NoPublisher`].
    pub(super) fn start(&self, copy: StreamCopy) -> Result<PublisherProcess, TauError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(copy.arguments());
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|source| TauError::NoPublisher {
            source,
            path: copy.path.clone(),
        })?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Ok(PublisherProcess {
            copy,
            child: Mutex::new(child),
            input: Mutex::new(input),
            output: Mutex::new(output),
        })
    }
}

impl PublisherProcess {
    /// Lets the process publish by the clock, and reports, until it has ended.
    pub(super) fn follow(&self, clock: &ReplayClock, report: &dyn Fn(Report)) {
        // Read by this function until the process has ended, so that it can still print.
        let output = lock(&self.output).take().map(BufReader::new);
        let lines = output.into_iter().flat_map(BufReader::lines);
        let mut lines = lines.map_while(Result::ok);
        let outcome = self.answer(&mut lines, clock, report);
        self.stop();
        self.end();
        report(Report::Done(outcome));
    }

    /// Answers the requests of the process until its stream is closed.
    fn answer(
        &self,
        lines: &mut dyn Iterator<Item = String>,
        clock: &ReplayClock,
        report: &dyn Fn(Report),
    ) -> Result<Warnings, TauError> {
        let mut warnings = Warnings::default();
        for line in lines {
            match FromPublisher::parse(&line) {
                Some(FromPublisher::Opened(num_steps)) => {
                    report(Report::Opened(num_steps));
                    clock.open_together()?;
                    self.go();
                }
                Some(FromPublisher::Ready(first_us)) => {
                    clock.start(first_us)?;
                    self.go();
                }
                Some(FromPublisher::Step(newest_us)) => {
                    clock.wait_for(newest_us)?;
                    self.go();
                }
                Some(FromPublisher::Published) => report(Report::Step),
                Some(FromPublisher::Truncated(reason)) => {
                    let rank = rank_in_name(&self.copy.path).map(RankId);
                    warnings.count(WarningKind::StreamTruncated, rank, || {
                        format!("{reason}: {}", self.copy.path.display())
                    });
                }
                Some(FromPublisher::Closed) => return Ok(warnings),
                Some(FromPublisher::Failed(reason)) => return Err(self.failed(reason)),
                None => {}
            }
        }
        let how = self.end().map_or("killed".to_owned(), |it| it.to_string());
        Err(self.failed(format!("its process ended early ({how})")))
    }

    /// Answers a request. A process that has ended gets no answer; its output ends then.
    fn go(&self) {
        if let Some(input) = &mut *lock(&self.input) {
            send(input, ToPublisher::Go).ok();
        }
    }

    /// Asks the process to close its stream and to end.
    pub(super) fn stop(&self) {
        if let Some(mut input) = lock(&self.input).take() {
            // It may have ended already.
            send(&mut input, ToPublisher::Stop).ok();
        }
    }

    /// Ends the process at once.
    pub(super) fn kill(&self) {
        // It may have ended already.
        lock(&self.child).kill().ok();
    }

    /// Waits for the end of the process, which is killed after the timeout, and returns how it ended by itself.
    fn end(&self) -> Option<ExitStatus> {
        let deadline = Instant::now() + END_TIMEOUT;
        while Instant::now() < deadline {
            match lock(&self.child).try_wait() {
                Ok(None) => {}
                Ok(status) => return status,
                Err(_) => break,
            }
            thread::sleep(POLL_INTERVAL);
        }
        let mut child = lock(&self.child);
        child.kill().ok();
        child.wait().ok();
        None
    }

    fn failed(&self, reason: String) -> TauError {
        TauError::Publisher {
            reason,
            path: self.copy.out.clone(),
        }
    }
}

impl Drop for PublisherProcess {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        // It has ended, except if not all processes of the replay could be started.
        child.kill().ok();
        child.wait().ok();
    }
}

fn send(input: &mut ChildStdin, message: ToPublisher) -> io::Result<()> {
    // In one call, so that no part of a message arrives alone.
    input.write_all(format!("{message}\n").as_bytes())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
