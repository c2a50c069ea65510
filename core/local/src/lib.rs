//! This machine: its name, its files and threads, for reading runs ([`FileSystem`], [`Workers`]), folders for one user,
//! processes in the background, and the memory of this process.

mod background_process;
mod host_name;
#[cfg(unix)]
mod private_folder;
#[cfg(not(unix))]
#[path = "private_folder_unsupported.rs"]
mod private_folder;
#[cfg(unix)]
mod process_group;
#[cfg(not(unix))]
#[path = "process_group_unsupported.rs"]
mod process_group;
mod resident_memory;

use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use callgrove_source::{FileReader, FileSystem, OneByOne, SourceError, Workers};

pub use background_process::{BackgroundProcess, ProcessEnd};
pub use host_name::host_name;
pub use private_folder::create_private_folder;
pub use process_group::replace_process;
pub use resident_memory::resident_bytes;

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalFiles;

/// Threads of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Threads(NonZeroUsize);

impl FileSystem for LocalFiles {
    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
        let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        Ok(entries)
    }

    fn matching(&self, pattern: &Path) -> Result<Vec<PathBuf>, SourceError> {
        let pattern = pattern.to_string_lossy().into_owned();
        if !pattern.contains(['*', '?', '[']) {
            return Err(SourceError::NotFound {
                path: pattern.into(),
            });
        }
        let paths = match glob::glob(&pattern) {
            Ok(paths) => paths,
            Err(error) => {
                return Err(SourceError::BadPattern {
                    reason: error.msg,
                    pattern,
                });
            }
        };
        let paths = paths.collect::<Result<Vec<_>, _>>().map_err(|error| {
            let path = error.path().to_owned();
            SourceError::Io {
                source: error.into(),
                path,
            }
        })?;
        if paths.is_empty() {
            return Err(SourceError::NoMatch { pattern });
        }
        Ok(paths)
    }

    fn num_bytes(&self, file: &Path) -> io::Result<u64> {
        Ok(fs::metadata(file)?.len())
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn FileReader>> {
        Ok(Box::new(File::open(file)?))
    }
}

impl Threads {
    /// Returns this number of threads.
    pub fn new(num_threads: NonZeroUsize) -> Self {
        Self(num_threads)
    }

    /// Returns a thread for each core.
    pub fn of_this_machine() -> Self {
        Self(thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }
}

impl Workers for Threads {
    fn run(&self, num_jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let worker = || {
            let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
            numbers
                .take_while(|number| *number < num_jobs)
                .for_each(job);
        };
        let num_helpers = self.0.get().min(num_jobs).saturating_sub(1);
        if num_helpers == 0 {
            return OneByOne.run(num_jobs, job);
        }
        thread::scope(|scope| {
            for number in 1..=num_helpers {
                let named = thread::Builder::new().name(format!("reader-{number}"));
                // With fewer threads the result is the same, only later. The scope passes a panic on.
                drop(named.spawn_scoped(scope, worker));
            }
            worker();
        });
    }
}
