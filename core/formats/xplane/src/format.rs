//! XPlane files as a format: a file is one rank.

use callgrove_source::{
    Contents, Extent, Format, Input, SourceError, decoded_file, first_unpacked_bytes,
};

use crate::decoder::PlaneDecoder;
use crate::proto::begins_with_plane;

/// Number of bytes at the start of a file that are looked at.
const PROBE_BYTES: usize = 4096;

/// The format of XPlane files.
#[derive(Clone, Copy, Debug, Default)]
pub struct XplaneFormat;

impl Format for XplaneFormat {
    fn name(&self) -> &'static str {
        "XPlane (xplane.pb)"
    }

    fn extent(&self) -> Extent {
        Extent::Part
    }

    fn probe(&self, input: &Input) -> bool {
        begins_with_plane(&first_unpacked_bytes(input, PROBE_BYTES).0)
    }

    /// The profiler writes all that it recorded as an XPlane, and makes the other files of a profile of it.
    fn is_original(&self) -> bool {
        true
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        Ok(decoded_file(input, |input, rank| {
            Ok(Box::new(PlaneDecoder::open(input, rank)?))
        }))
    }
}
