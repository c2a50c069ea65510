//! Reads an input to its end, as the program does.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::Arc;

use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_formats::page_registry;
use callgrove_gpu_sqlite::GpuSqliteFormat;
use callgrove_local::LocalFiles;
use callgrove_model::{Progress, Trace};
use callgrove_packed::{read_trace_file, write_trace_file};
use callgrove_source::{MemoryFiles, OneByOne, Registry};
use callgrove_tau::TauFormat;
use callgrove_xplane::XplaneFormat;
use tempfile::TempDir;

use crate::mutation::InputFiles;
use crate::seeds::AnyError;

/// Most calls of a trace that is written and read back.
const MAX_CALLS_WRITTEN: usize = 20_000;

/// A reader of a format.
pub(crate) enum MutantReader {
    /// From memory.
    Memory,
    /// From a folder, since a page does not read it.
    Folder(Registry, TempDir, InputFiles),
}

impl MutantReader {
    /// Returns the reader of a format. That of BP reads without ADIOS2 or not at all.
    pub(crate) fn new(format: &str) -> Result<Self, AnyError> {
        let registry = match format {
            "bp" => {
                let tau = TauFormat::new(LibraryOnDemand::new([]), None);
                Registry::new(Arc::new(LocalFiles), vec![Box::new(tau)])
            }
            "sqlite" => Registry::new(Arc::new(LocalFiles), vec![Box::new(GpuSqliteFormat)]),
            "xplane" => Registry::new(Arc::new(LocalFiles), vec![Box::new(XplaneFormat)]),
            _ => return Ok(Self::Memory),
        };
        Ok(Self::Folder(registry, tempfile::tempdir()?, Vec::new()))
    }

    /// Reads an input to its end, and returns a number that is equal for similar outcomes, and the outcome as text.
    pub(crate) fn read(&mut self, files: InputFiles) -> Result<(u64, String), AnyError> {
        let read = match self {
            Self::Memory => {
                let mut in_memory = MemoryFiles::default();
                for (name, bytes) in &files {
                    in_memory.put(&format!("run/{name}"), bytes);
                }
                let registry = page_registry(Arc::new(in_memory));
                registry.load(Path::new("run"), &OneByOne, Progress::none())
            }
            Self::Folder(registry, folder, written) => {
                write(folder.path(), written, &files)?;
                *written = files;
                registry.load(folder.path(), &OneByOne, Progress::none())
            }
        };
        let text = match read {
            Ok(trace) => {
                check(&trace)?;
                summary(&trace)
            }
            // Numbers of lines and bytes are many, and paths are random.
            Err(error) => format!("{error:?}").replace(|c: char| c.is_ascii_digit(), ""),
        };
        let text = match self {
            Self::Folder(_, folder, _) => {
                let path = folder.path().to_string_lossy().into_owned();
                text.replace(&path.replace(|c: char| c.is_ascii_digit(), ""), "")
            }
            Self::Memory => text,
        };
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Ok((hasher.finish(), text))
    }
}

/// Writes those files that differ from what is there.
fn write(folder: &Path, written: &InputFiles, files: &InputFiles) -> Result<(), AnyError> {
    for (name, _) in written {
        if files.iter().all(|file| file.0 != *name) {
            fs::remove_file(folder.join(name))?;
        }
    }
    for file in files {
        if !written.contains(file) {
            write_file(&folder.join(&file.0), &file.1)?;
        }
    }
    Ok(())
}

/// Writes a file, and makes its folder.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), AnyError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(fs::write(path, bytes)?)
}

/// Checks that the trace can be exported and read again, for which its parts must fit together.
fn check(trace: &Trace) -> Result<(), AnyError> {
    if trace.num_executions() > MAX_CALLS_WRITTEN {
        return Ok(());
    }
    let mut bytes = Vec::new();
    let written = write_trace_file(trace, &mut bytes, Progress::none());
    let num_bytes = u64::try_from(bytes.len())?;
    let read = written.and_then(|()| read_trace_file(&bytes[..], num_bytes, Progress::none()));
    match read {
        Ok(read) if read.num_executions() == trace.num_executions() => Ok(()),
        Ok(_) => Err("the trace, exported, is read with another number of calls".into()),
        Err(error) => Err(format!("the trace is inconsistent: exported, {error}").into()),
    }
}

/// Returns the sizes of a trace by their orders of magnitude, and the kinds of its warnings.
fn summary(trace: &Trace) -> String {
    let sizes = [
        trace.num_executions(),
        trace.lanes.len(),
        trace.messages.len(),
        trace.launches.len(),
        trace.collectives.len(),
        trace.metadata.len(),
    ];
    let sizes = sizes.map(|size| usize::BITS - size.leading_zeros());
    let mut kinds: Vec<_> = trace
        .warnings
        .iter()
        .map(|it| format!("{:?}", it.kind))
        .collect();
    kinds.sort();
    kinds.dedup();
    format!("{sizes:?} {kinds:?}")
}
