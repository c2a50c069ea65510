//! The journal of a source on disk: append-only, synchronized, and owned by one window at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use callgrove_model::{RunIdentity, RunMatch, fnv1a};
use callgrove_session::journal_run;

use crate::files::{Readers, user_folder};

/// An open journal, locked against other processes.
pub struct JournalFile {
    file: File,
    path: PathBuf,
}

impl JournalFile {
    /// Returns the path of a run's journal in `folder`. It is found by the run that it states, or, if it states none,
    /// as in version 1, by the `source` of its trace.
    pub fn path(folder: &Path, source: &str, run: &RunIdentity) -> PathBuf {
        let of_source = folder.join(file_name(source));
        let mut is_of_other_run = false;
        for path in journals(folder) {
            match stated_run(&path).map_or(RunMatch::Unknown, |stated| run.compare(&stated)) {
                RunMatch::Same => return path,
                RunMatch::Different(_) => is_of_other_run |= path == of_source,
                RunMatch::Unknown => {}
            }
        }
        if run.is_empty() || of_source.exists() && !is_of_other_run {
            return of_source;
        }
        let name = |copy: u32| match copy {
            1 => format!("{}.jsonl", run.id()),
            copy => format!("{}-{copy}.jsonl", run.id()),
        };
        let mut paths = (1..).map(|copy| folder.join(name(copy)));
        paths.find(|path| !path.exists()).unwrap_or(of_source)
    }

    /// Opens the journal at `path`, and creates it if necessary. A last line that a crash truncated is removed.
    ///
    /// # Errors
    /// It cannot be read or written, or another process has it open.
    pub fn open(path: &Path) -> Result<Self> {
        let in_file = || format!("cannot use {}", path.display());
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let is_new = !path.exists();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = Readers::User
            .of_new_file(&mut options)
            .open(path)
            .with_context(in_file)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("another window has the same run open"),
            Err(TryLockError::Error(error)) => return Err(error).with_context(in_file),
        }
        if is_new {
            sync_folder(folder).with_context(in_file)?;
        }
        let mut journal = Self {
            file,
            path: path.to_owned(),
        };
        journal.drop_half_line().with_context(in_file)?;
        Ok(journal)
    }

    /// Returns the complete lines of the journal at `path`, also while another window has it open; none if there is no
    /// such file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<Vec<String>> {
        let content = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            content => content.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let complete = content.iter().rposition(|&byte| byte == b'\n');
        let text = String::from_utf8_lossy(&content[..complete.map_or(0, |end| end + 1)]);
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Returns the path of the journal.
    pub fn path_of(&self) -> &Path {
        &self.path
    }

    /// Returns the lines of the journal.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn lines(&mut self) -> Result<Vec<String>> {
        let content = self
            .content()
            .with_context(|| format!("cannot read {}", self.path.display()))?;
        let text = String::from_utf8_lossy(&content);
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn drop_half_line(&mut self) -> std::io::Result<()> {
        let content = self.content()?;
        let complete = content.iter().rposition(|&byte| byte == b'\n');
        self.file
            .set_len(complete.map_or(0, |end| end as u64 + 1))?;
        self.file.seek(SeekFrom::End(0)).map(|_| ())
    }

    /// Returns the content of the file, and leaves its position at the end.
    fn content(&mut self) -> std::io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut content)?;
        Ok(content)
    }

    /// Appends a line, which is on disk when this function returns.
    ///
    /// # Errors
    /// It cannot be written; no part of the line remains.
    pub fn append(&mut self, line: &str) -> Result<()> {
        let mut bytes = line.as_bytes().to_vec();
        bytes.push(b'\n');
        let end = self.file.stream_position();
        let written = self
            .file
            .write_all(&bytes)
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Removes a partial line, which would damage the next one.
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

/// Returns all journals of a folder, sorted by name; none if the folder cannot be read.
fn journals(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut paths: Vec<_> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .collect();
    paths.sort();
    paths
}

/// Returns the run that a journal states. It may be in any line, since old journals are continued.
fn stated_run(path: &Path) -> Option<RunIdentity> {
    let lines = BufReader::new(File::open(path).ok()?).lines();
    lines
        .map_while(Result::ok)
        .find_map(|line| journal_run(&line))
}

/// Makes sure that a new file of a folder survives a crash.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    // Only Unix opens folders as files; other systems synchronize them by themselves.
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Returns the folder of journals: `$XDG_STATE_HOME/callgrove`, or `~/.local/state/callgrove`.
///
/// # Errors
/// Neither variable is set.
pub fn default_folder() -> Result<PathBuf> {
    user_folder("XDG_STATE_HOME", ".local/state").context("neither XDG_STATE_HOME nor HOME is set")
}

/// Returns the name of a source's journal, which is the same for every path to the source.
fn file_name(source: &str) -> String {
    let path = std::fs::canonicalize(source)
        .unwrap_or_else(|_| std::path::absolute(source).unwrap_or_else(|_| source.into()));
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
    format!(
        "{stem}-{:016x}.jsonl",
        fnv1a(path.as_os_str().as_encoded_bytes())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_complete_lines_of_an_open_journal_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        assert_eq!(JournalFile::read(&path).unwrap(), [""; 0]);
        std::fs::write(&path, "one\ntwo\n").unwrap();
        let _open = JournalFile::open(&path).unwrap();
        std::fs::write(&path, "one\ntwo\nthr").unwrap();
        assert_eq!(JournalFile::read(&path).unwrap(), ["one", "two"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\nthr");
    }

    #[test]
    fn complete_lines_are_kept_and_a_partial_one_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new folder/run.jsonl");
        let mut journal = JournalFile::open(&path).unwrap();
        assert_eq!(journal.lines().unwrap(), Vec::<String>::new());
        journal.append("one").unwrap();
        journal.append("two").unwrap();
        assert_eq!(journal.lines().unwrap(), ["one", "two"]);
        drop(journal);
        OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"half")
            .unwrap();
        let mut journal = JournalFile::open(&path).unwrap();
        assert_eq!(journal.lines().unwrap(), ["one", "two"]);
        journal.append("three").unwrap();
        drop(journal);
        let lines = JournalFile::open(&path).unwrap().lines().unwrap();
        assert_eq!(lines, ["one", "two", "three"]);
    }

    #[test]
    fn a_journal_has_one_owner_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        let first = JournalFile::open(&path).unwrap();
        assert!(
            JournalFile::open(&path).is_err(),
            "the second owner is refused"
        );
        drop(first);
        assert!(
            JournalFile::open(&path).is_ok(),
            "the lock is released with its owner"
        );
    }

    #[test]
    fn every_source_has_a_journal_of_its_own() {
        assert_ne!(file_name("run-a"), file_name("run-b"));
        assert_eq!(file_name("./run-a"), file_name("run-a"));
    }
}
