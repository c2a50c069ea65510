//! Recognizes files of BP3, the format of ADIOS 1.x, so that the error states how to convert them.
//!
//! ```text
//! the end of a file, 28 bytes
//!              start of the indices of process groups, variables, attributes (8 each) · version (4)
//! version      byte order, 0 = little-endian (1) · 0 (1) · whether there are files of parts (1) · version (1)
//! ```
//!
//! Source: the ADIOS 1.x manual's and ADIOS2's descriptions of the footer.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use callgrove_source::Input;

use crate::error::TauError;

/// Size of the footer, in bytes.
const FOOTER_BYTES: usize = 28;
/// Start of the footer, relative to the end of the file, in bytes.
const FOOTER_START: i64 = -28;
/// The newest version. Older ones have the same footer.
const VERSION: u8 = 3;

/// Returns the error that names a file of BP3, if it is one.
pub(super) fn error(path: &Path) -> Option<TauError> {
    let is_bp3 = File::open(path).is_ok_and(has_footer);
    is_bp3.then(|| TauError::Bp3 {
        path: path.to_owned(),
    })
}

/// Returns whether an input is a file of BP3.
pub(crate) fn is_bp3(input: &Input) -> bool {
    input.open().is_ok_and(has_footer)
}

fn has_footer(file: impl Read + Seek) -> bool {
    footer(file).is_ok_and(|(footer, start)| is_footer(footer, start))
}

/// Returns the last bytes of a file, and their offset.
fn footer(mut file: impl Read + Seek) -> io::Result<([u8; FOOTER_BYTES], u64)> {
    let start = file.seek(SeekFrom::End(FOOTER_START))?;
    let mut footer = [0; FOOTER_BYTES];
    file.read_exact(&mut footer)?;
    Ok((footer, start))
}

fn is_footer(footer: [u8; FOOTER_BYTES], start: u64) -> bool {
    let (places, _) = footer.as_chunks::<8>();
    let is_in_order = |number: fn([u8; 8]) -> u64| {
        let places = places.iter().map(|place| number(*place));
        places
            .chain([start])
            .is_sorted_by(|place, next| place < next)
    };
    let [.., version] = footer;
    (1..=VERSION).contains(&version)
        && (is_in_order(u64::from_le_bytes) || is_in_order(u64::from_be_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer_of(places: [[u8; 8]; 3], version: [u8; 4]) -> [u8; 28] {
        let bytes = [places.as_flattened(), &version].concat();
        bytes.try_into().unwrap()
    }

    #[test]
    fn a_footer_has_places_in_order_and_a_version() {
        let little = footer_of([100_u64, 200, 300].map(u64::to_le_bytes), [0, 0, 0, 3]);
        let big = footer_of([100_u64, 200, 300].map(u64::to_be_bytes), [0x80, 0, 1, 2]);
        assert!(is_footer(little, 400) && is_footer(big, 400));
        assert!(!is_footer(little, 300), "an index outside the file");
        assert!(!is_footer(footer_of([*b"a line o"; 3], *b"text"), 400));
        assert!(!is_footer([0; 28], 0));
    }
}
