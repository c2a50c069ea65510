//! Messages of protobuf, written field by field.
//!
//! A nested message is preceded by its length. One byte is reserved for the length, which suffices for most messages;
//! longer ones are moved.

/// Wire type of an integer of variable length.
const VARINT: u64 = 0;
/// Wire type of eight bytes.
const FIXED64: u64 = 1;
/// Wire type of a length and that number of bytes.
const BYTES: u64 = 2;

/// Messages that are being written.
#[derive(Default)]
pub(super) struct ProtoWriter {
    bytes: Vec<u8>,
}

impl ProtoWriter {
    /// Returns the output.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Clears the output.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    #[inline]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            let [low, ..] = value.to_le_bytes();
            self.bytes.push(low | 0x80);
            value >>= 7;
        }
        let [low, ..] = value.to_le_bytes();
        self.bytes.push(low);
    }

    /// Adds an integer.
    #[inline]
    pub(super) fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | VARINT);
        self.varint(value);
    }

    /// Adds an integer of eight bytes.
    pub(super) fn fixed(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | FIXED64);
        self.bytes.extend(value.to_le_bytes());
    }

    /// Adds a text.
    pub(super) fn text(&mut self, field: u64, text: &str) {
        self.message(field, |it| it.bytes.extend(text.as_bytes()));
    }

    /// Adds a message.
    #[inline]
    pub(super) fn message(&mut self, field: u64, fill: impl FnOnce(&mut Self)) {
        self.varint(field << 3 | BYTES);
        let at = self.bytes.len();
        self.bytes.push(0);
        fill(self);
        let length = self.bytes.len() - at - 1;
        match u8::try_from(length) {
            Ok(short) if short < 0x80 => {
                if let Some(place) = self.bytes.get_mut(at) {
                    *place = short;
                }
            }
            _ => {
                let mut prefix = Self::default();
                prefix.varint(u64::try_from(length).unwrap_or(u64::MAX));
                self.bytes.splice(at..=at, prefix.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_all_sizes_precede_their_messages() {
        let mut writer = ProtoWriter::default();
        writer.message(1, |it| {
            it.number(8, 300);
            it.message(2, |it| it.fixed(1, 1));
        });
        let expected = [0x0A, 14, 0x40, 0xAC, 2, 0x12, 9, 9, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(writer.bytes(), expected);
        writer.clear();
        writer.text(3, &"x".repeat(128));
        assert_eq!(writer.bytes()[..4], [0x1A, 0x80, 1, b'x']);
        assert_eq!(writer.bytes().len(), 131);
    }
}
