//! OTF2 as a format: an anchor file is a run, and each process a part of it.

use std::path::Path;
use std::sync::Arc;

use callgrove_model::{ProgramId, RankId};
use callgrove_source::{
    Contents, EventStream, Extent, Format, Input, Part, Projection, SourceError,
};

use crate::archive::{Archive, is_archive};
use crate::processes::Otf2Process;
use crate::stream::Otf2Stream;

/// The format of OTF2 archives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Otf2Format;

/// One process of an archive.
struct Otf2Part {
    archive: Arc<Archive>,
    process: Otf2Process,
}

impl Format for Otf2Format {
    fn name(&self) -> &'static str {
        "OTF2 (the file NAME.otf2 of an archive)"
    }

    fn extent(&self) -> Extent {
        Extent::Run
    }

    fn probe(&self, input: &Input) -> bool {
        is_archive(input)
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        let archive = Arc::new(Archive::open(input)?);
        let part = |process: &Otf2Process| -> Box<dyn Part> {
            Box::new(Otf2Part {
                archive: Arc::clone(&archive),
                process: process.clone(),
            })
        };
        Ok(Contents::Events(
            archive.processes.iter().map(part).collect(),
        ))
    }
}

impl Part for Otf2Part {
    fn path(&self) -> &Path {
        self.archive.input().path()
    }

    fn named_rank(&self) -> Option<RankId> {
        Some(self.process.rank)
    }

    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        Ok(vec![(ProgramId(0), self.process.rank)])
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        let archive = Arc::clone(&self.archive);
        let process = self.process.clone();
        Ok(Box::new(Otf2Stream::open(archive, process, projection)?))
    }
}
