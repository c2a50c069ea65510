//! Files of events as a format: one file holds all ranks.

use std::collections::BTreeSet;
use std::path::Path;

use callgrove_model::{ProgramId, RankId};
use callgrove_source::{
    Contents, EventStream, Extent, Format, Input, Part, Projection, SourceError,
};
use csv::ByteRecord;

use crate::columns::CsvColumns;
use crate::row::Row;
use crate::stream::{CsvStream, reader};

/// Number of bytes at the start of a file that hold its first row.
const PROBE_BYTES: usize = 4096;

/// The format of files of events.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventsCsvFormat;

/// One file.
struct CsvPart(Input);

impl Format for EventsCsvFormat {
    fn name(&self) -> &'static str {
        "events as CSV (the columns of Pipit)"
    }

    fn extent(&self) -> Extent {
        Extent::Run
    }

    fn probe(&self, input: &Input) -> bool {
        let start = input.first_bytes(PROBE_BYTES);
        let mut header = ByteRecord::new();
        let is_read = reader(&start[..]).read_byte_record(&mut header);
        is_read.is_ok() && CsvColumns::of(&header).is_some()
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        Ok(Contents::Events(vec![Box::new(CsvPart(input.clone()))]))
    }
}

impl Part for CsvPart {
    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns `None`: a number in the name of a file with all ranks is not that of a rank.
    fn named_rank(&self) -> Option<RankId> {
        None
    }

    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        let mut stream = CsvStream::open(&self.0, &Projection::default())?;
        let mut ranks = BTreeSet::new();
        while stream.read_record()? {
            ranks.extend(Row::rank(&stream.record, &stream.columns));
        }
        Ok(ranks.into_iter().map(|rank| (ProgramId(0), rank)).collect())
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        Ok(Box::new(CsvStream::open(&self.0, projection)?))
    }
}
