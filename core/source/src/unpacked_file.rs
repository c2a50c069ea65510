//! A file that may be packed with gzip, as plain bytes.

use std::io::{self, BufReader, Read};

use flate2::bufread::{GzDecoder, MultiGzDecoder};

use crate::error::SourceError;
use crate::input::{FileReader, Input};

/// First bytes of a file that is packed with gzip.
const GZIP_START: [u8; 2] = [0x1F, 0x8B];
/// Number of bytes that one byte of a packed file can be expected to unpack to at most. Traces have about ten.
const MAX_EXPANSION: u64 = 200;
/// Number of bytes that any packed file may unpack to.
const MIN_UNPACKED_BYTES: u64 = 64 << 20;

/// The bytes of a file, unpacked if it is packed with gzip.
pub struct UnpackedFile {
    bytes: PlainBytes,
    num_file_bytes: u64,
}

enum PlainBytes {
    Plain(CountedFile),
    Gzip(Box<MultiGzDecoder<BufReader<CountedFile>>>),
}

/// A file that counts the bytes that were read of it.
struct CountedFile {
    file: BufReader<Box<dyn FileReader>>,
    num_bytes: u64,
}

impl UnpackedFile {
    /// Opens a file at its beginning.
    ///
    /// # Errors
    /// [`SourceError::Io`].
    pub fn open(input: &Input) -> Result<Self, SourceError> {
        let num_file_bytes = input.num_bytes()?;
        let file = CountedFile {
            file: input.open()?,
            num_bytes: 0,
        };
        let bytes = if input.first_bytes(GZIP_START.len()) == GZIP_START {
            PlainBytes::Gzip(Box::new(MultiGzDecoder::new(BufReader::new(file))))
        } else {
            PlainBytes::Plain(file)
        };
        Ok(Self {
            bytes,
            num_file_bytes,
        })
    }

    /// Returns whether the file is packed, so that its length is not that of the unpacked bytes.
    pub fn is_packed(&self) -> bool {
        matches!(self.bytes, PlainBytes::Gzip(_))
    }

    /// Returns the length of the file in bytes, as it is stored.
    pub fn num_file_bytes(&self) -> u64 {
        self.num_file_bytes
    }

    /// Returns the number of bytes that the file, or anything packed in it, can be expected to unpack to at most.
    pub fn max_unpacked_bytes(&self) -> u64 {
        self.num_file_bytes
            .saturating_mul(MAX_EXPANSION)
            .saturating_add(MIN_UNPACKED_BYTES)
    }

    /// Returns the number of bytes of the stored file that were read.
    pub fn num_file_bytes_read(&self) -> u64 {
        match &self.bytes {
            PlainBytes::Plain(file) => file.num_bytes,
            PlainBytes::Gzip(file) => file.get_ref().get_ref().num_bytes,
        }
    }

    /// Skips bytes, which costs nothing in a file that is not packed. The end of the file may be skipped, too: nothing
    /// follows then.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn skip(&mut self, num_bytes: u64) -> io::Result<()> {
        if let PlainBytes::Plain(file) = &mut self.bytes
            && let Ok(distance) = i64::try_from(num_bytes)
        {
            file.num_bytes = file.num_bytes.saturating_add(num_bytes);
            return file.file.seek_relative(distance);
        }
        io::copy(&mut self.by_ref().take(num_bytes), &mut io::sink())?;
        Ok(())
    }
}

/// Returns the first bytes of a file, unpacked, and whether it is packed: at most `limit` bytes, of those that are in
/// the first `limit` bytes of the stored file.
pub fn first_unpacked_bytes(input: &Input, limit: usize) -> (Vec<u8>, bool) {
    let start = input.first_bytes(limit);
    if !start.starts_with(&GZIP_START) {
        return (start, false);
    }
    let mut unpacked = vec![0; limit];
    let mut unpacking = GzDecoder::new(&start[..]);
    let mut num_unpacked = 0;
    while let Some(rest) = unpacked.get_mut(num_unpacked..).filter(|it| !it.is_empty()) {
        match unpacking.read(rest) {
            Ok(num_bytes) if num_bytes > 0 => num_unpacked += num_bytes,
            _ => break,
        }
    }
    unpacked.truncate(num_unpacked);
    (unpacked, true)
}

impl Read for UnpackedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.bytes {
            PlainBytes::Plain(file) => file.read(buffer),
            PlainBytes::Gzip(file) => file.read(buffer),
        }
    }
}

impl Read for CountedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let num_bytes = self.file.read(buffer)?;
        self.num_bytes += u64::try_from(num_bytes).unwrap_or(u64::MAX);
        Ok(num_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;
    use std::sync::Arc;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::input::FileSystem;
    use crate::memory_files::MemoryFiles;

    #[test]
    fn bytes_are_skipped_in_plain_and_in_packed_files() {
        let text = b"0123456789".repeat(5_000);
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&text).unwrap();
        let mut files = MemoryFiles::default();
        files.put("plain", &text);
        files.put("packed", &packed.finish().unwrap());
        let files: Arc<dyn FileSystem> = Arc::new(files);
        for (name, is_packed) in [("plain", false), ("packed", true)] {
            let input = Input::new(Path::new(name), &files);
            let (start, was_packed) = first_unpacked_bytes(&input, 200);
            assert!(!start.is_empty() && text.starts_with(&start), "{name}");
            assert_eq!(was_packed, is_packed);
            let mut file = UnpackedFile::open(&input).unwrap();
            assert_eq!(file.is_packed(), is_packed);
            let mut three = [0; 3];
            file.read_exact(&mut three).unwrap();
            file.skip(30_001).unwrap();
            file.read_exact(&mut three).unwrap();
            assert_eq!(&three, b"456", "{name}");
            file.skip(1 << 40).unwrap();
            assert_eq!(file.read(&mut three).unwrap(), 0, "{name}");
        }
    }
}
