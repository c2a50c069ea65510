//! Helpers of this crate's tests: the stored traces, damaged copies of them, and ways to inspect a trace. All tests
//! need an ADIOS2 library.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![expect(dead_code, reason = "each test file uses a part")]

pub(crate) mod streams;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_local::{LocalFiles, Threads};
use callgrove_model::{Progress, Trace, WarningKind};
use callgrove_source::{Registry, SourceError};
use callgrove_tau::TauFormat;
use tempfile::TempDir;

/// A run of four ranks in BP5.
pub(crate) fn bp5_run() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../assets/lammps-4r-small")
}

/// A run of four ranks in BP4.
pub(crate) fn bp4_run() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/lammps-4r-small-bp4")
}

/// Rank 0 of a killed run in BP5.
pub(crate) fn killed_run() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/lammps-4r-killed")
}

/// Returns one rank's folder of a run.
pub(crate) fn stream(run: &Path, rank: u32) -> PathBuf {
    run.join(format!("bp/tau-metrics-lmp_tau-{rank}.bp"))
}

/// Returns the registry of TAU's format alone.
pub(crate) fn registry(adios2: LibraryOnDemand) -> Registry {
    let format = TauFormat::new(adios2, None);
    Registry::new(Arc::new(LocalFiles), vec![Box::new(format)])
}

/// Returns the streams of a run.
pub(crate) fn find_streams(input: &Path) -> Vec<PathBuf> {
    registry(LibraryOnDemand::new([])).find(input).unwrap()
}

pub(crate) fn read(input: &Path) -> Result<Trace, SourceError> {
    read_with(input, 2)
}

pub(crate) fn read_with(input: &Path, num_threads: usize) -> Result<Trace, SourceError> {
    let threads = Threads::new(NonZeroUsize::new(num_threads).unwrap());
    let registry = registry(LibraryOnDemand::of_this_machine());
    registry.load(input, &threads, Progress::none())
}

/// Reads a trace as on a machine without ADIOS2.
pub(crate) fn read_without_adios2(input: &Path) -> Result<Trace, SourceError> {
    let registry = registry(LibraryOnDemand::new([]));
    registry.load(input, &Threads::of_this_machine(), Progress::none())
}

/// Copies some ranks of a run, to be damaged.
pub(crate) fn copy(run: &Path, ranks: impl IntoIterator<Item = u32>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for rank in ranks {
        let copy = stream(folder.path(), rank);
        fs::create_dir_all(&copy).unwrap();
        for entry in fs::read_dir(stream(run, rank)).unwrap() {
            let file = entry.unwrap().path();
            // Written, not copied, so that a read-only checkout does not make the copy read-only.
            fs::write(
                copy.join(file.file_name().unwrap()),
                fs::read(&file).unwrap(),
            )
            .unwrap();
        }
    }
    folder
}

/// Cuts a file to a length.
pub(crate) fn cut(file: &Path, length: usize) {
    let bytes = fs::read(file).unwrap();
    fs::write(file, &bytes[..length]).unwrap();
}

/// Returns the warnings as `kind rank count`, one a line.
pub(crate) fn warnings(trace: &Trace) -> Vec<String> {
    let rank = |rank: Option<_>| {
        rank.map_or("-".to_owned(), |rank: callgrove_model::RankId| {
            rank.to_string()
        })
    };
    trace
        .warnings
        .iter()
        .map(|w| format!("{:?} {} x{}", w.kind, rank(w.rank), w.count))
        .collect()
}

/// Returns the place of the first warning of a kind.
pub(crate) fn first_place(trace: &Trace, kind: WarningKind) -> String {
    trace
        .warnings
        .iter()
        .find(|warning| warning.kind == kind)
        .unwrap()
        .first
        .since(None)
}
