//! The rank that the name of a stream tells.

use std::path::Path;

/// The number at the end of a stream's name: `…-12.bp` is rank 12.
pub fn rank_in_name(stream: &Path) -> Option<u32> {
    let stem = stream.file_stem()?.to_str()?;
    let start = stem
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |last| last + 1);
    stem[start..].parse().ok()
}
