//! The formats that this machine reads, including those that need a library or a separate process.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_gpu_sqlite::GpuSqliteFormat;
use callgrove_local::{LocalFiles, Threads};
use callgrove_model::{Progress, Trace};
use callgrove_source::{Format, Registry, SourceError};
use callgrove_tau::{StreamGuard, TauFormat};
use callgrove_xplane::XplaneFormat;

/// The program that first reads an input in a separate process, if damage in the input could end the process.
#[derive(Clone, Debug)]
pub struct GuardProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, before the path of the input. With them it must call [`read_through`].
    pub arguments: Vec<OsString>,
}

/// Returns the registry of all formats, with the files of this machine. Without a guard, damage can end this process.
pub fn local_registry(guard: Option<GuardProgram>) -> Registry {
    let guard = guard.map(|it| StreamGuard::new(it.program, it.arguments));
    let tau = TauFormat::new(LibraryOnDemand::of_this_machine(), guard);
    let mut formats = crate::formats();
    // Before Perfetto, whose packets resemble planes. Not in the page, whose size is limited.
    formats.splice(
        0..0,
        [Box::new(tau) as Box<dyn Format>, Box::new(XplaneFormat)],
    );
    formats.push(Box::new(GpuSqliteFormat));
    Registry::new(Arc::new(LocalFiles), formats)
}

/// Reads the run that a path or pattern names, with all cores and without a guard.
///
/// # Errors
/// Those of [`Registry::load`].
pub fn load(source: &Path, progress: Progress<'_>) -> Result<Trace, SourceError> {
    local_registry(None).load(source, &Threads::of_this_machine(), progress)
}

/// Reads an input in a process that serves only this purpose, as [`GuardProgram`] says.
///
/// # Errors
/// A library is missing.
pub fn read_through(input: &Path) -> Result<(), SourceError> {
    let adios2 = LibraryOnDemand::of_this_machine();
    callgrove_tau::read_through(input, &adios2).map_err(|error| SourceError::Format(error.into()))
}
