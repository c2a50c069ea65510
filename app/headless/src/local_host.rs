//! The session's host on the desktop: files, traces, the journal.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use callgrove_formats::{GuardProgram, local_registry};
use callgrove_local::Threads;
use callgrove_model::{Progress, RunIdentity, TimeNs, Trace};
use callgrove_session::{Host, HostError, JournalWriter, OpenJournal, is_session_file};
use callgrove_source::SourceError;

use crate::files::{Readers, replace_file};
use crate::journal_file::JournalFile;

/// A host with the files of this machine. It reaches no running jobs.
pub struct LocalHost {
    journal_folder: anyhow::Result<PathBuf>,
    /// The program that reads damaged streams first.
    guard: Option<GuardProgram>,
    /// The last opened journal; its writer owns it.
    journal: Weak<Mutex<JournalFile>>,
    /// True if journals are read but not written.
    is_reading: bool,
}

/// A writer for sessions that change nothing.
struct NoWriter;

impl JournalWriter for NoWriter {
    fn append(&mut self, _: &str) -> Result<(), HostError> {
        Ok(())
    }
}

/// A writer of a journal that this host may open again meanwhile.
struct SharedJournal(Arc<Mutex<JournalFile>>);

impl LocalHost {
    /// A host with journals in `journal_folder`, if there is one. Streams are read by `guard` first.
    pub fn new(journal_folder: anyhow::Result<PathBuf>, guard: Option<GuardProgram>) -> Self {
        Self {
            journal_folder,
            guard,
            journal: Weak::new(),
            is_reading: false,
        }
    }

    /// Returns the host for a session that shows labels but gives none: it reads journals, also those that a window has open.
    #[must_use]
    pub fn reading(self) -> Self {
        Self {
            is_reading: true,
            ..self
        }
    }

    /// Checks that a trace or a saved session can be found at `source` and opened, without reading it as a whole.
    ///
    /// # Errors
    /// Nothing is there, or nothing that a format recognizes and can read.
    pub fn check_source(&mut self, source: &str) -> Result<(), SourceError> {
        if !is_session_file(self, source) {
            local_registry(self.guard.clone()).check(Path::new(source))?;
        }
        Ok(())
    }
}

impl JournalWriter for SharedJournal {
    fn append(&mut self, line: &str) -> Result<(), HostError> {
        let mut journal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        journal.append(line).map_err(|error| failed(&error))
    }
}

fn failed(error: &anyhow::Error) -> HostError {
    HostError::Failed(format!("{error:#}"))
}

impl Host for LocalHost {
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        let registry = local_registry(self.guard.clone());
        let loaded = registry.load(Path::new(source), &Threads::of_this_machine(), progress);
        loaded.map_err(|error| match error {
            SourceError::Cancelled(_) => HostError::Cancelled,
            error => HostError::Failed(error.with_causes()),
        })
    }

    fn file_start(&mut self, path: &str, limit: usize) -> Vec<u8> {
        let mut start = Vec::new();
        let file = std::fs::File::open(path)
            .ok()
            .filter(|_| Path::new(path).is_file());
        // A file that cannot be read is reported when it is read as a whole.
        let _ = file.map(|file| file.take(limit as u64).read_to_end(&mut start));
        start
    }

    fn open_journal(&mut self, source: &str, run: &RunIdentity) -> Result<OpenJournal, HostError> {
        let folder = self.journal_folder.as_ref().map_err(failed)?;
        let path = JournalFile::path(folder, source, run);
        if self.is_reading {
            return Ok(OpenJournal {
                lines: JournalFile::read(&path).map_err(|error| failed(&error))?,
                place: path.display().to_string(),
                writer: Box::new(NoWriter),
            });
        }
        let held = self.journal.upgrade().filter(|journal| {
            let journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
            journal.path_of() == path
        });
        let journal = if let Some(journal) = held {
            journal
        } else {
            let journal = JournalFile::open(&path).map_err(|error| failed(&error))?;
            Arc::new(Mutex::new(journal))
        };
        self.journal = Arc::downgrade(&journal);
        let lines = journal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .lines()
            .map_err(|error| failed(&error))?;
        Ok(OpenJournal {
            lines,
            place: path.display().to_string(),
            writer: Box::new(SharedJournal(journal)),
        })
    }

    fn now(&self) -> TimeNs {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let ns = since_epoch.map_or(0, |since| since.as_nanos());
        TimeNs(i64::try_from(ns).unwrap_or(i64::MAX))
    }

    fn user(&self) -> Option<String> {
        let name = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
        name("USER")
            .or_else(|| name("LOGNAME"))
            .or_else(|| name("USERNAME"))
    }

    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError> {
        std::fs::read(path)
            .map_err(|error| HostError::Failed(format!("cannot read {path}: {error}")))
    }

    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError> {
        replace_file(Path::new(path), content, Readers::User)
            .map_err(|error| HostError::Failed(format!("cannot write {path}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::{Label, TreeIdx};
    use callgrove_session::{Command, Engine, LearnSettings, SnapshotCell};

    use super::*;

    #[test]
    fn only_the_host_that_owns_a_journal_can_reopen_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut host = LocalHost::new(Ok(folder.path().to_owned()), None);
        let mut other = LocalHost::new(Ok(folder.path().to_owned()), None);
        let mut first = host.open_journal("run", &RunIdentity::default()).unwrap();
        first.writer.append("one").unwrap();
        let mut second = host.open_journal("run", &RunIdentity::default()).unwrap();
        assert_eq!(second.lines, ["one"]);
        drop(first);
        second.writer.append("two").unwrap();
        let refused = other
            .open_journal("run", &RunIdentity::default())
            .err()
            .map(|error| error.to_string());
        assert_eq!(
            refused.as_deref(),
            Some("another window has the same run open")
        );
        drop(second);
        assert_eq!(
            other
                .open_journal("run", &RunIdentity::default())
                .unwrap()
                .lines,
            ["one", "two"]
        );
    }

    const SMALL_TRACE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/data/lammps-4r-small-bp4"
    );

    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let target = to.join(path.file_name().unwrap());
            if path.is_dir() {
                copy(&path, &target);
            } else {
                std::fs::copy(&path, &target).unwrap();
            }
        }
    }

    /// Labels a tree of the trace at `source`, or none, and returns the number of labels afterwards.
    fn num_labels(journals: &Path, source: &Path, tree: Option<TreeIdx>) -> usize {
        let cell = SnapshotCell::default();
        let host = Box::new(LocalHost::new(Ok(journals.to_owned()), None));
        let settings = LearnSettings::with_seed(1);
        let mut engine = Engine::new(host, settings, cell.clone(), Arc::new(|| ()));
        engine.handle(Command::OpenTrace {
            source: source.to_string_lossy().into_owned(),
            function: Some("PairEAM::compute".to_owned()),
        });
        engine.handle(Command::SetAutoTrain(false));
        engine.handle(Command::SetLabel {
            trees: tree.into_iter().collect(),
            label: Some(Label::Normal),
        });
        assert!(
            cell.newest().analysis().is_some(),
            "{:?}",
            cell.newest().notices
        );
        cell.newest().edits.labels.len()
    }

    #[test]
    fn a_copied_trace_opens_with_its_labels() {
        let folder = tempfile::tempdir().unwrap();
        let [journals, first, second] =
            ["journals", "first", "second"].map(|it| folder.path().join(it));
        copy(Path::new(SMALL_TRACE), &first);
        assert_eq!(num_labels(&journals, &first, Some(TreeIdx(0))), 1);
        copy(&first, &second);
        assert_eq!(num_labels(&journals, &second, Some(TreeIdx(1))), 2);
        std::fs::remove_dir_all(&first).unwrap();
        assert_eq!(num_labels(&journals, &second, None), 2);
        assert_eq!(
            std::fs::read_dir(&journals).unwrap().count(),
            1,
            "one journal for both"
        );
    }

    #[test]
    fn a_forest_file_is_a_trace_of_trees() {
        let folder = tempfile::tempdir().unwrap();
        let forest = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../assets/lammps-4r-small/pair-eam-compute.jsonl"
        );
        let mut host = LocalHost::new(Ok(folder.path().to_owned()), None);
        let trace = host.load_trace(forest, Progress::none()).unwrap();
        assert!(trace.is_forest && !trace.names.is_empty());
        let cut = folder.path().join("cut.jsonl");
        std::fs::write(&cut, "{}").unwrap();
        let cut = cut.to_string_lossy();
        let refused = host.load_trace(&cut, Progress::none()).unwrap_err();
        assert!(refused.to_string().contains("forest file"), "{refused}");
    }

    #[test]
    fn a_version_1_journal_is_found_by_path_first_and_then_by_run() {
        let folder = tempfile::tempdir().unwrap();
        let [journals, first, second] =
            ["journals", "first", "second"].map(|it| folder.path().join(it));
        copy(Path::new(SMALL_TRACE), &first);
        let source = first.to_string_lossy();
        let path = JournalFile::path(&journals, &source, &RunIdentity::default());
        let mut old = JournalFile::open(&path).unwrap();
        for line in [
            r#"{"journal":{"version":1,"source":"first"}}"#,
            r#"{"root":"LAMMPS_NS::PairEAM::compute"}"#,
            r#"{"edit":{"auto_train":false}}"#,
            r#"{"edit":{"set_labels":[{"program":0,"rank":0,"index":0,"label":"abnormal"}]}}"#,
        ] {
            old.append(line).unwrap();
        }
        drop(old);
        assert_eq!(num_labels(&journals, &first, None), 1);
        copy(&first, &second);
        assert_eq!(num_labels(&journals, &second, None), 1);
        assert_eq!(
            std::fs::read_dir(&journals).unwrap().count(),
            1,
            "it is continued in its file"
        );
    }
}
