//! Which kind of file an export writes, by the name of the file.

use std::path::Path;

use anyhow::{Result, bail};
use callgrove_packed::EXTENSION;

/// The name of a file packed with gzip ends so.
const GZIP: &str = ".gz";

/// A format that other programs show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ViewerFormat {
    /// Perfetto's packets.
    Perfetto,
    /// Chrome's JSON.
    Chrome,
}

/// A kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExportKind {
    /// For Callgrove itself.
    Run,
    /// For other programs.
    Viewer {
        format: ViewerFormat,
        /// True if it is packed with gzip.
        is_packed: bool,
    },
}

impl ExportKind {
    /// Returns the kind of a file by its name.
    ///
    /// # Errors
    /// No kind has such names.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let unpacked = name.strip_suffix(GZIP);
        let has = |end: &str| {
            let name = unpacked.unwrap_or(&name);
            let stem = name.strip_suffix(end).and_then(|it| it.strip_suffix('.'));
            stem.is_some_and(|it| !it.is_empty())
        };
        let viewer = |format| Self::Viewer {
            format,
            is_packed: unpacked.is_some(),
        };
        if has("pftrace") || has("perfetto-trace") {
            return Ok(viewer(ViewerFormat::Perfetto));
        }
        if has("json") {
            return Ok(viewer(ViewerFormat::Chrome));
        }
        if has(EXTENSION) && unpacked.is_none() {
            return Ok(Self::Run);
        }
        bail!(
            "{} has no extension that says what to write: use .{EXTENSION} for Callgrove itself, .pftrace for \
             ui.perfetto.dev, or .json for other programs (.pftrace.gz and .json.gz are smaller)",
            path.display()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_that_of_the_extension() {
        let of = |name: &str| ExportKind::of(Path::new(name)).ok();
        let viewer = |format, is_packed| Some(ExportKind::Viewer { format, is_packed });
        assert_eq!(of("a/run.callgrove"), Some(ExportKind::Run));
        assert_eq!(of("run.pftrace"), viewer(ViewerFormat::Perfetto, false));
        assert_eq!(of("run.1.json.gz"), viewer(ViewerFormat::Chrome, true));
        for name in [
            "run",
            "run.gz",
            ".json",
            "run.callgrove.gz",
            "run.csv",
            "json",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
