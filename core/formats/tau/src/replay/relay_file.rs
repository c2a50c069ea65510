//! The file in which a relay states what it copies, for those who follow its folder.
//!
//! The first line names the streams. The second has a fixed length and is overwritten where it is, so that a full disk
//! does not prevent it. The relay holds a lock of the file while it runs. The system releases the lock however the relay
//! ends, so a reader knows when nothing more comes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Name of the file in the folder of a relay. No format of a trace has this ending.
const FILE_NAME: &str = "relay.state";
/// Length of the second line in bytes: more than that of any state.
const STATE_LEN: usize = 80;
/// Maximum time that a relay waits for the lock: readers test it for an instant.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause between two attempts to get the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The second line of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CopyState {
    num_dropped: u64,
    has_ended: bool,
}

/// The file of a running relay.
#[derive(Debug)]
pub(super) struct RelayFile {
    /// Locked until it is dropped.
    file: File,
    /// Offset of the second line in bytes.
    state_begin: u64,
    state: CopyState,
}

impl RelayFile {
    /// Begins the file of a relay that copies `streams` into `folder`.
    ///
    /// # Errors
    /// [`ErrorKind::ResourceBusy`] if another relay writes into the folder; those of the operating system.
    pub(super) fn create<'a>(
        folder: &Path,
        streams: impl Iterator<Item = &'a Path>,
    ) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let mut file = options.open(folder.join(FILE_NAME))?;
        lock(&file)?;
        file.set_len(0)?;
        let names = streams.filter_map(Path::file_name);
        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        let mut line = serde_json::to_vec(&names)?;
        line.push(b'\n');
        file.write_all(&line)?;
        let mut created = Self {
            state_begin: file.stream_position()?,
            file,
            state: CopyState::default(),
        };
        created.write_state()?;
        Ok(created)
    }

    /// States the number of dropped steps, of all streams together, if it has changed.
    pub(super) fn state_dropped(&mut self, num_dropped: u64) -> io::Result<()> {
        if num_dropped == self.state.num_dropped {
            return Ok(());
        }
        self.state.num_dropped = num_dropped;
        self.write_state()
    }

    /// States that all files are complete.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.state.has_ended = true;
        self.write_state()
    }

    fn write_state(&mut self) -> io::Result<()> {
        let mut line = serde_json::to_vec(&self.state)?;
        line.resize(STATE_LEN - 1, b' ');
        line.push(b'\n');
        self.file.seek(SeekFrom::Start(self.state_begin))?;
        self.file.write_all(&line)
    }
}

fn lock(file: &File) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_TIMEOUT => {
                thread::sleep(LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                let reason = "another relay writes into it";
                return Err(io::Error::new(ErrorKind::ResourceBusy, reason));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// What the relay of a folder has stated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RelayState {
    /// The streams that the relay copies, whether their files exist yet or not.
    pub streams: Vec<PathBuf>,
    /// Number of steps, of all streams together, that are in no file.
    pub num_dropped: u64,
    /// True if all files are complete.
    pub has_ended: bool,
    /// True while the relay may still write.
    pub is_running: bool,
}

impl RelayState {
    /// Reads the state of the relay that writes, or wrote, into `folder`; `None` if there is no relay.
    pub fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(FILE_NAME);
        // The lock is tested first, so that what a relay stated before its end is complete.
        let is_running = File::open(&path).ok()?.try_lock_shared().is_err();
        let content = fs::read_to_string(&path).ok()?;
        let mut lines = content.lines();
        let names: Vec<String> = serde_json::from_str(lines.next()?).ok()?;
        let CopyState {
            num_dropped,
            has_ended,
        } = serde_json::from_str(lines.next()?).ok()?;
        Some(Self {
            streams: names.iter().map(|name| folder.join(name)).collect(),
            num_dropped,
            has_ended,
            is_running,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relay_of_two(folder: &Path) -> io::Result<RelayFile> {
        let streams = [Path::new("live/a-0.bp"), Path::new("live/a-1.bp")];
        RelayFile::create(folder, streams.into_iter())
    }

    #[test]
    fn a_folder_states_what_comes_and_whether_its_relay_runs() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert_eq!(RelayState::read(folder), None);
        let mut relay = relay_of_two(folder).unwrap();
        relay.state_dropped(3).unwrap();
        relay.state_dropped(u64::MAX).unwrap();
        let mut expected = RelayState {
            streams: vec![folder.join("a-0.bp"), folder.join("a-1.bp")],
            num_dropped: u64::MAX,
            has_ended: false,
            is_running: true,
        };
        assert_eq!(RelayState::read(folder).as_ref(), Some(&expected));
        drop(relay);
        expected.is_running = false;
        assert_eq!(RelayState::read(folder).as_ref(), Some(&expected));
        relay_of_two(folder).unwrap().end().unwrap();
        (expected.num_dropped, expected.has_ended) = (0, true);
        assert_eq!(RelayState::read(folder), Some(expected));
    }

    #[test]
    fn a_folder_has_one_relay() {
        let folder = tempfile::tempdir().unwrap();
        let _first = relay_of_two(folder.path()).unwrap();
        let second = relay_of_two(folder.path()).unwrap_err();
        assert_eq!(second.kind(), ErrorKind::ResourceBusy);
    }

    #[test]
    fn a_damaged_file_states_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for content in [
            "",
            "[\"a-0.bp\"]\n",
            "[\"a-0.bp\"]\n{\"num_dropped\":7",
            "\u{1}\n{}\n",
        ] {
            fs::write(folder.path().join(FILE_NAME), content).unwrap();
            assert_eq!(RelayState::read(folder.path()), None, "{content}");
        }
    }
}
