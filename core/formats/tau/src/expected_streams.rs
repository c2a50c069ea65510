//! The streams that a job is expected to write.

use std::path::{Path, PathBuf};

use callgrove_source::rank_in_name;

/// Returns the streams of `num_ranks` ranks that `input` names, whether they exist yet or not: all of a folder, or
/// those that match a pattern. Their names follow from those in `found`. Returns `found` if it is empty or `input` is
/// one stream.
pub fn expected_streams(input: &Path, found: &[PathBuf], num_ranks: u32) -> Vec<PathBuf> {
    let is_one = found.iter().any(|stream| stream == input);
    let Some(example) = found.first().filter(|_| !is_one) else {
        return found.to_vec();
    };
    let all = (0..num_ranks).filter_map(|rank| with_rank_in_name(example, rank));
    all.filter(|stream| is_named_by(input, stream)).collect()
}

/// Returns whether `input`, which exists or is a pattern, names a stream below it that may not exist yet.
pub fn is_named_by(input: &Path, stream: &Path) -> bool {
    let pattern = glob::Pattern::new(&input.to_string_lossy()).ok();
    let pattern = pattern.filter(|_| !input.exists());
    let mut folders = stream.ancestors();
    pattern.is_none_or(|pattern| folders.any(|it| pattern.matches_path(it)))
}

/// Returns the name of the same stream of another rank.
fn with_rank_in_name(stream: &Path, rank: u32) -> Option<PathBuf> {
    rank_in_name(stream)?;
    let stem = stream
        .file_stem()?
        .to_str()?
        .trim_end_matches(|c: char| c.is_ascii_digit());
    let extension = stream.extension()?.to_str()?;
    Some(stream.with_file_name(format!("{stem}{rank}.{extension}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_streams_match_the_input() {
        let run = tempfile::tempdir().unwrap();
        let bp = run.path().join("bp");
        std::fs::create_dir(&bp).unwrap();
        let stream = |rank: u32| bp.join(format!("tau-metrics-lmp_tau-{rank}.bp"));
        let to_come = |input: &Path| {
            let streams = expected_streams(input, &[stream(0), stream(2)], 4);
            let ranks = streams.iter().map(|stream| rank_in_name(stream).unwrap());
            ranks.collect::<Vec<_>>()
        };
        assert_eq!(to_come(run.path()), [0, 1, 2, 3]);
        assert_eq!(to_come(&bp.join("*.bp")), [0, 1, 2, 3]);
        assert_eq!(to_come(&bp.join("*-[23].bp")), [2, 3]);
        assert_eq!(to_come(&run.path().join("b?")), [0, 1, 2, 3]);
        assert_eq!(to_come(&stream(2)), [0, 2]);
    }
}
