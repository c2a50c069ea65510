//! Processes that go on after the one that started them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::host_name::host_name;
use crate::process_group::{spawn_apart, terminate};

/// Start of the line with the exit code.
const EXIT_CODE: &str = "exit code";

/// How a process that runs no more has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessEnd {
    /// It was never started.
    NeverRan,
    /// With an exit code, which it noted itself.
    Code(u8),
    /// Without a note: it was killed, it crashed, or a second signal stopped it.
    Unknown,
}

/// A process in the background, known by a file that is locked as long as it runs. The file states its number and its
/// host, and how it ended; the lock shows that the number has not gone to another process.
///
/// ```text
/// 4711 node7
/// exit code 0
/// ```
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
        options.read(true).append(true).create(true);
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

    /// Notes that this process, which [`start`](Self::start) started, ends with an exit code.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn note_exit(&self, code: u8) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).open(&self.file)?;
        file.write_all(format!("{EXIT_CODE} {code}\n").as_bytes())
    }

    /// Returns how the process, which runs no more, ended.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn end(&self) -> io::Result<ProcessEnd> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ProcessEnd::NeverRan),
            Err(error) => return Err(error),
        };
        let mut codes = text.lines().filter_map(|it| it.strip_prefix(EXIT_CODE));
        let code = codes.next().and_then(|it| it.trim().parse().ok());
        Ok(code.map_or(ProcessEnd::Unknown, ProcessEnd::Code))
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
        let text = fs::read_to_string(&self.file)?;
        let mut lines = text.lines().filter(|it| !it.starts_with(EXIT_CODE));
        let line = lines.next().unwrap_or_default();
        let (number, host) = line.split_once(' ').unwrap_or((line, ""));
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
        assert_eq!(process.end().unwrap(), ProcessEnd::Unknown);
        process.start(Command::new("true")).unwrap();
    }

    #[test]
    fn a_process_notes_its_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("true.process");
        let process = BackgroundProcess::new(&file);
        assert_eq!(process.end().unwrap(), ProcessEnd::NeverRan);
        for code in [0, 3] {
            process.start(Command::new("true")).unwrap();
            while process.is_running().unwrap() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            assert_eq!(process.end().unwrap(), ProcessEnd::Unknown);
            process.note_exit(code).unwrap();
            assert_eq!(process.end().unwrap(), ProcessEnd::Code(code));
        }
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
