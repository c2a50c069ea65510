//! The text of a file, decompressed if the file begins as one of gzip or Zstandard does.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callgrove_source::{Input, SourceError};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// The first bytes of a gzip file.
const GZIP: &[u8] = b"\x1f\x8b";
/// The first bytes of a Zstandard file.
const ZSTANDARD: &[u8] = b"\x28\xb5\x2f\xfd";
/// Number of bytes that are read from a file at once.
const BUFFER_BYTES: usize = 256 << 10;

/// The text of a file.
pub(crate) struct TextReader {
    /// The text.
    pub(crate) text: Box<dyn Read + Send>,
    /// Number of bytes of the file that were read.
    pub(crate) num_read: Arc<AtomicU64>,
}

impl TextReader {
    /// Opens a file at its beginning.
    ///
    /// # Errors
    /// [`SourceError::Io`].
    pub(crate) fn open(input: &Input) -> Result<Self, SourceError> {
        let num_read = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            file: input.open()?,
            num_read: Arc::clone(&num_read),
        };
        let mut file = BufReader::with_capacity(BUFFER_BYTES, counted);
        let start = file.fill_buf().map_err(input.io_error())?;
        let text: Box<dyn Read + Send> = if start.starts_with(GZIP) {
            Box::new(MultiGzDecoder::new(file))
        } else if start.starts_with(ZSTANDARD) {
            Box::new(ZstandardFrames {
                file: Some(file),
                frame: None,
            })
        } else {
            Box::new(file)
        };
        Ok(Self { text, num_read })
    }
}

/// A reader that counts.
struct Counted<R> {
    file: R,
    num_read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let num = self.file.read(buffer)?;
        let more = u64::try_from(num).unwrap_or(u64::MAX);
        self.num_read.fetch_add(more, Ordering::Relaxed);
        Ok(num)
    }
}

/// The frames of a Zstandard file, one after another.
struct ZstandardFrames<R: Read> {
    /// The file, between frames.
    file: Option<R>,
    frame: Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>,
}

impl<R: BufRead> Read for ZstandardFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(mut frame) = self.frame.take() {
                let num = frame.read(buffer)?;
                if num > 0 || buffer.is_empty() {
                    self.frame = Some(frame);
                    return Ok(num);
                }
                self.file = Some(frame.into_inner());
            }
            let Some(mut file) = self.file.take() else {
                return Ok(0);
            };
            if !file.fill_buf()?.starts_with(ZSTANDARD) {
                return Ok(0);
            }
            self.frame = Some(StreamingDecoder::new(file).map_err(io::Error::other)?);
        }
    }
}
