//! A process that a test starts, listens to, and ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// Long enough for any answer on a busy machine; a test that waits so long fails.
const PATIENCE: Duration = Duration::from_mins(2);
/// Lines that wait for the test to look at them.
const MAX_WAITING: usize = 1 << 16;

/// A process of the test, killed at its end; its standard error line by line.
pub struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    /// Starts it.
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

    /// Waits for a line with `text`, and gives it.
    ///
    /// # Errors
    /// It never comes.
    pub fn line_with(&self, text: &str) -> Result<String> {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.with_context(|| format!("it never said {text}"))?;
            if line.contains(text) {
                return Ok(line);
            }
        }
    }

    /// The address that a server says it listens at.
    ///
    /// # Errors
    /// It never says one.
    pub fn url(&self) -> Result<String> {
        let line = self.line_with("://")?;
        let start = line.find("http").context("an address")?;
        let url = line[start..].split_whitespace().next();
        Ok(url.context("an address")?.to_owned())
    }

    /// Standard output of a process that must end well.
    ///
    /// # Errors
    /// It ends badly.
    pub fn finish(mut self) -> Result<String> {
        let mut text = String::new();
        let mut out = self.child.stdout.take().context("it was piped")?;
        out.read_to_string(&mut text)?;
        let status = self.child.wait()?;
        let said: Vec<String> = self.lines.try_iter().collect();
        ensure!(status.success(), "{status}: {said:#?}");
        Ok(text)
    }

    /// The exit code of a process that ends by itself.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn code(mut self) -> Result<Option<i32>> {
        let mut out = self.child.stdout.take().context("it was piped")?;
        out.read_to_string(&mut String::new())?;
        Ok(self.child.wait()?.code())
    }

    /// Asks it to end, as a batch system does.
    ///
    /// # Errors
    /// It ends badly.
    pub fn terminate(self) -> Result<String> {
        self.ask_to_end()?;
        self.finish()
    }

    /// The same without waiting for it.
    ///
    /// # Errors
    /// It cannot be told.
    pub fn ask_to_end(&self) -> Result<()> {
        self.signal("-TERM")
    }

    /// Stops it where it is, until it may [`Self::go_on`].
    ///
    /// # Errors
    /// It cannot be told.
    pub fn pause(&self) -> Result<()> {
        self.signal("-STOP")
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// It cannot be told.
    pub fn go_on(&self) -> Result<()> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args([signal, &pid]).status()?;
        ensure!(told.success(), "it cannot be sent {signal}");
        Ok(())
    }

    /// Ends it at once, as a machine that fails does.
    ///
    /// # Errors
    /// It cannot be ended.
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
