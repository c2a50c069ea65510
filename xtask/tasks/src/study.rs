//! The study behind the detector's defaults, on packed traces and forest files with known truth.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;
use crate::{adios2, shell};

/// Suffix of packed traces.
const PACKED: &str = ".tar.zst";
/// Suffixes of forest files, plain and packed.
const FORESTS: [&str; 2] = [".jsonl", ".jsonl.gz"];
/// Name of the file in a trace's folder that names the root function.
const ROOT_FILE: &str = "root_function.txt";
/// Prefixes of folder names, and the root functions of their programs.
const ROOTS: [(&str, &str); 2] = [
    ("lammps", "PairEAM::compute"),
    ("lulesh", "LagrangeLeapFrog"),
];

/// A packed trace with its truth.
#[derive(Debug, PartialEq, Eq)]
struct Packed {
    archive: PathBuf,
    truth: PathBuf,
    root: String,
}

/// Unpacks the traces and forests in the folders `data` into the target folder, and runs the study on them. Returns the
/// file with its tables.
///
/// # Errors
/// There is nothing to study, or the set-up, the build or the study fails.
pub(crate) fn run(workspace: &Workspace, data: &[PathBuf]) -> Result<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in data {
        let mut entries: Vec<PathBuf> = fs::read_dir(folder)
            .and_then(Iterator::collect)
            .map(|entries: Vec<fs::DirEntry>| entries.iter().map(fs::DirEntry::path).collect())
            .with_context(|| format!("cannot read {}", folder.display()))?;
        entries.sort();
        paths.extend(entries);
    }
    let adios2 = adios2::ensure(workspace)?;
    let target = workspace.target_dir().join("study");
    let mut cases: Vec<OsString> = Vec::new();
    for path in &paths {
        if is_forest(path) {
            cases.push(unpack_forest(path, &target)?);
        } else if path.is_dir() {
            match packed(path)? {
                Ok(packed) => cases.push(unpack(&packed, path, &target)?),
                Err(reason) => eprintln!("skipped: {}: {reason}", path.display()),
            }
        }
    }
    if cases.is_empty() {
        let folders: Vec<_> = data
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        bail!(
            "no trace with a truth and no forest in {}",
            folders.join(", ")
        );
    }
    shell::heading("the study (some minutes)");
    let mut study = workspace.cargo(["run", "--release", "--package", "callgrove-benches"]);
    study.args(["--example", "study", "--"]).args(cases);
    study.envs(adios2.map(|path| (adios2::VARIABLE, path)));
    let tables = shell::output(&mut study)?;
    let path = target.join("study.md");
    fs::write(&path, tables).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn is_forest(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.is_file() && FORESTS.iter().any(|end| name.ends_with(end))
}

/// Unpacks a forest into `target` if it is packed; returns its argument for the study.
fn unpack_forest(path: &Path, target: &Path) -> Result<OsString> {
    let path = fs::canonicalize(path)?;
    if path.extension() != Some("gz".as_ref()) {
        return Ok(path.into_os_string());
    }
    fs::create_dir_all(target).with_context(|| format!("cannot make {}", target.display()))?;
    let unpacked = target.join(path.file_stem().unwrap_or_default());
    let file = File::create(&unpacked);
    let file = file.with_context(|| format!("cannot write {}", unpacked.display()))?;
    shell::run(Command::new("gzip").arg("-dc").arg(&path).stdout(file))?;
    Ok(unpacked.into_os_string())
}

/// Returns the trace of a folder, the last by name if several have a truth; or the reason why it has no trace.
fn packed(folder: &Path) -> Result<Result<Packed, &'static str>> {
    let mut files: Vec<String> = fs::read_dir(folder)
        .and_then(Iterator::collect)
        .map(|entries: Vec<fs::DirEntry>| entries.iter().map(fs::DirEntry::file_name).collect())
        .map(|names: Vec<OsString>| names.into_iter().flat_map(OsString::into_string).collect())
        .with_context(|| format!("cannot read {}", folder.display()))?;
    files.sort();
    let names: Vec<&str> = files
        .iter()
        .filter_map(|file| file.strip_suffix(PACKED))
        .collect();
    if names.is_empty() {
        return Ok(Err("no packed trace"));
    }
    let found = names.iter().rev().find_map(|name| {
        let truths = [
            format!("{name}.ground_truth.csv"),
            "ground_truth.csv".to_owned(),
        ];
        let truth = truths.into_iter().find(|truth| files.contains(truth))?;
        Some((format!("{name}{PACKED}"), truth))
    });
    let Some((archive, truth)) = found else {
        return Ok(Err("no truth"));
    };
    let Some(root) = root_function(folder)? else {
        return Ok(Err("no root function"));
    };
    Ok(Ok(Packed {
        archive: folder.join(archive),
        truth: folder.join(truth),
        root,
    }))
}

fn root_function(folder: &Path) -> Result<Option<String>> {
    let file = folder.join(ROOT_FILE);
    if file.is_file() {
        let text = fs::read_to_string(&file);
        let text = text.with_context(|| format!("cannot read {}", file.display()))?;
        return Ok(Some(text.trim().to_owned()));
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let known = ROOTS.iter().find(|(start, _)| name.starts_with(start));
    Ok(known.map(|(_, root)| (*root).to_owned()))
}

/// Unpacks a trace into a folder of the same name in `target`; returns its argument for the study.
fn unpack(packed: &Packed, folder: &Path, target: &Path) -> Result<OsString> {
    let trace = target.join(folder.file_name().unwrap_or_default());
    if trace.exists() {
        fs::remove_dir_all(&trace).with_context(|| format!("cannot empty {}", trace.display()))?;
    }
    fs::create_dir_all(&trace).with_context(|| format!("cannot make {}", trace.display()))?;
    let mut tar = Command::new("tar");
    tar.args(["--zstd", "-xf"]).arg(&packed.archive);
    shell::run(tar.arg("-C").arg(&trace))?;
    let truth = fs::canonicalize(&packed.truth)?;
    let mut case = trace.into_os_string();
    case.push(format!(":{}:", packed.root));
    case.push(truth);
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, files: &[&str]) -> Result<(String, String, String), &'static str> {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join(name);
        fs::create_dir(&folder).unwrap();
        for file in files {
            fs::write(folder.join(file), "Solver::step\n").unwrap();
        }
        packed(&folder).unwrap().map(|packed| {
            let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
            (name(&packed.archive), name(&packed.truth), packed.root)
        })
    }

    fn parts(archive: &str, truth: &str, root: &str) -> (String, String, String) {
        (archive.to_owned(), truth.to_owned(), root.to_owned())
    }

    #[test]
    fn a_trace_goes_with_its_own_truth_or_that_of_the_folder() {
        let own = ["bp4.tar.zst", "bp5.tar.zst", "bp4.ground_truth.csv"];
        assert_eq!(
            found("lammps-a", &own),
            Ok(parts(
                "bp4.tar.zst",
                "bp4.ground_truth.csv",
                "PairEAM::compute"
            ))
        );
        let shared = ["bp5.tar.zst", "ground_truth.csv", ROOT_FILE];
        assert_eq!(
            found("lammps-b", &shared),
            Ok(parts("bp5.tar.zst", "ground_truth.csv", "Solver::step"))
        );
    }

    #[test]
    fn packed_forests_are_unpacked() {
        let data = tempfile::tempdir().unwrap();
        let (plain, other) = (data.path().join("a.jsonl"), data.path().join("a.json"));
        fs::write(&plain, "{}\n").unwrap();
        fs::write(&other, "{}\n").unwrap();
        assert!(is_forest(&plain) && !is_forest(&other) && !is_forest(data.path()));
        let target = data.path().join("target");
        let expected = fs::canonicalize(&plain).unwrap().into_os_string();
        assert_eq!(unpack_forest(&plain, &target).unwrap(), expected);
        let packed = data.path().join("a.jsonl.gz");
        shell::run(Command::new("gzip").arg(&plain)).unwrap();
        assert!(is_forest(&packed));
        let unpacked = unpack_forest(&packed, &target).unwrap();
        assert_eq!(fs::read_to_string(unpacked).unwrap(), "{}\n");
    }

    #[test]
    fn missing_files_are_named() {
        assert_eq!(
            found("lulesh-a", &["ground_truth.csv"]),
            Err("no packed trace")
        );
        assert_eq!(found("lulesh-b", &["bp5.tar.zst"]), Err("no truth"));
        let unknown = ["bp5.tar.zst", "ground_truth.csv"];
        assert_eq!(found("other", &unknown), Err("no root function"));
    }
}
