//! A background process of a test, with its output.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// Timeout of every wait, long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_mins(2);
/// Capacity of the queue of lines that the test has not read yet.
const MAX_WAITING: usize = 1 << 16;

/// A process of the test, killed when it is dropped; its standard error is read line by line.
pub struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    /// Starts the process.
    ///
    /// # Errors
    /// The system does not start it.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (sender, lines) = sync_channel(MAX_WAITING);
        let stderr = BufReader::new(child.stderr.take().context("it was piped")?);
        thread::Builder::new()
            .name("standard error".to_owned())
            .spawn(move || {
                for line in stderr.lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self { child, lines })
    }

    /// Waits for a line with `text`, and returns it.
    ///
    /// # Errors
    /// The line does not come.
    pub fn line_with(&self, text: &str) -> Result<String> {
        loop {
            let line = self.lines.recv_timeout(TIMEOUT);
            let line = line.with_context(|| format!("it never printed {text}"))?;
            if line.contains(text) {
                return Ok(line);
            }
        }
    }

    /// Returns the address that a server prints.
    ///
    /// # Errors
    /// The server prints none.
    pub fn url(&self) -> Result<String> {
        let line = self.line_with("://")?;
        let start = line.find("http").context("an address")?;
        let url = line[start..].split_whitespace().next();
        Ok(url.context("an address")?.to_owned())
    }

    /// Returns the standard output of a process that must succeed.
    ///
    /// # Errors
    /// The process fails.
    pub fn finish(mut self) -> Result<String> {
        let mut text = String::new();
        let mut out = self.child.stdout.take().context("it was piped")?;
        out.read_to_string(&mut text)?;
        let status = self.child.wait()?;
        let lines: Vec<String> = self.lines.try_iter().collect();
        ensure!(status.success(), "{status}: {lines:#?}");
        Ok(text)
    }

    /// Returns the exit code of a process that ends by itself.
    ///
    /// # Errors
    /// The wait fails.
    pub fn code(mut self) -> Result<Option<i32>> {
        let mut out = self.child.stdout.take().context("it was piped")?;
        out.read_to_string(&mut String::new())?;
        Ok(self.child.wait()?.code())
    }

    /// Returns whether it has not ended.
    ///
    /// # Errors
    /// The wait fails.
    pub fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Terminates it as a batch system does, and returns its standard output.
    ///
    /// # Errors
    /// The process fails.
    pub fn terminate(self) -> Result<String> {
        self.ask_to_end()?;
        self.finish()
    }

    /// Asks it to terminate, without waiting.
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn ask_to_end(&self) -> Result<()> {
        self.signal("-TERM")
    }

    /// Stops it until [`Self::go_on`].
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn pause(&self) -> Result<()> {
        self.signal("-STOP")
    }

    /// Continues a stopped process.
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn go_on(&self) -> Result<()> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status()?;
        ensure!(status.success(), "it cannot be sent {signal}");
        Ok(())
    }

    /// Kills it immediately, like a failing machine.
    ///
    /// # Errors
    /// The process cannot be killed.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
