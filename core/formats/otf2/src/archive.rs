//! An archive: its definitions, and the files of its locations.

use std::ffi::OsStr;
use std::path::PathBuf;

use callgrove_source::{Input, SourceError};

use crate::anchor::{Anchor, is_anchor};
use crate::definitions::Definitions;
use crate::error::Otf2Error;
use crate::processes::{CommunicatorRanks, Otf2Process, processes};

/// Maximum number of bytes that are read of an anchor file.
const ANCHOR_BYTES: usize = 1 << 16;
/// Extension of files of events.
const EVENTS: &str = "evt";

/// An open archive.
pub(crate) struct Archive {
    input: Input,
    /// The folder with the files of locations.
    folder: PathBuf,
    pub(crate) anchor: Anchor,
    pub(crate) definitions: Definitions,
    pub(crate) processes: Vec<Otf2Process>,
    /// The ranks that each communicator consists of, which determine the partners of messages.
    pub(crate) partners: CommunicatorRanks,
}

impl Archive {
    pub(crate) fn open(input: &Input) -> Result<Self, SourceError> {
        let invalid = |error: Otf2Error| SourceError::Invalid {
            format: "an OTF2 archive",
            path: input.path().to_owned(),
            source: Box::new(error),
        };
        if lacks_anchor(input) {
            return Err(invalid(Otf2Error::Killed));
        }
        let anchor = Anchor::read(&input.first_bytes(ANCHOR_BYTES)).map_err(invalid)?;
        let definitions = input.with_path(&input.path().with_extension("def"));
        let definitions = Definitions::read(definitions.open()?, anchor.definition_chunk_bytes);
        let definitions = definitions.map_err(invalid)?;
        let processes = processes(&definitions);
        if processes.is_empty() {
            return Err(invalid(Otf2Error::NoProcesses));
        }
        Ok(Self {
            folder: input.path().with_extension(""),
            input: input.clone(),
            anchor,
            partners: CommunicatorRanks::new(&definitions),
            definitions,
            processes,
        })
    }

    /// Returns the file of a location with this extension.
    pub(crate) fn file_of(&self, location: u64, extension: &str) -> Input {
        let name = format!("{location}.{extension}");
        self.input.with_path(&self.folder.join(name))
    }

    /// Returns the file of a location's events.
    pub(crate) fn events_of(&self, location: u64) -> Input {
        self.file_of(location, EVENTS)
    }

    pub(crate) fn input(&self) -> &Input {
        &self.input
    }
}

/// Returns whether an input is an archive, or the folder of one that was never closed.
pub(crate) fn is_archive(input: &Input) -> bool {
    if input.is_folder() {
        return lacks_anchor(input);
    }
    input.has_extension("otf2") || is_anchor(&input.first_bytes(crate::anchor::PROBE_BYTES))
}

/// Returns whether an input is a folder with files of events, but without an anchor file next to it: the program ended
/// before it closed the archive.
fn lacks_anchor(input: &Input) -> bool {
    let is_events = |entry: &Input| {
        let stem = entry.path().file_stem().and_then(OsStr::to_str);
        let is_number = stem.is_some_and(|stem| stem.bytes().all(|byte| byte.is_ascii_digit()));
        entry.has_extension(EVENTS) && is_number
    };
    input.is_folder()
        && !input
            .with_path(&input.path().with_extension("otf2"))
            .exists()
        && input
            .entries()
            .is_ok_and(|entries| entries.iter().any(is_events))
}
