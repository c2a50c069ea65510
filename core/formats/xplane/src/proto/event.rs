//! The fields of an event and of a stat.
//!
//! Numbers: `XEvent` and `XStat` of `xplane.proto`.

use callgrove_source::protobuf::{BadField, FieldValue, FieldWalk, signed};

/// The fields of an event, not copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlaneEvent<'a> {
    /// The number of its name in the table of the plane.
    pub(crate) name: i64,
    /// Begin in picoseconds after the start of the line; zero is not written.
    pub(crate) offset_ps: i64,
    pub(crate) duration_ps: i64,
    /// True if it states how often something occurred, and not when.
    pub(crate) is_count: bool,
    /// The bytes of the whole event, for its stats.
    bytes: &'a [u8],
}

/// The value of a stat, as far as it is of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatValue<'a> {
    Integer(i64),
    Text(&'a [u8]),
    /// The number of a text in the table of the plane.
    Reference(i64),
    Other,
}

impl<'a> PlaneEvent<'a> {
    /// Reads an event.
    ///
    /// # Errors
    /// [`BadField`].
    #[inline]
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Self, BadField> {
        let mut event = Self {
            bytes,
            ..Self::default()
        };
        for field in FieldWalk::of(bytes) {
            match field? {
                (1, FieldValue::Varint(value)) => event.name = signed(value),
                (2, FieldValue::Varint(value)) => event.offset_ps = signed(value),
                (3, FieldValue::Varint(value)) => event.duration_ps = signed(value),
                (5, FieldValue::Varint(_)) => event.is_count = true,
                _ => {}
            }
        }
        Ok(event)
    }

    /// Returns the stats: the number of the name of each, and its value. Those that are damaged are left out.
    pub(crate) fn stats(&self) -> impl Iterator<Item = (i64, StatValue<'a>)> + use<'a> {
        FieldWalk::of(self.bytes).filter_map(|field| match field {
            Ok((4, FieldValue::Bytes(bytes))) => stat(bytes).ok(),
            _ => None,
        })
    }
}

/// Returns the number of the name of a stat, and its value.
///
/// # Errors
/// [`BadField`].
pub(crate) fn stat(bytes: &[u8]) -> Result<(i64, StatValue<'_>), BadField> {
    let (mut name, mut stat) = (0, StatValue::Other);
    for field in FieldWalk::of(bytes) {
        match field? {
            (1, FieldValue::Varint(value)) => name = signed(value),
            (3 | 4, FieldValue::Varint(value)) => stat = StatValue::Integer(signed(value)),
            (5, FieldValue::Bytes(text)) => stat = StatValue::Text(text),
            (7, FieldValue::Varint(value)) => stat = StatValue::Reference(signed(value)),
            _ => {}
        }
    }
    Ok((name, stat))
}
