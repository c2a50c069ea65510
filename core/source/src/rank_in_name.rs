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

/// Returns the ranks that files of one run have if they do not state them: the number after the word `rank` in their
/// names; or their last number, if these are below the number of files, as numbers of processes or times are not; or
/// their order.
pub(crate) fn assumed_ranks(paths: &[PathBuf]) -> Vec<RankId> {
    let by = |rank: fn(&str) -> Option<u32>| {
        let names = paths.iter().map(|path| path.file_name()?.to_str());
        let ranks: Option<Vec<u32>> = names.map(|name| rank(name?)).collect();
        let are_distinct = |it: &Vec<u32>| it.iter().collect::<BTreeSet<_>>().len() == it.len();
        ranks.filter(are_distinct)
    };
    let num_files = u64::try_from(paths.len()).unwrap_or(u64::MAX);
    let is_below = |ranks: &Vec<u32>| ranks.iter().all(|rank| u64::from(*rank) < num_files);
    let in_order = || (0..).take(paths.len()).collect();
    let ranks = by(rank_in_text)
        .or_else(|| by(last_number).filter(is_below))
        .unwrap_or_else(in_order);
    ranks.into_iter().map(RankId).collect()
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
    }
}
