//! Nested messages of a file that are read field by field, in bounded memory.

use std::io::{self, Read};

use callgrove_source::UnpackedFile;
use callgrove_source::protobuf::FieldWalk;

/// Number of bytes that are read at once.
const READ_BYTES: u64 = 1 << 20;
/// Maximum size of the tag and the length of a field, or of its tag and value, in bytes: two integers of variable
/// length.
const MAX_HEAD_BYTES: usize = 20;
/// Maximum size of a message that is read as a whole, in bytes: an event has some hundred, and names are cut after
/// fewer.
const MAX_MESSAGE_BYTES: u64 = 16 << 20;

/// The tag of a field, with its value or the length of its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FieldHead {
    pub(crate) number: u64,
    pub(crate) value: HeadValue,
}

/// The value of a field, as far as its head has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeadValue {
    Varint(u64),
    /// Text or a message, which begins here and ends before this byte of the file.
    Until(u64),
    /// Four or eight bytes, which were skipped.
    Fixed,
}

/// The reason why the fields of a message cannot be read on.
#[derive(Debug)]
pub(crate) enum StreamFault {
    /// There is no field at this byte, or it is longer than its message. The end of the message is still known.
    NoField(u64),
    /// The file ends in the message at this byte.
    Cut(u64),
    /// A packed file unpacks to more than it can be expected to.
    Expands(u64),
    /// The file cannot be read from this byte on.
    Io(u64, io::Error),
}

/// The fields of a file. A caller descends into a message by reading its fields until the byte before which it ends.
pub(crate) struct MessageStream {
    file: UnpackedFile,
    buffer: Vec<u8>,
    /// Number of bytes at the start of the buffer that were read.
    start: usize,
    /// Place of the start of the buffer in the unpacked file, in bytes.
    offset: u64,
    /// Number of bytes that the file has at most.
    limit: u64,
    has_ended: bool,
}

impl MessageStream {
    /// Returns the fields of a file.
    pub(crate) fn new(file: UnpackedFile) -> Self {
        let limit = if file.is_packed() {
            file.max_unpacked_bytes()
        } else {
            file.num_file_bytes()
        };
        Self {
            file,
            buffer: Vec::new(),
            start: 0,
            offset: 0,
            limit,
            has_ended: false,
        }
    }

    /// Returns the file.
    pub(crate) fn file(&self) -> &UnpackedFile {
        &self.file
    }

    /// Returns the place of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.offset + count(self.start)
    }

    /// Returns the next field of a message that ends before the byte `end`, or `None` at its end.
    ///
    /// # Errors
    /// A [`StreamFault`].
    pub(crate) fn field(&mut self, end: u64) -> Result<Option<FieldHead>, StreamFault> {
        let at = self.position();
        if at >= end {
            return Ok(None);
        }
        self.fill(MAX_HEAD_BYTES)?;
        let filled = self.filled();
        if filled.is_empty() {
            // Only the file itself has no stated end.
            return if end == u64::MAX {
                Ok(None)
            } else {
                Err(StreamFault::Cut(at))
            };
        }
        let fault = if filled.len() < MAX_HEAD_BYTES {
            StreamFault::Cut(at)
        } else {
            StreamFault::NoField(at)
        };
        let mut head = FieldWalk::of(filled);
        let Some(tag) = head.varint() else {
            return Err(fault);
        };
        if tag >> 3 == 0 {
            return Err(StreamFault::NoField(at));
        }
        let value = match tag & 7 {
            0 => head.varint().map(HeadValue::Varint),
            2 => head.varint().map(HeadValue::Until),
            1 | 5 => Some(HeadValue::Fixed),
            _ => return Err(StreamFault::NoField(at)),
        };
        let Some(value) = value else {
            return Err(fault);
        };
        self.start += filled.len() - head.rest().len();
        let after = self.position();
        let value = match value {
            HeadValue::Until(num_bytes) => HeadValue::Until(after.saturating_add(num_bytes)),
            HeadValue::Fixed => {
                self.skip_to(after + if tag & 7 == 1 { 8 } else { 4 })?;
                HeadValue::Fixed
            }
            HeadValue::Varint(value) => HeadValue::Varint(value),
        };
        let field_end = match value {
            HeadValue::Until(end) => end,
            HeadValue::Varint(_) | HeadValue::Fixed => self.position(),
        };
        if field_end > end {
            return Err(StreamFault::NoField(at));
        }
        let number = tag >> 3;
        Ok(Some(FieldHead { number, value }))
    }

    /// Returns the bytes of a field that ends before the byte `end`; `None` if they are too many to be kept, and were
    /// skipped.
    ///
    /// # Errors
    /// [`StreamFault::Cut`] and faults of the file.
    pub(crate) fn bytes(&mut self, end: u64) -> Result<Option<&[u8]>, StreamFault> {
        let at = self.position();
        let num_bytes = end.saturating_sub(at);
        if end > self.limit {
            return Err(StreamFault::Cut(at));
        }
        if num_bytes > MAX_MESSAGE_BYTES {
            self.skip_to(end)?;
            return Ok(None);
        }
        let num_bytes = usize::try_from(num_bytes).unwrap_or(usize::MAX);
        self.fill(num_bytes)?;
        if self.filled().len() < num_bytes {
            return Err(StreamFault::Cut(at));
        }
        let first = self.start;
        self.start += num_bytes;
        Ok(Some(self.buffer.get(first..self.start).unwrap_or_default()))
    }

    /// Skips what is left before the byte `end`.
    ///
    /// # Errors
    /// [`StreamFault::Cut`] and faults of the file.
    pub(crate) fn skip_to(&mut self, end: u64) -> Result<(), StreamFault> {
        let at = self.position();
        let num_bytes = end.saturating_sub(at);
        let num_filled = count(self.filled().len());
        if num_bytes <= num_filled {
            self.start += usize::try_from(num_bytes).unwrap_or(usize::MAX);
            return Ok(());
        }
        if end > self.limit {
            return Err(StreamFault::Cut(at));
        }
        let skipped = self.file.skip(num_bytes - num_filled);
        skipped.map_err(|error| StreamFault::Io(at, error))?;
        self.offset = end;
        self.buffer.clear();
        self.start = 0;
        Ok(())
    }

    fn filled(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Reads until this number of bytes is there, or the file ends. The buffer grows only with bytes that are there.
    fn fill(&mut self, num_bytes: usize) -> Result<(), StreamFault> {
        while self.filled().len() < num_bytes && !self.has_ended {
            if self.start > 0 {
                self.offset += count(self.start);
                self.buffer.drain(..self.start);
                self.start = 0;
            }
            let mut next = self.file.by_ref().take(READ_BYTES);
            let read = next.read_to_end(&mut self.buffer);
            let at = self.offset + count(self.buffer.len());
            match read {
                Ok(0) => self.has_ended = true,
                Ok(_) if at > self.limit => return Err(StreamFault::Expands(at)),
                Ok(_) => {}
                // What was read before the fault is delivered first.
                Err(_) if self.filled().len() >= num_bytes => break,
                Err(error) => return Err(StreamFault::Io(at, error)),
            }
        }
        Ok(())
    }
}

fn count(num_bytes: usize) -> u64 {
    u64::try_from(num_bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use callgrove_source::{FileSystem, Input, MemoryFiles};

    use super::*;

    fn stream(bytes: &[u8]) -> MessageStream {
        let mut files = MemoryFiles::default();
        files.put("a.pb", bytes);
        let files: Arc<dyn FileSystem> = Arc::new(files);
        let input = Input::new(Path::new("a.pb"), &files);
        MessageStream::new(UnpackedFile::open(&input).unwrap())
    }

    #[test]
    fn messages_are_entered_and_skipped() {
        let mut file = vec![0x0A, 4, 0x08, 7, 0x12, 0, 0x12, 0x80, 0x80, 0x80, 1];
        file.resize(11 + (2 << 20), 3);
        file.extend([0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x28, 9]);
        let mut stream = stream(&file);
        let field = |number, value| Some(FieldHead { number, value });
        assert_eq!(
            stream.field(u64::MAX).unwrap(),
            field(1, HeadValue::Until(6))
        );
        assert_eq!(stream.field(6).unwrap(), field(1, HeadValue::Varint(7)));
        assert_eq!(stream.field(6).unwrap(), field(2, HeadValue::Until(6)));
        assert_eq!(stream.field(6).unwrap(), None);
        let end = 11 + (2 << 20);
        assert_eq!(
            stream.field(u64::MAX).unwrap(),
            field(2, HeadValue::Until(end))
        );
        stream.skip_to(end).unwrap();
        assert_eq!(stream.field(u64::MAX).unwrap(), field(3, HeadValue::Fixed));
        assert_eq!(
            stream.field(u64::MAX).unwrap(),
            field(5, HeadValue::Varint(9))
        );
        assert_eq!(stream.field(u64::MAX).unwrap(), None);
    }

    #[test]
    fn a_field_longer_than_its_message_is_a_fault_of_the_message() {
        let mut stream = stream(&[0x0A, 3, 0x12, 9, 0, 0x08, 1]);
        assert!(stream.field(u64::MAX).unwrap().is_some());
        assert!(matches!(stream.field(5), Err(StreamFault::NoField(2))));
        stream.skip_to(5).unwrap();
        assert!(stream.field(u64::MAX).unwrap().is_some());
    }

    #[test]
    fn a_file_that_ends_in_a_message_is_cut() {
        let mut stream = stream(&[0x0A, 9, 0x08, 1]);
        assert!(stream.field(u64::MAX).unwrap().is_some());
        assert!(stream.field(11).unwrap().is_some());
        assert!(matches!(stream.field(11), Err(StreamFault::Cut(4))));
        assert!(matches!(stream.skip_to(11), Err(StreamFault::Cut(4))));
    }
}
