//! Perfetto's traces as a format: a file is a part of a run, with one or several ranks.

use std::io::Read;

use callgrove_source::{Contents, Extent, Format, Input, SourceError, decoded_file};
use flate2::bufread::GzDecoder;

use crate::decoder::{GZIP_START, TraceDecoder};
use crate::proto::begins_with_packet;

/// Number of bytes at the start of a file that are looked at.
const PROBE_BYTES: usize = 4096;

/// The format of Perfetto's traces.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerfettoFormat;

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
        Ok(decoded_file(input, |input, rank| {
            Ok(Box::new(TraceDecoder::open(input, rank)?))
        }))
    }
}
