//! The rank that the name of a stream states.

use std::path::{Path, PathBuf};

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

/// Returns the name of the same stream of another rank.
pub(crate) fn with_rank_in_name(stream: &Path, rank: u32) -> Option<PathBuf> {
    rank_in_name(stream)?;
    let stem = stream
        .file_stem()?
        .to_str()?
        .trim_end_matches(|c: char| c.is_ascii_digit());
    let extension = stream.extension()?.to_str()?;
    Some(stream.with_file_name(format!("{stem}{rank}.{extension}")))
}
