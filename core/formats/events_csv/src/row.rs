//! The values of one row.

use callgrove_model::{CommKind, FuncEventKind, RankId, ThreadId, TimeNs};
use csv::ByteRecord;

use crate::columns::CsvColumns;

/// The event in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RowEvent<'a> {
    Call(FuncEventKind, &'a str),
    Message(MessageRow),
    /// An instant that is no message.
    Other,
}

/// A message sent or received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MessageRow {
    pub(crate) kind: CommKind,
    pub(crate) partner: RankId,
    pub(crate) tag: u64,
    pub(crate) num_bytes: u64,
}

/// A valid row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) time: TimeNs,
    pub(crate) rank: RankId,
    pub(crate) thread: ThreadId,
    pub(crate) event: RowEvent<'a>,
}

impl<'a> Row<'a> {
    /// Returns the rank of a row without reading the rest of it.
    pub(crate) fn rank(record: &ByteRecord, columns: &CsvColumns) -> Option<RankId> {
        match columns.process {
            None => Some(RankId(0)),
            Some(process) => Some(RankId(field(record, process)?.parse().ok()?)),
        }
    }

    /// Returns the row of a record, or `None` if it is invalid.
    pub(crate) fn of(record: &'a ByteRecord, columns: &CsvColumns) -> Option<Self> {
        let name = field(record, columns.name)?;
        let event = match field(record, columns.event_type)? {
            _ if name.is_empty() => return None,
            "Enter" => RowEvent::Call(FuncEventKind::Entry, name),
            "Leave" => RowEvent::Call(FuncEventKind::Exit, name),
            "Instant" => instant(name, columns.attributes.and_then(|at| field(record, at)))?,
            _ => return None,
        };
        let thread = columns.thread.map_or(Some(0), |thread| {
            let thread = field(record, thread)?;
            // Pandas writes whole numbers of a column with gaps as `0.0`.
            thread.strip_suffix(".0").unwrap_or(thread).parse().ok()
        });
        Some(Self {
            time: columns.unit.parse(field(record, columns.time_column)?)?,
            rank: Self::rank(record, columns)?,
            thread: ThreadId(thread?),
            event,
        })
    }
}

fn field(record: &ByteRecord, column: usize) -> Option<&str> {
    std::str::from_utf8(record.get(column)?).ok()
}

/// Returns the message of an instant; `None` if it has no partner.
fn instant<'a>(name: &str, attributes: Option<&str>) -> Option<RowEvent<'a>> {
    let (kind, partner) = match name {
        "MpiSend" | "MpiIsend" => (CommKind::Send, "receiver"),
        "MpiRecv" | "MpiIrecv" => (CommKind::Recv, "sender"),
        _ => return Some(RowEvent::Other),
    };
    let number = |key| number(attributes?, key);
    Some(RowEvent::Message(MessageRow {
        kind,
        partner: RankId(u32::try_from(number(partner)?).ok()?),
        tag: number("msg_tag").unwrap_or_default(),
        num_bytes: number("msg_length").unwrap_or_default(),
    }))
}

/// Returns the whole number of a key in the text of a dictionary, with quotes of Python or JSON.
fn number(attributes: &str, key: &str) -> Option<u64> {
    let mut rest = attributes;
    loop {
        rest = &rest[rest.find(key)?..];
        let after = &rest[key.len()..];
        let after_quote = after.strip_prefix('\'').or(after.strip_prefix('"'));
        let value = after_quote.and_then(|after| after.trim_start().strip_prefix(':'));
        if let Some(value) = value {
            let value = value.trim_start();
            let end = value.find(|it: char| !it.is_ascii_digit());
            return value[..end.unwrap_or(value.len())].parse().ok();
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_whole_key() {
        let text = "{'msg_tag_of': 'msg_tag', 'sender': 3, \"msg_tag\" : 10, 'x': 'msg_tag'}";
        assert_eq!(number(text, "sender"), Some(3));
        assert_eq!(number(text, "msg_tag"), Some(10));
        assert_eq!(number(text, "msg_length"), None);
    }
}
