//! Files of GPU profilers as a format: each is a part of a run, with one rank or several.

use callgrove_source::{Contents, Extent, Format, Input, SourceError, decoded_file};

use crate::compressed::MAGIC;
use crate::compressed::is_compressed;
use crate::database::Database;
use crate::decoder::GpuDecoder;
use crate::tool::ProfilerTool;

/// Number of bytes of a damaged file in which names of tables are looked for: several pages.
const PROBE_BYTES: usize = 1 << 16;

/// The format of SQLite files of GPU profilers.
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuSqliteFormat;

impl Format for GpuSqliteFormat {
    fn name(&self) -> &'static str {
        "SQLite of Nsight Systems, rocpd or rpd"
    }

    fn extent(&self) -> Extent {
        Extent::Part
    }

    fn probe(&self, input: &Input) -> bool {
        if input.first_bytes(MAGIC.len()) != MAGIC {
            return is_compressed(input);
        }
        match Database::open(input) {
            Ok(database) => ProfilerTool::of(&database.relations).is_some(),
            Err(_) => ProfilerTool::is_named_in(&input.first_bytes(PROBE_BYTES)),
        }
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        Ok(decoded_file(input, |input, rank| {
            Ok(Box::new(GpuDecoder::open(input, rank)?))
        }))
    }
}
