//! Files of GPU profilers as a format: each is a part of a run, with one rank or several.

use std::path::Path;

use callgrove_model::{ProgramId, RankId};
use callgrove_source::{
    Contents, EventStream, Extent, FileDecoder, Format, Input, OrderingStream, Part, Projection,
    SourceError,
};

use crate::database::{Database, MAGIC};
use crate::decoder::GpuDecoder;
use crate::tool::ProfilerTool;

/// Number of bytes of a damaged file in which names of tables are looked for: several pages.
const PROBE_BYTES: usize = 1 << 16;

/// The format of SQLite files of GPU profilers.
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuSqliteFormat;

/// One file.
struct GpuSqlitePart {
    input: Input,
    assumed: RankId,
}

impl Format for GpuSqliteFormat {
    fn name(&self) -> &'static str {
        "SQLite of Nsight Systems, rocpd or rpd"
    }

    fn extent(&self) -> Extent {
        Extent::Part
    }

    fn probe(&self, input: &Input) -> bool {
        if input.first_bytes(MAGIC.len()) != MAGIC {
            return false;
        }
        match Database::open(input) {
            Ok(database) => ProfilerTool::of(&database.relations).is_some(),
            Err(_) => ProfilerTool::is_named_in(&input.first_bytes(PROBE_BYTES)),
        }
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        let part = GpuSqlitePart {
            input: input.clone(),
            assumed: RankId(0),
        };
        Ok(Contents::Events(vec![Box::new(part)]))
    }
}

impl Part for GpuSqlitePart {
    fn path(&self) -> &Path {
        self.input.path()
    }

    fn assume_rank(&mut self, rank: RankId) {
        self.assumed = rank;
    }

    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        let mut decoder = GpuDecoder::open(&self.input, self.assumed)?;
        while decoder.read_on()? {}
        let run = Box::new(decoder).finish();
        Ok(run.ranks.keys().map(|rank| (ProgramId(0), *rank)).collect())
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        let decoder = GpuDecoder::open(&self.input, self.assumed)?;
        Ok(Box::new(OrderingStream::new(Box::new(decoder), projection)))
    }
}
