//! The runs below a folder: in parts, or complete.

use std::path::{Path, PathBuf};

use crate::error::SourceError;
use crate::format::Format;
use crate::input::Input;
use crate::member::{Member, recognize, without_copies};

/// Number of levels below a folder at which traces are looked for: `LOG/p0/plugins/profile/DATE/` is the deepest tree
/// that a profiler writes.
const MAX_LEVELS: usize = 4;
/// Maximum number of files and folders that are looked at. It allows for a tree of the profiler of JAX for each of
/// 16,384 processes, which has six.
const MAX_ENTRIES: usize = 100_000;

/// A folder with parts of a run.
pub(crate) struct PartFolder<'a> {
    pub(crate) path: PathBuf,
    pub(crate) parts: Vec<Member<'a>>,
}

/// What is below a folder. Complete runs may have been made of those in parts.
#[derive(Default)]
pub(crate) struct RunsBelow<'a> {
    /// The nearest folders with parts: all at one level, in the order of their paths.
    pub(crate) folders: Vec<PartFolder<'a>>,
    /// The nearest complete runs, if there are no parts: all at one level, in the order of their paths.
    pub(crate) complete: Vec<Member<'a>>,
}

/// Returns what is nearest below the entries of a folder. A folder that cannot be listed does not hold the trace.
///
/// # Errors
/// [`SourceError::TooManyEntries`].
pub(crate) fn runs_below<'a>(
    formats: &'a [Box<dyn Format>],
    entries: &[Input],
    path: &Path,
) -> Result<RunsBelow<'a>, SourceError> {
    let mut level = folders(formats, entries);
    let mut found = RunsBelow::default();
    let mut num_entries = 0;
    for _ in 0..MAX_LEVELS {
        let (mut below, mut complete) = (Vec::new(), Vec::new());
        for folder in level {
            let entries = folder.entries().unwrap_or_default();
            num_entries += entries.len();
            if num_entries > MAX_ENTRIES {
                let path = path.to_owned();
                return Err(SourceError::TooManyEntries { path });
            }
            let members = entries.iter().filter_map(|it| recognize(formats, it));
            let (parts, runs): (Vec<_>, Vec<_>) = members.partition(Member::is_part);
            if parts.is_empty() {
                below.extend(folders(formats, &entries));
                complete.extend(runs);
            } else {
                found.folders.push(PartFolder {
                    path: folder.path().to_owned(),
                    parts: without_copies(parts),
                });
            }
        }
        if !found.folders.is_empty() {
            found.complete.clear();
            break;
        }
        if found.complete.is_empty() {
            found.complete = complete;
        }
        level = below;
    }
    Ok(found)
}

/// Returns the folders among entries that are no traces themselves.
fn folders(formats: &[Box<dyn Format>], entries: &[Input]) -> Vec<Input> {
    let folders = entries.iter().filter(|it| it.is_folder());
    let others = folders.filter(|it| recognize(formats, it).is_none());
    others.cloned().collect()
}
