//! The fields of one event.

use crate::json::{JsonCursor, JsonFault, JsonText, JsonValue};

/// An event as it is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TraceEvent<'a> {
    /// Its kind (`ph`); 0 if it has none.
    pub(crate) phase: u8,
    pub(crate) name: JsonText<'a>,
    pub(crate) category: JsonText<'a>,
    pub(crate) process: JsonValue<'a>,
    pub(crate) thread: JsonValue<'a>,
    /// Time of its beginning (`ts`), in microseconds.
    pub(crate) begin: JsonValue<'a>,
    /// Its duration (`dur`), in microseconds.
    pub(crate) length: JsonValue<'a>,
    /// Joins the events of a flow or of an asynchronous call: `id` or `id2`.
    pub(crate) id: JsonValue<'a>,
    /// Joins calls by flows (`bind_id`).
    pub(crate) bind_id: JsonValue<'a>,
    /// True if the flow of `bind_id` ends here; true if it begins here.
    pub(crate) flow: (bool, bool),
    /// An object with its brackets, or nothing.
    pub(crate) args: &'a [u8],
}

impl<'a> TraceEvent<'a> {
    /// Reads an event.
    pub(crate) fn parse(cursor: &mut JsonCursor<'a>) -> Result<Self, JsonFault> {
        let mut event = Self::default();
        cursor.members(|key, value| match (key, value) {
            (b"ph", JsonValue::Text(text)) => {
                event.phase = text.raw().first().copied().unwrap_or_default();
            }
            (b"name", JsonValue::Text(text)) => event.name = text,
            (b"cat", JsonValue::Text(text)) => event.category = text,
            (b"pid", _) => event.process = value,
            (b"tid", _) => event.thread = value,
            (b"ts", _) => event.begin = value,
            (b"dur", _) => event.length = value,
            (b"id" | b"id2", _) => event.id = value,
            (b"bind_id", _) => event.bind_id = value,
            (b"flow_in", _) => event.flow.0 = value.is_true(),
            (b"flow_out", _) => event.flow.1 = value.is_true(),
            (b"args", JsonValue::Nested(args)) => event.args = args,
            _ => {}
        })?;
        Ok(event)
    }

    /// Calls `each` with every key and value of the arguments.
    pub(crate) fn arguments(&self, each: impl FnMut(&'a [u8], JsonValue<'a>)) {
        // Damaged arguments are left out; the brackets match.
        let _damage = JsonCursor::new(self.args).members(each);
    }
}
