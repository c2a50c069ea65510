//! Perfetto's traces as a format: a file is a part of a run, with one or several ranks.

use callgrove_source::{
    Contents, Extent, Format, Input, SourceError, decoded_file, first_unpacked_bytes,
};

use crate::decoder::TraceDecoder;
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
        let (start, is_packed) = first_unpacked_bytes(input, PROBE_BYTES);
        // The unpacked length of a packed file is unknown.
        let num_bytes = if is_packed {
            u64::MAX
        } else {
            input.num_bytes().unwrap_or(0)
        };
        begins_with_packet(&start, num_bytes)
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        Ok(decoded_file(input, |input, rank| {
            Ok(Box::new(TraceDecoder::open(input, rank)?))
        }))
    }
}
