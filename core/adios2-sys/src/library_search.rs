//! Search for ADIOS2's C library: the search order, and the file names in a folder.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Oldest and newest minor release of ADIOS2 2.x that is requested from the linker by name.
const MINOR_RELEASES: std::ops::RangeInclusive<u32> = 8..=12;

/// A location in which the library may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LibraryLocation {
    /// A library file, or a folder that holds one or holds a folder that holds one.
    Path(PathBuf),
    /// A name that the system's linker resolves.
    LinkerName(String),
}

/// A location, and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The origin of the location, such as `CALLGROVE_ADIOS2`.
    pub origin: String,
    /// The location.
    pub location: LibraryLocation,
}

impl Candidate {
    /// Returns a file or folder.
    pub fn path(origin: &str, path: impl Into<PathBuf>) -> Self {
        Self {
            origin: origin.to_owned(),
            location: LibraryLocation::Path(path.into()),
        }
    }

    fn linker_name(name: String) -> Self {
        Self {
            origin: "system linker".to_owned(),
            location: LibraryLocation::LinkerName(name),
        }
    }
}

/// Returns the locations in which this machine may have ADIOS2, best first: `CALLGROVE_ADIOS2` (file or folder),
/// `ADIOS2_DIR` (an installation), the Python package `adios2` (active environments, `PYTHONPATH`, the user's and the
/// system's site packages), the system's linker.
///
/// Reads the environment and lists folders; runs no other program.
pub fn default_candidates() -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for variable in ["CALLGROVE_ADIOS2", "ADIOS2_DIR"] {
        if let Some(path) = path_of(variable) {
            candidates.push(Candidate::path(variable, path));
        }
    }
    candidates.extend(
        python_folders()
            .into_iter()
            .map(|folder| Candidate::path("Python package adios2", folder)),
    );
    for prefix in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(path) = path_of(prefix) {
            candidates.push(Candidate::path(prefix, path.join("lib")));
        }
    }
    candidates.push(Candidate::linker_name(versioned_name("")));
    candidates.extend(
        MINOR_RELEASES
            .rev()
            .map(|minor| Candidate::linker_name(versioned_name(&format!("2.{minor}")))),
    );
    candidates
}

/// Returns the library files at a path, best first: the path itself if it is a file, else the files in the folder and
/// in the folders below it that installations use.
pub(crate) fn library_files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let mut folders = vec![path.to_owned(), path.join("adios2")];
    for lib in ["lib", "lib64"] {
        folders.push(path.join(lib));
        // Debian's platform folders, such as `lib/x86_64-linux-gnu`.
        folders.push(
            path.join(lib)
                .join(format!("{}-linux-gnu", env::consts::ARCH)),
        );
    }
    folders
        .iter()
        .flat_map(|folder| library_files_in(folder))
        .collect()
}

/// Returns `2.12.1` for `libadios2_c.so.2.12.1` or `libadios2_c.2.12.1.dylib`.
pub(crate) fn version_in_name(file_name: &str) -> Option<&str> {
    let rest = file_name.strip_prefix("libadios2_c")?;
    let version = match rest.strip_prefix(".so") {
        Some(version) => version,
        None => rest.strip_suffix(".dylib")?,
    };
    version
        .strip_prefix('.')
        .filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the library files of one folder; the name with the most complete version comes first, because the C API
/// has no call for the version.
fn library_files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name == &versioned_name("") || version_in_name(name).is_some())
        .collect();
    names.sort_by_key(|name| std::cmp::Reverse(numbers(name)));
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Returns the numbers in a file name, so that 2.12 counts as newer than 2.9.
fn numbers(name: &str) -> Vec<u32> {
    let version = version_in_name(name).unwrap_or_default();
    version
        .split('.')
        .map(|part| part.parse().unwrap_or(0))
        .collect()
}

fn versioned_name(version: &str) -> String {
    match (cfg!(target_os = "macos"), version) {
        (true, "") => "libadios2_c.dylib".to_owned(),
        (true, _) => format!("libadios2_c.{version}.dylib"),
        (false, "") => "libadios2_c.so".to_owned(),
        (false, _) => format!("libadios2_c.so.{version}"),
    }
}

fn path_of(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Returns the existing folders of the Python package, in Python's search order.
fn python_folders() -> Vec<PathBuf> {
    let paths = |variable: &str| env::var_os(variable).unwrap_or_default();
    let mut site_packages: Vec<PathBuf> = env::split_paths(&paths("PYTHONPATH")).collect();
    let mut prefixes: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .filter_map(path_of)
        .collect();
    prefixes.extend(python_prefixes(&paths("PATH")));
    prefixes.extend(path_of("HOME").map(|home| home.join(".local")));
    prefixes.extend(["/usr/local", "/usr"].map(PathBuf::from));
    site_packages.extend(
        prefixes
            .iter()
            .flat_map(|prefix| site_packages_below(prefix)),
    );

    let mut seen = BTreeSet::new();
    site_packages.retain(|folder| seen.insert(folder.clone()));
    site_packages
        .into_iter()
        .map(|folder| folder.join("adios2"))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// Returns the installations whose `python3` is on the path.
fn python_prefixes(path: &OsString) -> Vec<PathBuf> {
    env::split_paths(path)
        .filter_map(|folder| {
            let program = fs::canonicalize(folder.join("python3")).ok()?;
            Some(program.parent()?.parent()?.to_owned())
        })
        .collect()
}

/// Returns `lib/python3.X/site-packages` (and Debian's `dist-packages`) of an installation, newest Python first.
fn site_packages_below(prefix: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for lib in ["lib", "lib64"] {
        let Ok(entries) = fs::read_dir(prefix.join(lib)) else {
            continue;
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if let Some(minor) = name.strip_prefix("python3") {
                found.push((minor.trim_start_matches('.').parse().unwrap_or(0_u32), path));
            }
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    found
        .iter()
        .flat_map(|(_, path)| ["site-packages", "dist-packages"].map(|kind| path.join(kind)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_file_names() {
        assert_eq!(version_in_name("libadios2_c.so.2.12.1"), Some("2.12.1"));
        assert_eq!(version_in_name("libadios2_c.2.10.dylib"), Some("2.10"));
        assert_eq!(version_in_name("libadios2_c.so"), None);
        assert_eq!(version_in_name("libadios2_c_mpi.so.2.12.1"), None);
        assert_eq!(version_in_name("libadios2_core.so.2.12.1"), None);
    }

    #[test]
    fn the_newest_library_with_the_most_complete_name_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let lib = folder.path().join("lib64");
        fs::create_dir(&lib).unwrap();
        for name in [
            "libadios2_c.so",
            "libadios2_c.so.2.9",
            "libadios2_c.so.2.12",
            "libadios2_c.so.2.12.1",
            "other.so",
        ] {
            fs::write(lib.join(name), "").unwrap();
        }
        let names: Vec<_> = library_files(folder.path())
            .iter()
            .map(|path| path.file_name().unwrap().to_owned())
            .collect();
        assert_eq!(
            names,
            [
                "libadios2_c.so.2.12.1",
                "libadios2_c.so.2.12",
                "libadios2_c.so.2.9",
                "libadios2_c.so"
            ]
        );
    }

    #[test]
    fn the_newest_python_of_an_installation_comes_first() {
        let prefix = tempfile::tempdir().unwrap();
        for name in ["python3.9", "python3.11", "python3"] {
            fs::create_dir_all(prefix.path().join("lib").join(name)).unwrap();
        }
        let found = site_packages_below(prefix.path());
        assert!(
            found[0].ends_with("lib/python3.11/site-packages"),
            "{found:?}"
        );
        assert!(
            found[2].ends_with("lib/python3.9/site-packages"),
            "{found:?}"
        );
        assert!(found[5].ends_with("lib/python3/dist-packages"), "{found:?}");
    }
}
