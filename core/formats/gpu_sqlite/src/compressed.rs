//! Files compressed with gzip. SQLite reads pages in any order, so they are decompressed to a temporary file.

use std::io::{ErrorKind, Read, Write};

use callgrove_source::{Input, SourceError};
use flate2::read::MultiGzDecoder;
use tempfile::NamedTempFile;

use crate::error::{GpuSqliteError, invalid};

/// The first bytes of every file of SQLite.
pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";
/// The first bytes of a file of gzip.
const GZIP: &[u8] = &[0x1F, 0x8B];
/// Maximum number of decompressed bytes for each compressed one. Small files of Nsight and rpd have 3 to 28; gzip can have a
/// thousand.
const MAX_RATIO: u64 = 100;
/// Number of bytes that are decompressed from a file of any size. An empty database of many tables is some 200 KiB.
const BASE_BYTES: u64 = 1 << 20;
/// Number of bytes that are decompressed at once.
const CHUNK_BYTES: usize = 1 << 18;

/// A decompressed file, which is removed when it is dropped.
pub(crate) struct Decompressed {
    pub(crate) file: NamedTempFile,
    pub(crate) num_bytes: u64,
    /// The compressed data end early or are damaged: the reason. What precedes is in the file.
    pub(crate) damage: Option<String>,
}

/// Returns whether a file is a compressed database.
pub(crate) fn is_compressed(input: &Input) -> bool {
    if input.first_bytes(GZIP.len()) != GZIP {
        return false;
    }
    let Ok(reader) = input.open() else {
        return false;
    };
    let mut magic = vec![0; MAGIC.len()];
    let read = MultiGzDecoder::new(reader).read_exact(&mut magic);
    read.is_ok() && magic == MAGIC
}

/// Decompresses a file to the folder of temporary files.
///
/// # Errors
/// [`SourceError::Io`] if the file cannot be read; [`SourceError::Invalid`] if it becomes too large, or the temporary
/// file cannot be written.
pub(crate) fn decompress(input: &Input) -> Result<Decompressed, SourceError> {
    let max_bytes = input.num_bytes()?.saturating_mul(MAX_RATIO);
    let max_bytes = max_bytes.saturating_add(BASE_BYTES);
    let not_written = |error: std::io::Error| {
        let folder = tempfile::env::temp_dir().display().to_string();
        let reason = error.to_string();
        invalid(
            input.path(),
            GpuSqliteError::NotDecompressed { folder, reason },
        )
    };
    let mut file = NamedTempFile::with_prefix("callgrove-").map_err(not_written)?;
    let mut reader = MultiGzDecoder::new(input.open()?);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut num_bytes = 0_u64;
    let damage = loop {
        let num_read = match reader.read(&mut chunk) {
            Ok(0) => break None,
            Ok(num_read) => num_read,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => continue,
                ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                    break Some(format!("its compressed data are damaged: {error}"));
                }
                _ => return Err(input.io_error()(error)),
            },
        };
        num_bytes = num_bytes.saturating_add(u64::try_from(num_read).unwrap_or(u64::MAX));
        if num_bytes > max_bytes {
            return Err(invalid(
                input.path(),
                GpuSqliteError::TooLarge { max_bytes },
            ));
        }
        let bytes = chunk.get(..num_read).unwrap_or_default();
        file.write_all(bytes).map_err(not_written)?;
    };
    file.flush().map_err(not_written)?;
    Ok(Decompressed {
        file,
        num_bytes,
        damage,
    })
}
