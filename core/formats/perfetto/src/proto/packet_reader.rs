//! The packets of a file, one after another, in bounded memory.

use std::io::{self, Read};

use callgrove_source::protobuf::FieldWalk;

/// Number of bytes that are read at once.
const READ_BYTES: u64 = 1 << 20;
/// Maximum size of the tag and the length of a packet, in bytes: two integers of variable length.
const MAX_HEAD_BYTES: usize = 20;
/// Maximum size of a packet in bytes. The tracer's buffers are smaller.
const MAX_PACKET_BYTES: u64 = 256 << 20;
/// Tag of a packet: field 1 with a length.
const PACKET_TAG: u64 = 0x0A;

/// The packets of an input.
pub(crate) struct PacketReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// Number of bytes at the start of the buffer that were read.
    start: usize,
    /// Place of the start of the buffer in the unpacked file, in bytes.
    offset: u64,
    /// Number of bytes that the source can have, from the beginning.
    limit: u64,
    has_ended: bool,
}

/// The reason why no more packets can be read.
#[derive(Debug)]
pub(crate) enum PacketFault {
    /// A packet is longer than the rest of the file.
    Cut(u64),
    /// There is no packet at this byte.
    NoPacket(u64),
    /// A packed file unpacks to more than it can be expected to.
    Expands(u64),
    /// The source failed.
    Io(u64, io::Error),
}

impl<R: Read> PacketReader<R> {
    /// Returns a reader of a source that has at most `limit` bytes.
    pub(crate) fn new(source: R, limit: u64) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            offset: 0,
            limit,
            has_ended: false,
        }
    }

    /// Returns the source.
    pub(crate) fn source(&self) -> &R {
        &self.source
    }

    /// Returns the number of bytes that were delivered.
    pub(crate) fn num_bytes_read(&self) -> u64 {
        self.offset + count(self.start)
    }

    /// Returns the next packet and its place in bytes, or `None` at the end.
    ///
    /// # Errors
    /// A [`PacketFault`], after which there are no more packets.
    pub(crate) fn next_packet(&mut self) -> Result<Option<(u64, &[u8])>, PacketFault> {
        loop {
            self.fill(MAX_HEAD_BYTES)?;
            let at = self.num_bytes_read();
            let filled = self.filled();
            if filled.is_empty() {
                return Ok(None);
            }
            let mut head = FieldWalk::of(filled);
            let (Some(tag), is_short) = (head.varint(), filled.len() < MAX_HEAD_BYTES) else {
                return Err(PacketFault::NoPacket(at));
            };
            let num_bytes = match tag & 7 {
                _ if tag >> 3 == 0 => return Err(PacketFault::NoPacket(at)),
                0 => head.varint().map(|_| 0),
                1 => Some(8),
                2 => head.varint(),
                5 => Some(4),
                _ => return Err(PacketFault::NoPacket(at)),
            };
            let Some(num_bytes) = num_bytes else {
                return Err(if is_short {
                    PacketFault::Cut(at)
                } else {
                    PacketFault::NoPacket(at)
                });
            };
            let head_bytes = filled.len() - head.rest().len();
            if num_bytes > self.limit.saturating_sub(at + count(head_bytes)) {
                return Err(PacketFault::Cut(at));
            }
            if num_bytes > MAX_PACKET_BYTES {
                return Err(PacketFault::NoPacket(at));
            }
            let num_bytes = usize::try_from(num_bytes).unwrap_or(usize::MAX);
            self.fill(head_bytes.saturating_add(num_bytes))?;
            if self.filled().len() < head_bytes.saturating_add(num_bytes) {
                return Err(PacketFault::Cut(at));
            }
            let first = self.start + head_bytes;
            self.start = first + num_bytes;
            if tag == PACKET_TAG {
                let packet = self.buffer.get(first..self.start).unwrap_or_default();
                return Ok(Some((at, packet)));
            }
        }
    }

    fn filled(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Reads until this number of bytes is there, or the source ends. The buffer grows only with bytes that are there.
    fn fill(&mut self, num_bytes: usize) -> Result<(), PacketFault> {
        while self.filled().len() < num_bytes && !self.has_ended {
            if self.start > 0 {
                self.offset += count(self.start);
                self.buffer.drain(..self.start);
                self.start = 0;
            }
            let mut next = self.source.by_ref().take(READ_BYTES);
            let read = next.read_to_end(&mut self.buffer);
            let at = self.offset + count(self.buffer.len());
            match read {
                Ok(0) => self.has_ended = true,
                Ok(_) if at > self.limit => return Err(PacketFault::Expands(at)),
                Ok(_) => {}
                // What was read before the fault is delivered first.
                Err(_) if self.filled().len() >= num_bytes => break,
                Err(error) => return Err(PacketFault::Io(at, error)),
            }
        }
        Ok(())
    }
}

/// Returns a number of bytes as the files count them.
fn count(num_bytes: usize) -> u64 {
    u64::try_from(num_bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(bytes: &[u8]) -> (Vec<Vec<u8>>, bool) {
        let mut reader = PacketReader::new(bytes, count(bytes.len()));
        let mut packets = Vec::new();
        loop {
            match reader.next_packet() {
                Ok(Some((_, packet))) => packets.push(packet.to_owned()),
                Ok(None) => return (packets, true),
                Err(_) => return (packets, false),
            }
        }
    }

    #[test]
    fn packets_are_read_and_other_fields_skipped() {
        let file = [0x0A, 2, 1, 2, 0x12, 1, 9, 0x18, 5, 0x0A, 0, 0x0A, 1, 7];
        let expected = vec![vec![1, 2], vec![], vec![7]];
        assert_eq!(packets(&file), (expected, true));
    }

    #[test]
    fn a_packet_longer_than_the_file_is_a_fault() {
        assert_eq!(packets(&[0x0A, 1, 7, 0x0A, 5, 1]), (vec![vec![7]], false));
        let huge = [0x0A, 1, 7, 0x0A, 255, 255, 255, 255, 255, 255, 255, 127];
        assert_eq!(packets(&huge), (vec![vec![7]], false));
    }

    #[test]
    fn a_packet_may_be_longer_than_what_is_read_at_once() {
        let mut file = vec![0x0A, 0x80, 0x80, 0x80, 2];
        file.resize(5 + (4 << 20), 3);
        file.extend([0x0A, 1, 7]);
        let (packets, is_whole) = packets(&file);
        assert_eq!(
            (packets[0].len(), packets[1].len(), is_whole),
            (4 << 20, 1, true)
        );
    }
}
