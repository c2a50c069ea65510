//! The rank that the name of a stream states.

use std::path::Path;

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
