//! The folders of one run: those of its ranks, and the newest of several profiles.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::member::Member;
use crate::rank_in_name::process_in_folder;
use crate::run_search::PartFolder;

/// Names of the folders above those of the profiles of JAX and TensorFlow, which are named by their time.
const PROFILES: [&str; 2] = ["plugins", "profile"];
/// Maximum time in seconds between the names of two folders of one profile. Each process names the folder by the second
/// in which it writes, and processes of one job write together.
const MAX_SECONDS_APART: u64 = 60;

/// The folders of one run, or the names of several runs.
pub(crate) enum RunFolders<'a> {
    /// The folders, and the names of earlier profiles that are left out.
    One(Vec<PartFolder<'a>>, Vec<String>),
    Several(Vec<String>),
}

impl<'a> RunFolders<'a> {
    /// Returns the folders of the newest profile of each process, if the processes are of one run.
    pub(crate) fn of(folders: Vec<PartFolder<'a>>, path: &Path) -> Self {
        let mut by_process: BTreeMap<PathBuf, Vec<PartFolder<'a>>> = BTreeMap::new();
        for folder in folders {
            let process = process_of(&folder.path);
            by_process.entry(process).or_default().push(folder);
        }
        if by_process.len() > 1 && !are_ranks(by_process.keys()) {
            let names = by_process.keys();
            return Self::Several(names.map(|it| below(it, path)).collect());
        }
        let (mut newest, mut earlier) = (Vec::new(), Vec::new());
        for folders in by_process.into_values() {
            let (own, others) = newest_profile(folders);
            newest.extend(own);
            earlier.extend(others.iter().map(|it| below(it, path)));
        }
        Self::One(newest, earlier)
    }
}

/// Returns the folder of a process: that above `plugins/profile/DATE`, or else the folder itself.
fn process_of(folder: &Path) -> PathBuf {
    let profile = folder.parent();
    let plugins = profile.and_then(Path::parent);
    let has_name = |it: Option<&Path>, name: &str| {
        it.and_then(Path::file_name)
            .is_some_and(|it| it == OsStr::new(name))
    };
    match plugins.and_then(Path::parent) {
        Some(process) if has_name(plugins, PROFILES[0]) && has_name(profile, PROFILES[1]) => {
            process.to_owned()
        }
        _ => folder.to_owned(),
    }
}

/// Returns whether folders are those of the ranks of one run: their paths differ in one name, which has the number of a
/// process.
fn are_ranks<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> bool {
    let paths: Vec<Vec<&OsStr>> = paths.map(|it| it.iter().collect()).collect();
    let Some((first, others)) = paths.split_first() else {
        return false;
    };
    let differs = |at: usize| others.iter().any(|it| it.get(at) != first.get(at));
    let mut differing = (0..first.len()).filter(|at| differs(*at));
    let (Some(at), None) = (differing.next(), differing.next()) else {
        return false;
    };
    let number = |path: &Vec<&OsStr>| {
        let name = path.get(at).filter(|_| path.len() == first.len())?;
        process_in_folder(name.to_str()?)
    };
    let numbers: Option<BTreeSet<u32>> = paths.iter().map(number).collect();
    numbers.is_some_and(|it| it.len() == paths.len())
}

/// Returns the folders of the newest profile, and the paths of the others. Processes on several hosts that write a
/// profile into one folder name its folders by seconds that may differ, so folders of other hosts that were written at
/// about the same time belong to it.
fn newest_profile(mut folders: Vec<PartFolder<'_>>) -> (Vec<PartFolder<'_>>, Vec<PathBuf>) {
    let Some(mut last) = folders.pop() else {
        return (Vec::new(), Vec::new());
    };
    let files =
        |it: &PartFolder<'_>| -> BTreeSet<String> { it.parts.iter().map(Member::name).collect() };
    let mut known = files(&last);
    let mut newest = Vec::new();
    while let Some(folder) = folders.pop() {
        let names = files(&folder);
        let is_same = names.is_disjoint(&known) && are_near(&folder.path, &last.path);
        if !is_same {
            folders.push(folder);
            break;
        }
        known.extend(names);
        newest.push(std::mem::replace(&mut last, folder));
    }
    newest.push(last);
    newest.reverse();
    (newest, folders.into_iter().map(|it| it.path).collect())
}

/// Returns whether the names of two folders are times, and near each other.
fn are_near(earlier: &Path, later: &Path) -> bool {
    let second = |path: &Path| second_in_name(path.file_name()?.to_str()?);
    match (second(earlier), second(later)) {
        (Some(earlier), Some(later)) => later.abs_diff(earlier) <= MAX_SECONDS_APART,
        _ => false,
    }
}

/// Returns the time in a name such as `2026_11_28_09_51_27` in seconds, in months of 31 days: times are only compared
/// with near ones, and two that a month separates by less than its days are taken as apart.
fn second_in_name(name: &str) -> Option<u64> {
    let numbers = name.split('_').map(|it| it.parse().ok());
    let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
    let [year, month, day, hour, minute, second] = numbers[..] else {
        return None;
    };
    let days = (year.checked_mul(12)?.checked_add(month)?).checked_mul(31)?;
    let hours = days.checked_add(day)?.checked_mul(24)?.checked_add(hour)?;
    let minutes = hours.checked_mul(60)?.checked_add(minute)?;
    minutes.checked_mul(60)?.checked_add(second)
}

/// Returns a path relative to the folder that a user named.
pub(crate) fn below(folder: &Path, path: &Path) -> String {
    let relative = folder.strip_prefix(path).unwrap_or(folder);
    relative.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_ranks_have_numbers_of_processes() {
        let check = |paths: &[&str], expected| {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            assert_eq!(are_ranks(paths.iter()), expected, "{paths:?}");
        };
        check(&["run/rank0", "run/rank1"], true);
        check(&["run/p0/trace", "run/p10/trace"], true);
        check(&["run/node-3/rank_0", "run/node-4/rank_1"], false);
        check(&["runs/run1", "runs/run2"], false);
        check(&["runs/2026_11_28", "runs/2026_11_29"], false);
        check(&["run/rank0", "run/old"], false);
        check(&["run/rank0", "run/rank00"], false);
    }

    #[test]
    fn names_of_profiles_are_times() {
        let at = second_in_name("2026_11_28_09_58_26").unwrap();
        assert_eq!(second_in_name("2026_11_28_09_58_27"), Some(at + 1));
        assert_eq!(second_in_name("2026_11_28_10_58_26"), Some(at + 3_600));
        assert_eq!(second_in_name("run_1"), None);
        assert_eq!(second_in_name("2026_11_28"), None);
    }
}
