//! The fields of a packet.
//!
//! Numbers: `protos/perfetto/trace/trace_packet.proto` of Perfetto.

use callgrove_source::protobuf::{BadField, FieldValue, FieldWalk};

/// Flag of a packet: the state of its sequence begins again.
const STATE_CLEARED: u64 = 1;
/// Flag of a packet: it cannot be read without the state of its sequence.
const NEEDS_STATE: u64 = 2;

/// The fields of a packet, not copied.
#[derive(Clone, Copy, Default, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the format")]
pub(crate) struct TracePacket<'a> {
    /// Its time, in units of its clock.
    pub(crate) num_units: Option<u64>,
    pub(crate) clock: Option<u64>,
    pub(crate) sequence: u64,
    pub(crate) clears_state: bool,
    pub(crate) needs_state: bool,
    pub(crate) is_after_loss: bool,
    pub(crate) is_first: bool,
    pub(crate) event: Option<&'a [u8]>,
    pub(crate) track: Option<&'a [u8]>,
    pub(crate) interned: Option<&'a [u8]>,
    pub(crate) defaults: Option<&'a [u8]>,
    pub(crate) clocks: Option<&'a [u8]>,
    pub(crate) process: Option<&'a [u8]>,
    pub(crate) thread: Option<&'a [u8]>,
    pub(crate) process_tree: Option<&'a [u8]>,
    pub(crate) system: Option<&'a [u8]>,
    pub(crate) deflated: Option<&'a [u8]>,
    pub(crate) zstd: Option<&'a [u8]>,
}

impl<'a> TracePacket<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// [`BadField`].
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Self, BadField> {
        let mut packet = Self::default();
        for field in FieldWalk::of(bytes) {
            match field? {
                (number, FieldValue::Varint(value)) => packet.set_number(number, value),
                (number, FieldValue::Bytes(bytes)) => {
                    if let Some(place) = packet.place_of(number) {
                        *place = Some(bytes);
                    }
                }
                _ => {}
            }
        }
        Ok(packet)
    }

    #[inline]
    fn set_number(&mut self, number: u64, value: u64) {
        match number {
            8 => self.num_units = Some(value),
            10 => self.sequence = value,
            13 => {
                self.clears_state |= value & STATE_CLEARED != 0;
                self.needs_state |= value & NEEDS_STATE != 0;
            }
            41 => self.clears_state |= value != 0,
            42 => self.is_after_loss = value != 0,
            58 => self.clock = Some(value).filter(|it| *it != 0),
            87 => self.is_first = value != 0,
            _ => {}
        }
    }

    #[inline]
    fn place_of(&mut self, number: u64) -> Option<&mut Option<&'a [u8]>> {
        Some(match number {
            2 => &mut self.process_tree,
            6 => &mut self.clocks,
            11 => &mut self.event,
            12 => &mut self.interned,
            43 => &mut self.process,
            44 => &mut self.thread,
            45 => &mut self.system,
            50 => &mut self.deflated,
            59 => &mut self.defaults,
            60 => &mut self.track,
            133 => &mut self.zstd,
            _ => return None,
        })
    }
}

/// Returns whether bytes begin with a packet. A packet that continues after the bytes counts if its first part is
/// valid.
pub(crate) fn begins_with_packet(bytes: &[u8], num_file_bytes: u64) -> bool {
    let mut head = FieldWalk::of(bytes);
    if head.varint() != Some(0x0A) {
        return false;
    }
    let Some(num_bytes) = head.varint().filter(|it| (1..num_file_bytes).contains(it)) else {
        return false;
    };
    let rest = head.rest();
    let whole = usize::try_from(num_bytes)
        .ok()
        .and_then(|num| rest.split_at_checked(num));
    let (packet, next) = whole.unwrap_or((rest, &[]));
    if next.first().is_some_and(|tag| *tag != 0x0A) {
        return false;
    }
    let mut has_known = false;
    for field in FieldWalk::of(packet) {
        // A field that is cut by the end of the bytes is not damage.
        let Ok((number, value)) = field else {
            return has_known && whole.is_none();
        };
        match (number, value) {
            (3 | 8 | 10 | 13 | 41 | 42 | 58 | 79 | 87 | 98, FieldValue::Varint(_))
            | (
                1 | 2 | 6 | 11 | 12 | 33 | 35 | 36 | 43 | 44 | 45 | 50 | 59 | 60 | 133,
                FieldValue::Bytes(_),
            ) => has_known = true,
            (3 | 8 | 10 | 13 | 79 | 1 | 2 | 6 | 11 | 12 | 33 | 36 | 59 | 60, _)
            | (_, FieldValue::Other) => return false,
            _ => {}
        }
    }
    has_known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_recognized_by_its_first_packet() {
        for (bytes, expected) in [
            // Sequence 1 and flags.
            (&[0x0A, 4, 0x50, 1, 0x68, 1][..], true),
            (&[0x0A, 4, 0x50, 1, 0x68, 1, 0x0A], true),
            (&[0x0A, 4, 0x50, 1, 0x68, 1, b'x'], false),
            // A packet that is longer than the bytes that are looked at.
            (&[0x0A, 100, 0x50, 1, 0x5A, 90, 1], true),
            (b"\n{\"traceEvents\": []}", false),
            (b"\n\n# comment\nname,value\n", false),
            (b"\nTimestamp (ns),Event Type,Name\n", false),
            (&[0x0A, 2, 0x55, 1], false),
            (&[0x0A, 0], false),
            (&[0x0A], false),
            (&[], false),
        ] {
            assert_eq!(begins_with_packet(bytes, 1000), expected, "{bytes:?}");
        }
    }
}
