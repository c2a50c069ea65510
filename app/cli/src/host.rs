//! The desktop's side of the session: files, traces, the journal.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use callgrove_model::{Forest, Progress, Trace};
use callgrove_session::{Host, HostError, read_forest};
use callgrove_trace::{ReadOptions, TraceError, find_streams};

use crate::journal_file::JournalFile;

/// Files of this machine.
pub(crate) struct NativeHost {
    journal_folder: anyhow::Result<PathBuf>,
    journal: Option<JournalFile>,
}

impl NativeHost {
    /// A host that keeps journals in `journal_folder`, if there is one.
    pub(crate) fn new(journal_folder: anyhow::Result<PathBuf>) -> Self {
        Self {
            journal_folder,
            journal: None,
        }
    }
}

fn failed(error: &anyhow::Error) -> HostError {
    HostError::Failed(format!("{error:#}"))
}

impl Host for NativeHost {
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        read_trace(source, progress)
    }

    fn open_journal(&mut self, source: &str) -> Result<Vec<String>, HostError> {
        // The lock of the journal before must go first: it may be the same file.
        self.journal = None;
        let folder = self.journal_folder.as_ref().map_err(failed)?;
        let (journal, lines) = JournalFile::open(folder, source).map_err(|error| failed(&error))?;
        self.journal = Some(journal);
        Ok(lines)
    }

    fn append_journal(&mut self, line: &str) -> Result<(), HostError> {
        let Some(journal) = &mut self.journal else {
            return Err(HostError::Failed("no journal is open".to_owned()));
        };
        journal.append(line).map_err(|error| failed(&error))
    }

    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError> {
        std::fs::read(path)
            .map_err(|error| HostError::Failed(format!("cannot read {path}: {error}")))
    }

    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError> {
        replace_file(Path::new(path), content)
            .map_err(|error| HostError::Failed(format!("cannot write {path}: {error}")))
    }
}

/// Reads the trace that a person named.
pub(crate) fn read_trace(source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
    let read = || {
        let streams = find_streams(Path::new(source))?;
        callgrove_trace::read_trace(&streams, &ReadOptions::of_this_machine(), progress)
    };
    read().map_err(|error| match error {
        TraceError::Cancelled(_) => HostError::Cancelled,
        error => HostError::Failed(error.with_causes()),
    })
}

/// Whether a person named a forest file, packed or not, rather than a trace.
pub(crate) fn is_forest_file(source: &str) -> bool {
    let path = Path::new(source);
    let is_packed_forest = || {
        let unpacked = path.file_stem().map(Path::new);
        unpacked.is_some_and(|unpacked| has_extension(unpacked, "jsonl"))
    };
    has_extension(path, "jsonl") || has_extension(path, "gz") && is_packed_forest()
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

/// Reads the forest file that a person named; the answer names its roots.
pub(crate) fn read_forest_file(
    source: &str,
    progress: Progress<'_>,
) -> anyhow::Result<(Forest, String)> {
    if has_extension(Path::new(source), "gz") {
        bail!("{source} is packed; unpack it first: gunzip --keep {source}");
    }
    let read = || -> anyhow::Result<_> {
        let file = File::open(source)?;
        let num_bytes = file.metadata()?.len();
        Ok(read_forest(BufReader::new(file), num_bytes, progress)?)
    };
    read().with_context(|| format!("cannot use the forest file {source}"))
}

/// Replaces a file as a whole or not at all.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = std::fs::File::create(&part).and_then(|mut file| {
        std::io::Write::write_all(&mut file, content)?;
        file.sync_all()
    });
    written
        .and_then(|()| std::fs::rename(&part, path))
        .inspect_err(|_| {
            std::fs::remove_file(&part).ok();
        })
}
