//! The ranks that the names of files state.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use callgrove_model::RankId;

/// Returns the number at the end of a stream's name. `…-12.bp` is rank 12, and so is its contact file `…-12.bp.sst`.
pub fn rank_in_name(stream: &Path) -> Option<u32> {
    let name = stream.to_str()?;
    let stem = Path::new(name.strip_suffix(".sst").unwrap_or(name))
        .file_stem()?
        .to_str()?;
    let start = stem
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |last| last + 1);
    stem[start..].parse().ok()
}

/// Words before the number of a process in the name of a folder.
const PROCESS_WORDS: &[&str] = &[
    "rank", "process", "proc", "p", "r", "worker", "w", "host", "node", "task",
];

/// Returns the ranks that files of one run have if they do not state them: the number after the word `rank` in their
/// names or in those of their folders; or the number of a process in these; or their last number, if these are below
/// the number of files, as numbers of processes or times are not; or their order.
pub(crate) fn assumed_ranks(paths: &[PathBuf]) -> Vec<RankId> {
    let are_distinct = |it: &Vec<u32>| it.iter().collect::<BTreeSet<_>>().len() == it.len();
    let by = |rank: fn(&str) -> Option<u32>| {
        let names = paths.iter().map(|path| path.file_name()?.to_str());
        let ranks: Option<Vec<u32>> = names.map(|name| rank(name?)).collect();
        ranks.filter(are_distinct)
    };
    let num_files = u64::try_from(paths.len()).unwrap_or(u64::MAX);
    let is_below = |ranks: &Vec<u32>| ranks.iter().all(|rank| u64::from(*rank) < num_files);
    let in_order = || (0..).take(paths.len()).collect();
    let by_folder = |number: fn(&str) -> Option<u32>| {
        let numbers = paths.iter().map(|path| {
            let mut names = path.parent()?.iter().rev();
            names.find_map(|name| number(name.to_str()?))
        });
        let numbers: Option<Vec<u32>> = numbers.collect();
        numbers.filter(are_distinct)
    };
    let ranks = by(rank_in_text)
        .or_else(|| by_folder(rank_in_text))
        .or_else(|| by_folder(process_in_folder).filter(is_below))
        .or_else(|| by(last_number).filter(is_below))
        .unwrap_or_else(in_order);
    ranks.into_iter().map(RankId).collect()
}

/// Returns the number of a process in the name of a folder: a word for a process, and a number. `p3`, `rank_3` and
/// `worker-3` are process 3; `run3`, `2026_11_28` and `a3` name no process.
pub(crate) fn process_in_folder(name: &str) -> Option<u32> {
    let word = name.trim_end_matches(|it: char| it.is_ascii_digit());
    let number = name.get(word.len()..)?.parse().ok()?;
    let word = word.trim_end_matches(['_', '-', '.']).to_ascii_lowercase();
    PROCESS_WORDS.contains(&word.as_str()).then_some(number)
}

/// Returns the number after the word `rank` in a text: 34 in `rank-34.Jul_15.json`, `app_rank34.json` and `MPI Rank
/// 34`.
pub fn rank_in_text(text: &str) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    let mut after = lower.match_indices("rank").filter_map(|(at, word)| {
        let before = lower.get(..at)?.chars().next_back();
        let rest = lower.get(at + word.len()..)?;
        let is_word = before.is_none_or(|it| !it.is_alphanumeric());
        is_word.then_some(rest)
    });
    after.find_map(|rest| {
        leading_number(rest.trim_start_matches([' ', '_', '-', '.', '=', ':', '#']))
    })
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|it: char| !it.is_ascii_digit());
    text[..end.unwrap_or(text.len())].parse().ok()
}

/// Returns the last number in a name before its extensions: 3 in `trace_3.pt.trace.json.gz`.
fn last_number(name: &str) -> Option<u32> {
    let stem = name.split('.').next()?;
    let digits = stem.trim_end_matches(|it: char| !it.is_ascii_digit());
    let start = digits.rfind(|it: char| !it.is_ascii_digit());
    digits[start.map_or(0, |last| last + 1)..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(names: &[&str]) -> Vec<u32> {
        let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        let ranks = assumed_ranks(&paths).into_iter();
        ranks.map(|rank| rank.0).collect()
    }

    #[test]
    fn a_text_states_a_rank_after_the_word() {
        for (text, expected) in [
            ("Rank 3", Some(3)),
            ("MPI Rank 12", Some(12)),
            ("rank_4, CPU Thread 0", Some(4)),
            ("Rank: 5 (host)", Some(5)),
            ("frank 3", None),
            ("ranks", None),
            ("lmp", None),
            ("rank 99999999999", None),
        ] {
            assert_eq!(rank_in_text(text), expected, "{text}");
        }
    }

    #[test]
    fn ranks_are_assumed_by_the_word_then_by_small_numbers_then_by_order() {
        let by_word = ["run/rank-34.Jul_15.1074.pt.trace.json", "run/Rank_7.json"];
        assert_eq!(ranks(&by_word), [34, 7]);
        assert_eq!(ranks(&["a_1.json.gz", "a_0.json.gz"]), [1, 0]);
        assert_eq!(ranks(&["node_4711.99.json", "node_4720.98.json"]), [0, 1]);
        assert_eq!(ranks(&["rank-1.json", "other/rank-1.json"]), [0, 1]);
        assert_eq!(ranks(&["trace.json"]), [0]);
        let by_folder = ["log/p10/host.xplane.pb", "log/p2/host.xplane.pb"];
        assert_eq!(ranks(&by_folder), [0, 1]);
        let by_folder = ["run/rank10/a.json", "run/rank2/a.json"];
        assert_eq!(ranks(&by_folder), [10, 2]);
        let by_folder = ["log/p1/date/h.pb", "log/p0/date/h.pb"];
        assert_eq!(ranks(&by_folder), [1, 0]);
        assert_eq!(ranks(&["log/p1/h-1.pb", "log/p1/h-0.pb"]), [1, 0]);
    }
}
