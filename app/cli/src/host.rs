//! The session's host on the desktop: files, traces and journals of this machine, and running jobs.

use std::path::{Path, PathBuf};

use callgrove_headless::LocalHost;
use callgrove_local::Threads;
use callgrove_model::{Progress, RunIdentity, TimeNs, Trace};
use callgrove_pipeline::{JobClient, ServerAccess, recorded_trace};
use callgrove_session::{Host, HostError, OpenJournal, RunningJob};
use callgrove_source::SourceError;
use callgrove_watch::RECORDED_TREES;

use crate::connect::credential;
use crate::guard::{guard, registry};
use crate::output::warn;
use callgrove_args::ConnectArgs;

/// A host with the files of this machine, and with running jobs.
pub(crate) struct NativeHost {
    local: LocalHost,
    /// The access to servers of running jobs.
    access: ServerAccess,
}

impl NativeHost {
    /// A host with journals in `journal_folder`, if there is one.
    pub(crate) fn new(journal_folder: anyhow::Result<PathBuf>) -> Self {
        Self {
            local: LocalHost::new(journal_folder, guard()),
            access: ServerAccess::default(),
        }
    }

    /// Returns the host for a session that shows labels but gives none: it reads journals, also those that a window has open.
    pub(crate) fn reading(self) -> Self {
        Self {
            local: self.local.reading(),
            ..self
        }
    }

    /// Returns the host with this access to servers of running jobs.
    pub(crate) fn with_access(self, access: ServerAccess) -> Self {
        Self { access, ..self }
    }
}

fn failed(error: &anyhow::Error) -> HostError {
    HostError::Failed(format!("{error:#}"))
}

impl Host for NativeHost {
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        read_source(source, &self.access, progress)
    }

    fn file_start(&mut self, path: &str, limit: usize) -> Vec<u8> {
        self.local.file_start(path, limit)
    }

    fn open_journal(&mut self, source: &str, run: &RunIdentity) -> Result<OpenJournal, HostError> {
        self.local.open_journal(source, run)
    }

    fn now(&self) -> TimeNs {
        self.local.now()
    }

    fn user(&self) -> Option<String> {
        self.local.user()
    }

    fn running_job(&mut self, server: &str) -> Result<Box<dyn RunningJob>, HostError> {
        let client = self.access.client(server, None);
        Ok(Box::new(JobClient(
            client.map_err(|error| failed(&error.into()))?,
        )))
    }

    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError> {
        self.local.read_file(path)
    }

    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError> {
        self.local.write_file(path, content)
    }
}

/// Reads the trace that a user named.
pub(crate) fn read_trace(source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
    let credential = credential(&ConnectArgs::default());
    let access = ServerAccess {
        credential: credential.map_err(|error| failed(&error))?,
        ..ServerAccess::default()
    };
    read_source(source, &access, progress)
}

fn read_source(
    source: &str,
    access: &ServerAccess,
    progress: Progress<'_>,
) -> Result<Trace, HostError> {
    if let Some(job) = source.strip_prefix(RECORDED_TREES) {
        let recorded = recorded_trace(access, job).map_err(|error| failed(&error.into()));
        let (trace, num_left_out) = recorded?;
        if num_left_out > 0 {
            warn(&format!(
                "{num_left_out} recorded trees are left out: too large to be stored, or damaged"
            ));
        }
        return Ok(trace);
    }
    let loaded = registry().load(Path::new(source), &Threads::of_this_machine(), progress);
    loaded.map_err(|error| match error {
        SourceError::Cancelled(_) => HostError::Cancelled,
        error => HostError::Failed(error.with_causes()),
    })
}

/// Checks that a trace or a saved session can be found at `source` and opened, without reading it as a whole.
pub(crate) fn check_source(source: &str) -> anyhow::Result<()> {
    if !source.starts_with(RECORDED_TREES) {
        LocalHost::new(Ok(PathBuf::new()), guard()).check_source(source)?;
    }
    Ok(())
}
