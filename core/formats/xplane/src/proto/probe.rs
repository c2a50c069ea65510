//! The start of an XPlane file.

use callgrove_source::protobuf::{FieldValue, FieldWalk};

/// Tag of a plane: field 1 with a length.
const PLANE_TAG: u64 = 0x0A;
/// Maximum length of the name of a plane in bytes. Names are such as `/device:TPU:0 SparseCore 1`.
const MAX_NAME_BYTES: u64 = 256;

/// Returns whether bytes begin with a plane: a message with a number, if any, a name of printable text, and after it a
/// line or a table, if any. A packet of Perfetto has no printable text at that position, but a message. What follows may
/// be damaged, which is reported when it is read.
pub(crate) fn begins_with_plane(bytes: &[u8]) -> bool {
    let mut head = FieldWalk::of(bytes);
    if head.varint() != Some(PLANE_TAG) {
        return false;
    }
    let Some(num_bytes) = head.varint().filter(|it| *it > 0) else {
        return false;
    };
    let rest = head.rest();
    let whole = usize::try_from(num_bytes)
        .ok()
        .and_then(|num| rest.get(..num));
    let mut fields = FieldWalk::of(whole.unwrap_or(rest));
    loop {
        match fields.next() {
            Some(Ok((1, FieldValue::Varint(_)))) => {}
            Some(Ok((2, FieldValue::Bytes(name)))) if is_name(name) => break,
            _ => return false,
        }
    }
    match fields.rest().first() {
        // A line, an entry of a table of events or stats, or a stat.
        Some(tag) => matches!(tag, 0x1A | 0x22 | 0x2A | 0x32),
        None => true,
    }
}

fn is_name(name: &[u8]) -> bool {
    let is_short = u64::try_from(name.len()).is_ok_and(|it| (1..=MAX_NAME_BYTES).contains(&it));
    is_short && std::str::from_utf8(name).is_ok_and(|name| !name.contains(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_has_a_name_and_then_lines_or_tables() {
        for (bytes, expected) in [
            (&b"\x0A\x0B\x12\x09/host:CPU"[..], true),
            (b"\x0A\x0D\x08\x02\x12\x09/host:CPU", true),
            (b"\x0A\x0F\x12\x09/host:CPU\x1A\x02\x08\x01", true),
            (b"\x0A\x7F\x12\x09/host:CPU\x1A\x70\x08", true),
            // A packet of Perfetto with a tree of processes, and one with a sequence.
            (b"\x0A\x06\x12\x04\x0A\x02\x08\x01", false),
            (b"\x0A\x04\x50\x01\x68\x01", false),
            (b"\x0A\x0B\x12\x09/host\nCPU", false),
            (b"\x0A\x0D\x12\x09/host:CPU\x38\x01", false),
            (b"\n{\"traceEvents\": []}", false),
            (b"", false),
        ] {
            assert_eq!(begins_with_plane(bytes), expected, "{bytes:?}");
        }
    }
}
