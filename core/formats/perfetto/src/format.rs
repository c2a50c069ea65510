//! Perfetto's traces as a format: a file is a part of a run, with one or several ranks.

use std::io::Read;
use std::path::Path;

use callgrove_model::{ProgramId, RankId};
use callgrove_source::{
    Contents, EventStream, Extent, Format, Input, OrderingStream, Part, Projection, SourceError,
};
use flate2::bufread::GzDecoder;

use crate::decoder::{GZIP_START, TraceDecoder};
use crate::proto::begins_with_packet;

/// Number of bytes at the start of a file that are looked at.
const PROBE_BYTES: usize = 4096;

/// The format of Perfetto's traces.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerfettoFormat;

/// One file.
struct PerfettoPart {
    input: Input,
    /// The rank of a process that does not state it.
    of_file: RankId,
}

impl Format for PerfettoFormat {
    fn name(&self) -> &'static str {
        "Perfetto (pftrace)"
    }

    fn extent(&self) -> Extent {
        Extent::Part
    }

    fn probe(&self, input: &Input) -> bool {
        let start = input.first_bytes(PROBE_BYTES);
        if !start.starts_with(&GZIP_START) {
            let num_bytes = input.num_bytes().unwrap_or(0);
            return begins_with_packet(&start, num_bytes);
        }
        let mut unpacked = vec![0; PROBE_BYTES];
        let mut unpacking = GzDecoder::new(&start[..]);
        let mut num_unpacked = 0;
        while let Some(rest) = unpacked.get_mut(num_unpacked..).filter(|it| !it.is_empty()) {
            match unpacking.read(rest) {
                Ok(num_bytes) if num_bytes > 0 => num_unpacked += num_bytes,
                _ => break,
            }
        }
        unpacked.truncate(num_unpacked);
        begins_with_packet(&unpacked, u64::MAX)
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        let part = PerfettoPart {
            input: input.clone(),
            of_file: RankId(0),
        };
        Ok(Contents::Events(vec![Box::new(part)]))
    }
}

impl Part for PerfettoPart {
    fn path(&self) -> &Path {
        self.input.path()
    }

    fn named_rank(&self) -> Option<RankId> {
        Some(self.of_file)
    }

    fn assume_rank(&mut self, rank: RankId) {
        self.of_file = rank;
    }

    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        let ranks = TraceDecoder::open(&self.input, self.of_file)?.ranks()?;
        let ranks = ranks.into_iter();
        Ok(ranks.map(|rank| (ProgramId(0), rank)).collect())
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        let decoder = TraceDecoder::open(&self.input, self.of_file)?;
        let stream = OrderingStream::new(Box::new(decoder), projection);
        Ok(Box::new(stream))
    }
}
