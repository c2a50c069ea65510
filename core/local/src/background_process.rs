//! Processes that go on after the one that started them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::host_name::host_name;
use crate::process_group::{spawn_apart, terminate};

/// A process in the background, known by a file that is locked as long as it runs. The file states its host and its
/// number; the lock shows that the number has not gone to another process.
#[derive(Clone, Debug)]
pub struct BackgroundProcess {
    file: PathBuf,
}

impl BackgroundProcess {
    /// Returns the process of a file, which may not run, or never have run.
    pub fn new(file: &Path) -> Self {
        let file = file.to_owned();
        Self { file }
    }

    /// Starts the process. It has no standard input, and signals of the terminal do not reach it.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if it runs; those of the operating system.
    pub fn start(&self, mut command: Command) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        let file = options.open(&self.file)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let running = format!("it runs already: {}", self.file.display());
                return Err(io::Error::new(ErrorKind::AlreadyExists, running));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        // The process inherits the open file, and with it the lock; the command has it until it is dropped.
        command.stdin(Stdio::from(file.try_clone()?));
        let process = spawn_apart(&mut command)?;
        let host = host_name().unwrap_or_default();
        (&file).write_all(format!("{} {host}\n", process.id()).as_bytes())
    }

    /// Returns whether it runs.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn is_running(&self) -> io::Result<bool> {
        let file = match File::open(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Asks a process that runs to end.
    ///
    /// # Errors
    /// It runs on another machine; those of the operating system.
    pub fn ask_to_end(&self) -> io::Result<()> {
        let mut text = String::new();
        File::open(&self.file)?.read_to_string(&mut text)?;
        let (number, host) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if host != host_name().unwrap_or_default() {
            let elsewhere = format!("it runs on {host}: repeat the command there");
            return Err(io::Error::new(ErrorKind::Unsupported, elsewhere));
        }
        let number = number.parse();
        terminate(number.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_runs_until_it_is_asked_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sleep.process");
        let process = BackgroundProcess::new(&file);
        assert!(!process.is_running().unwrap());
        let mut sleep = Command::new("sleep");
        sleep.arg("600");
        process.start(sleep).unwrap();
        // Another process asks.
        let same = BackgroundProcess::new(&file);
        assert!(same.is_running().unwrap());
        let again = same.start(Command::new("sleep"));
        assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
        same.ask_to_end().unwrap();
        while same.is_running().unwrap() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        process.start(Command::new("true")).unwrap();
    }

    #[test]
    fn a_process_of_another_machine_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("far.process");
        std::fs::write(&file, "1 another-machine\n").unwrap();
        let refused = BackgroundProcess::new(&file).ask_to_end().unwrap_err();
        assert!(refused.to_string().contains("another-machine"), "{refused}");
    }
}
