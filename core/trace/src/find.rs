//! Finds the streams of one run, in order of rank, by the path or pattern that a person gave.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::TraceError;
use crate::adios2::bp3_error;
use crate::rank_in_name::{rank_in_name, with_rank_in_name};
use crate::registry::sniff;

/// Returns the streams of one run, in the order of the ranks that their names state: those in the folder `input` or one
/// level below, `input` itself if it is one rank's stream, or all that the pattern `input` matches.
///
/// # Errors
/// [`TraceError::NotFound`], [`TraceError::BadPattern`], [`TraceError::NoMatch`],
/// [`TraceError::NoStreams`], [`TraceError::SeveralRuns`], [`TraceError::UnknownFormat`],
/// [`TraceError::Io`].
pub fn find_streams(input: &Path) -> Result<Vec<PathBuf>, TraceError> {
    // A path that exists is literal, even if it contains pattern characters.
    let paths = if input.exists() {
        vec![input.to_owned()]
    } else {
        matching(input)?
    };
    let mut streams = BTreeSet::new();
    for path in paths {
        for stream in streams_at(&path)? {
            streams.insert((rank_in_name(&stream), stream));
        }
    }
    Ok(streams.into_iter().map(|(_, stream)| stream).collect())
}

/// Returns the streams of `num_ranks` ranks that `input` names, whether they exist yet or not: all of a folder, or
/// those that match a pattern. Their names follow from those in `found`. Returns `found` if it is empty or `input` is
/// one stream.
pub fn expected_streams(input: &Path, found: &[PathBuf], num_ranks: u32) -> Vec<PathBuf> {
    let is_one = found.iter().any(|stream| stream == input);
    let Some(example) = found.first().filter(|_| !is_one) else {
        return found.to_vec();
    };
    let pattern = glob::Pattern::new(&input.to_string_lossy()).ok();
    let pattern = pattern.filter(|_| !input.exists());
    let is_named = |stream: &PathBuf| {
        let mut folders = stream.ancestors();
        pattern
            .as_ref()
            .is_none_or(|pattern| folders.any(|it| pattern.matches_path(it)))
    };
    let all = (0..num_ranks).filter_map(|rank| with_rank_in_name(example, rank));
    all.filter(is_named).collect()
}

fn matching(input: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let pattern = input.to_string_lossy().into_owned();
    if !pattern.contains(['*', '?', '[']) {
        return Err(TraceError::NotFound {
            path: input.to_owned(),
        });
    }
    let paths = match glob::glob(&pattern) {
        Ok(paths) => paths,
        Err(error) => {
            return Err(TraceError::BadPattern {
                reason: error.msg,
                pattern,
            });
        }
    };
    let paths = paths.collect::<Result<Vec<_>, _>>().map_err(|error| {
        let path = error.path().to_owned();
        TraceError::Io {
            source: error.into(),
            path,
        }
    })?;
    if paths.is_empty() {
        return Err(TraceError::NoMatch { pattern });
    }
    Ok(paths)
}

fn streams_at(path: &Path) -> Result<Vec<PathBuf>, TraceError> {
    if is_stream(path) {
        return Ok(vec![path.to_owned()]);
    }
    if !path.is_dir() {
        return Err(bp3_error(path).unwrap_or(TraceError::UnknownFormat {
            reason: "a file, not a folder",
            path: path.to_owned(),
        }));
    }
    let entries = entries(path)?;
    let here: Vec<_> = entries
        .iter()
        .filter(|entry| is_stream(entry))
        .cloned()
        .collect();
    if !here.is_empty() {
        return Ok(here);
    }
    let mut below = Vec::new();
    for folder in entries.into_iter().filter(|entry| entry.is_dir()) {
        // A folder that cannot be listed does not hold the trace.
        let mut streams = self::entries(&folder).unwrap_or_default();
        streams.retain(|entry| is_stream(entry));
        if !streams.is_empty() {
            below.push((folder, streams));
        }
    }
    match below.pop() {
        None => Err(TraceError::NoStreams {
            path: path.to_owned(),
        }),
        Some((_, streams)) if below.is_empty() => Ok(streams),
        Some((last, _)) => {
            let folders = below
                .into_iter()
                .map(|(folder, _)| folder)
                .chain([last])
                .map(|folder| name(&folder));
            Err(TraceError::SeveralRuns {
                folders: folders.collect(),
                path: path.to_owned(),
            })
        }
    }
}

/// Returns whether a path is one rank's stream, not the folder of a run with a name like a stream's.
fn is_stream(path: &Path) -> bool {
    let holds_streams = || {
        let within = entries(path).unwrap_or_default();
        let folders = within.iter().filter_map(|entry| entries(entry).ok());
        let below: Vec<PathBuf> = folders.flatten().collect();
        within
            .iter()
            .chain(&below)
            .any(|entry| sniff(entry).is_some())
    };
    sniff(path).is_some() && (path.join("md.idx").is_file() || !holds_streams())
}

/// Returns the entries of a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let io_error = |source| TraceError::Io {
        source,
        path: folder.to_owned(),
    };
    let mut entries = fs::read_dir(folder)
        .map_err(io_error)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(io_error)?;
    entries.sort();
    Ok(entries)
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run with ranks 0, 2 and 10 in `bp/`, as TAU writes it, next to other files.
    fn run() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("results")).unwrap();
        fs::write(folder.path().join("log.lammps"), "").unwrap();
        for rank in [10, 0, 2] {
            let stream = folder
                .path()
                .join(format!("bp/tau-metrics-lmp_tau-{rank}.bp"));
            fs::create_dir_all(&stream).unwrap();
            fs::write(stream.join("md.idx"), "").unwrap();
        }
        folder
    }

    fn ranks(input: &Path) -> Vec<u32> {
        find_streams(input)
            .unwrap()
            .iter()
            .map(|stream| rank_in_name(stream).unwrap())
            .collect()
    }

    #[test]
    fn a_run_a_folder_of_streams_a_pattern_and_one_stream_are_found() {
        let run = run();
        let bp = run.path().join("bp");
        assert_eq!(ranks(run.path()), [0, 2, 10]);
        assert_eq!(ranks(&bp), [0, 2, 10]);
        assert_eq!(ranks(&bp.join("*.bp")), [0, 2, 10]);
        assert_eq!(ranks(&bp.join("*-[12]*.bp")), [2, 10]);
        assert_eq!(ranks(&bp.join("tau-metrics-lmp_tau-2.bp")), [2]);
    }

    #[test]
    fn expected_streams_match_the_input() {
        let run = run();
        let bp = run.path().join("bp");
        let to_come = |input: &Path| {
            let found = find_streams(input).unwrap();
            let streams = expected_streams(input, &found, 4);
            streams
                .iter()
                .map(|stream| rank_in_name(stream).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(to_come(run.path()), [0, 1, 2, 3]);
        assert_eq!(to_come(&bp.join("*.bp")), [0, 1, 2, 3]);
        assert_eq!(to_come(&bp.join("*-[23].bp")), [2, 3]);
        assert_eq!(to_come(&run.path().join("b?")), [0, 1, 2, 3]);
        assert_eq!(to_come(&bp.join("tau-metrics-lmp_tau-2.bp")), [2]);
    }

    #[test]
    fn a_run_with_the_name_of_a_stream_is_a_run() {
        let run = run();
        for name in ["2026-11-21.bp", "bp/again-7.bp"] {
            let folder = run.path().join(name);
            fs::create_dir_all(folder.join("bp/tau-metrics-lmp_tau-4.bp")).unwrap();
            fs::write(folder.join("bp/tau-metrics-lmp_tau-4.bp/md.idx"), "").unwrap();
            assert_eq!(ranks(&folder), [4]);
        }
        assert_eq!(ranks(&run.path().join("bp")), [0, 2, 10]);
        fs::create_dir(run.path().join("tau-3.bp")).unwrap();
        assert_eq!(
            ranks(&run.path().join("tau-3.bp")),
            [3],
            "nothing is written yet"
        );
    }

    #[test]
    fn paths_without_a_run_are_refused_by_name() {
        let run = run();
        let check = |input: PathBuf, expected: &str| {
            let error = find_streams(&input).unwrap_err().to_string();
            assert!(
                error.contains(expected) && error.contains(input.to_str().unwrap()),
                "{error}"
            );
        };
        check(run.path().join("missing"), "no such file or folder");
        check(run.path().join("bp/*.otf2"), "nothing matches");
        check(run.path().join("bp/[*.bp"), "not a valid pattern");
        check(run.path().join("results"), "no .bp folder is here");
        check(run.path().join("log.lammps"), "not a trace");
        fs::create_dir_all(run.path().join("old/x-0.bp")).unwrap();
        check(
            run.path().to_owned(),
            "several folders here hold traces (bp, old)",
        );
    }
}
