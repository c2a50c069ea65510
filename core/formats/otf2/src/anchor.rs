//! The anchor file of an archive, `NAME.otf2`.
//!
//! ```text
//! 3 · byte order · "OTF2" NUL · anchor format · trace format · version (3) · size of event chunks (8) · size of
//! definition chunks (8) · substrate · compression · number of locations (8) · number of definitions (8) · machine ·
//! creator · description · …
//! ```
//!
//! Integers are not compressed here. The file is written when the archive is closed, so a killed job leaves none.
//!
//! Source: OTF2 3.0.2, `src/OTF2_AnchorFile.c`.

use crate::bytes::{ByteOrder, ByteReader};
use crate::error::Otf2Error;

/// The first byte of every file.
pub(crate) const START: u8 = 3;
/// Number of bytes that distinguish an anchor file.
pub(crate) const PROBE_BYTES: usize = 7;
/// The valid sizes of chunks, in bytes.
const CHUNK_BYTES: std::ops::RangeInclusive<u64> = 256 * 1024..=16 * 1024 * 1024;
/// The only supported substrate: plain files.
const POSIX: u8 = 1;
/// The only supported compression: none.
const UNCOMPRESSED: u8 = 1;
/// The supported trace format.
const TRACE_FORMAT: u8 = 2;

/// The relevant contents of an anchor file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Anchor {
    /// Size of a chunk of events, in bytes.
    pub(crate) event_chunk_bytes: usize,
    /// Size of a chunk of definitions, in bytes.
    pub(crate) definition_chunk_bytes: usize,
}

/// Returns whether a file begins like an anchor file.
pub(crate) fn is_anchor(start: &[u8]) -> bool {
    matches!(start, [START, order, b'O', b'T', b'F', b'2', 0, ..] if ByteOrder::of(*order).is_some())
}

impl Anchor {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Otf2Error> {
        let [START, order, rest @ ..] = bytes else {
            return Err(Otf2Error::NoAnchor);
        };
        let order = ByteOrder::of(*order).ok_or(Otf2Error::NoAnchor)?;
        let mut bytes = ByteReader::new(rest, order);
        let name = bytes.text().unwrap_or_default();
        if name != "OTF2" {
            return Err(Otf2Error::NoAnchor);
        }
        Self::fields(&mut bytes).unwrap_or(Err(Otf2Error::ShortAnchor))
    }

    fn fields(bytes: &mut ByteReader<'_>) -> Option<Result<Self, Otf2Error>> {
        let _anchor_format = bytes.u8()?;
        let trace_format = bytes.u8()?;
        let version = [bytes.u8()?, bytes.u8()?, bytes.u8()?];
        let (events, definitions) = (bytes.full_u64()?, bytes.full_u64()?);
        let (substrate, compression) = (bytes.u8()?, bytes.u8()?);
        if trace_format != TRACE_FORMAT {
            let version = version.map(|part| part.to_string()).join(".");
            return Some(Err(Otf2Error::Version(trace_format, version)));
        }
        if substrate != POSIX {
            return Some(Err(Otf2Error::Substrate(substrate)));
        }
        if compression != UNCOMPRESSED {
            return Some(Err(Otf2Error::Compressed));
        }
        for size in [events, definitions] {
            if !CHUNK_BYTES.contains(&size) {
                return Some(Err(Otf2Error::ChunkSize(size)));
            }
        }
        Some(Ok(Self {
            event_chunk_bytes: usize::try_from(events).ok()?,
            definition_chunk_bytes: usize::try_from(definitions).ok()?,
        }))
    }
}
