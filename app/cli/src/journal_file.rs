//! The journal of a source on disk: appended, synchronised, and owned by one window at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::Hasher;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// An open journal; nobody else can open it meanwhile.
pub(crate) struct JournalFile {
    file: File,
    path: PathBuf,
}

impl JournalFile {
    /// Opens the journal of `source` in `folder` and gives its complete lines. A last line that a
    /// crash cut short is dropped.
    pub(crate) fn open(folder: &Path, source: &str) -> Result<(Self, Vec<String>)> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let path = folder.join(file_name(source));
        let in_file = || format!("cannot use {}", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(in_file)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("another window has the same trace open"),
            Err(TryLockError::Error(error)) => return Err(error).with_context(in_file),
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).with_context(in_file)?;
        let complete = content
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |end| end + 1);
        file.set_len(complete as u64).with_context(in_file)?;
        file.seek(SeekFrom::End(0)).with_context(in_file)?;
        let lines = String::from_utf8_lossy(&content[..complete])
            .lines()
            .map(str::to_owned)
            .collect();
        Ok((Self { file, path }, lines))
    }

    /// Appends a line; it is on disk when this returns.
    pub(crate) fn append(&mut self, line: &str) -> Result<()> {
        let mut bytes = line.as_bytes().to_vec();
        bytes.push(b'\n');
        let end = self.file.stream_position();
        let written = self
            .file
            .write_all(&bytes)
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Half a line must not stand before the next one.
            if let Ok(end) = end {
                self.file
                    .set_len(end)
                    .and_then(|()| self.file.seek(SeekFrom::Start(end)))
                    .ok();
            }
            return Err(error).with_context(|| format!("cannot write {}", self.path.display()));
        }
        Ok(())
    }
}

/// Where journals live: `$XDG_STATE_HOME/callgrove`, or `~/.local/state/callgrove`.
pub(crate) fn default_folder() -> Result<PathBuf> {
    let from_env = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path: &PathBuf| path.is_absolute())
    };
    let state = from_env("XDG_STATE_HOME").or_else(|| Some(from_env("HOME")?.join(".local/state")));
    Ok(state
        .context("neither XDG_STATE_HOME nor HOME is set")?
        .join("callgrove"))
}

/// The same trace has the same journal whatever way it was named.
fn file_name(source: &str) -> String {
    let path = std::fs::canonicalize(source)
        .unwrap_or_else(|_| std::path::absolute(source).unwrap_or_else(|_| source.into()));
    let mut hasher = Fnv::default();
    hasher.write(path.as_os_str().as_encoded_bytes());
    let stem = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stem: String = stem
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '-' || c == '.' {
                c
            } else {
                '_'
            }
        })
        .collect();
    format!("{stem}-{:016x}.jsonl", hasher.finish())
}

/// FNV-1a (Fowler, Noll, Vo), since names of files must not change with the release of Rust.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_half_a_line_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, lines) = JournalFile::open(folder.path(), "run").unwrap();
        assert_eq!(lines, Vec::<String>::new());
        journal.append("one").unwrap();
        journal.append("two").unwrap();
        let path = journal.path.clone();
        drop(journal);
        OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"half")
            .unwrap();
        let (mut journal, lines) = JournalFile::open(folder.path(), "run").unwrap();
        assert_eq!(lines, ["one", "two"]);
        journal.append("three").unwrap();
        drop(journal);
        assert_eq!(
            JournalFile::open(folder.path(), "run").unwrap().1,
            ["one", "two", "three"]
        );
    }

    #[test]
    fn two_windows_do_not_share_a_journal() {
        let folder = tempfile::tempdir().unwrap();
        let (first, _) = JournalFile::open(folder.path(), "run").unwrap();
        assert!(
            JournalFile::open(folder.path(), "run").is_err(),
            "the second window is refused"
        );
        drop(first);
        assert!(
            JournalFile::open(folder.path(), "run").is_ok(),
            "the lock goes with its owner"
        );
    }

    #[test]
    fn every_source_has_its_own_journal() {
        assert_ne!(file_name("run-a"), file_name("run-b"));
        assert_eq!(file_name("./run-a"), file_name("run-a"));
    }
}
