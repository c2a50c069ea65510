//! The chunks of a file, and the records in them.
//!
//! Chunk k begins at k times the size of chunks. It has a head of 18 bytes: 3, byte order, and the numbers of its first
//! and last event (8 each). Records never cross chunks, and each chunk of events begins with a time. A zero fills the
//! rest of a chunk.
//!
//! A record is its kind, its length (one byte, or 255 and eight bytes) and its values. Later versions append values,
//! so a reader continues at the end of the record, however much of it was read. Ten kinds of events have no length, but
//! one compressed value.
//!
//! Source: OTF2 3.0.2, `src/OTF2_Buffer.c`, `src/OTF2_EvtReader.c`.

use std::io::{self, Read};

use crate::anchor::START;
use crate::bytes::{ByteOrder, ByteReader};

/// Size of the head of a chunk, in bytes.
const HEAD_BYTES: usize = 18;
/// The largest kind that ends a chunk: 0 fills it, 1 ends the buffer, 2 the file.
const LAST_END: u8 = 2;
/// The kind of a record that holds the time of the events after it.
pub(crate) const TIMESTAMP: u8 = 5;
/// The kind of a record that holds attributes of the event after it.
pub(crate) const ATTRIBUTES: u8 = 6;
/// The length of a record whose length follows in eight bytes.
const LONG: u8 = 0xFF;

/// Number of bytes of events that are read at once. Chunks have up to 16 MB, and each location of a process has one.
const PIECE_BYTES: usize = 64 << 10;

/// A file that is read chunk by chunk.
pub(crate) struct Chunks<R> {
    file: R,
    chunk_bytes: usize,
    /// Number of bytes that are read at once.
    piece_bytes: usize,
    /// Offset of the current chunk in the file.
    offset: u64,
    /// Number of bytes of the current chunk that were not read.
    num_unread: usize,
    /// Number of bytes that were read.
    pub(crate) num_bytes_read: u64,
    buffer: Vec<u8>,
}

/// The records of one chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Records<'a> {
    bytes: ByteReader<'a>,
}

/// The next record of a chunk.
pub(crate) enum Record<'a> {
    /// A record: its kind and values.
    Of(u8, ByteReader<'a>),
    /// The chunk has no more records.
    End,
    /// The rest of the chunk is damaged.
    Damaged,
}

impl<R: Read> Chunks<R> {
    /// Returns the chunks of a file, each of which is read as a whole.
    pub(crate) fn new(file: R, chunk_bytes: usize) -> Self {
        Self {
            file,
            chunk_bytes,
            piece_bytes: chunk_bytes,
            offset: 0,
            num_unread: 0,
            num_bytes_read: 0,
            buffer: Vec::new(),
        }
    }

    /// Returns the chunks of a file, which are read in pieces.
    pub(crate) fn in_pieces(file: R, chunk_bytes: usize) -> Self {
        Self {
            piece_bytes: chunk_bytes.min(PIECE_BYTES),
            ..Self::new(file, chunk_bytes)
        }
    }

    /// Reads the next chunk, or its first piece; returns false at the end of the file.
    pub(crate) fn advance(&mut self) -> io::Result<bool> {
        let rest = u64::try_from(self.num_unread).unwrap_or(u64::MAX);
        self.num_bytes_read += io::copy(&mut self.file.by_ref().take(rest), &mut io::sink())?;
        self.offset = self.num_bytes_read;
        self.num_unread = self.chunk_bytes;
        self.read_on(0)
    }

    /// Reads the next piece of the chunk after the last `num_kept` bytes, which are kept. Returns false at the end of
    /// the chunk.
    pub(crate) fn read_on(&mut self, num_kept: usize) -> io::Result<bool> {
        let num_passed = self.buffer.len().saturating_sub(num_kept);
        self.buffer.drain(..num_passed);
        let wanted = self.piece_bytes.min(self.num_unread);
        let limit = u64::try_from(wanted).unwrap_or(u64::MAX);
        let before = self.buffer.len();
        let mut piece = self.file.by_ref().take(limit);
        piece.read_to_end(&mut self.buffer)?;
        let num_read = self.buffer.len() - before;
        self.num_unread = if num_read < wanted {
            0
        } else {
            self.num_unread - num_read
        };
        self.num_bytes_read += u64::try_from(num_read).unwrap_or_default();
        Ok(num_read > 0)
    }

    /// Returns the bytes of the current chunk, or of its current piece.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Returns the offset of the current chunk in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

impl<'a> Records<'a> {
    /// Returns the records of a chunk; `None` if its head is damaged.
    pub(crate) fn of_chunk(chunk: &'a [u8]) -> Option<Self> {
        let (head, records) = chunk.split_at_checked(HEAD_BYTES)?;
        let order = ByteOrder::of(head[1])?;
        let bytes = ByteReader::new(records, order);
        (head[0] == START).then_some(Self { bytes })
    }

    /// Returns the number of events that the head of a chunk states; `None` if it states none.
    pub(crate) fn stated_events(chunk: &[u8]) -> Option<u64> {
        let (head, _) = chunk.split_at_checked(HEAD_BYTES)?;
        let mut numbers = ByteReader::new(&head[2..], ByteOrder::of(head[1])?);
        let (first, last) = (numbers.full_u64()?, numbers.full_u64()?);
        last.checked_sub(first)?.checked_add(1)
    }

    /// Returns the records of a piece of a chunk, after its head.
    pub(crate) fn of_piece(bytes: ByteReader<'a>) -> Self {
        Self { bytes }
    }

    /// Returns the number of bytes that are left.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the byte order.
    pub(crate) fn order(&self) -> ByteOrder {
        self.bytes.order()
    }

    /// Returns the next record of definitions.
    pub(crate) fn next_definition(&mut self) -> Record<'a> {
        match self.kind() {
            None => Record::End,
            Some(kind) => self.with_length(kind),
        }
    }

    /// Returns the next record of events.
    #[inline]
    pub(crate) fn next_event(&mut self) -> Record<'a> {
        let Some(kind) = self.kind() else {
            return Record::End;
        };
        let values = match kind {
            TIMESTAMP => self.bytes.take(8),
            12 | 13 | 16 | 17 | 20 | 21 | 24 | 28..=30 => self.one_value(),
            _ => return self.with_length(kind),
        };
        values.map_or(Record::Damaged, |values| Record::Of(kind, values))
    }

    /// Returns the kind of the next record; `None` at the end of the chunk.
    #[inline]
    fn kind(&mut self) -> Option<u8> {
        let kind = self.bytes.u8()?;
        (kind > LAST_END).then_some(kind)
    }

    /// Returns the bytes of one compressed value.
    #[inline]
    fn one_value(&mut self) -> Option<ByteReader<'a>> {
        let mut rest = self.bytes;
        rest.u64()?;
        self.bytes.take(self.bytes.len() - rest.len())
    }

    fn with_length(&mut self, kind: u8) -> Record<'a> {
        let mut values = || {
            let length = match self.bytes.u8()? {
                LONG => usize::try_from(self.bytes.full_u64()?).ok()?,
                length => usize::from(length),
            };
            self.bytes.take(length)
        };
        values().map_or(Record::Damaged, |values| Record::Of(kind, values))
    }
}
