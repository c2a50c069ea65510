//! The values of one row.

use callgrove_model::{CommKind, FuncEventKind, RankId, ThreadId, TimeNs};
use csv::ByteRecord;

use crate::columns::Columns;

/// The unit of timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

/// What a row says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RowEvent<'a> {
    Call(FuncEventKind, &'a str),
    Message(Message),
    /// An instant that is no message.
    Other,
}

/// A message sent or received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Message {
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

impl TimeUnit {
    pub(crate) const ALL: [Self; 4] = [
        Self::Nanoseconds,
        Self::Microseconds,
        Self::Milliseconds,
        Self::Seconds,
    ];

    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// Returns the number of decimal places of the unit that are whole nanoseconds.
    fn num_places(self) -> u32 {
        match self {
            Self::Nanoseconds => 0,
            Self::Microseconds => 3,
            Self::Milliseconds => 6,
            Self::Seconds => 9,
        }
    }

    /// Returns a decimal number of this unit in nanoseconds, without its fraction.
    fn parse(self, text: &str) -> Option<TimeNs> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        if digits.contains(['e', 'E']) {
            return self.of_real(text.parse().ok()?);
        }
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let places = self.num_places() as usize;
        let kept = fraction.bytes().chain(std::iter::repeat(b'0'));
        let mut ns: i64 = 0;
        for digit in whole.bytes().chain(kept.take(places)) {
            let digit = i64::from(digit.is_ascii_digit().then_some(digit - b'0')?);
            ns = ns.checked_mul(10)?.checked_add(digit)?;
        }
        let is_number = fraction.bytes().all(|it| it.is_ascii_digit());
        is_number.then_some(TimeNs(sign * ns))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    fn of_real(self, number: f64) -> Option<TimeNs> {
        let ns = (number * 10_f64.powi(i32::try_from(self.num_places()).ok()?)).trunc();
        (ns.abs() < 2_f64.powi(62)).then_some(TimeNs(ns as i64))
    }
}

impl<'a> Row<'a> {
    /// Returns the rank of a row without reading the rest of it.
    pub(crate) fn rank(record: &ByteRecord, columns: &Columns) -> Option<RankId> {
        match columns.process {
            None => Some(RankId(0)),
            Some(process) => Some(RankId(field(record, process)?.parse().ok()?)),
        }
    }

    /// Returns the row of a record, or `None` if it is invalid.
    pub(crate) fn of(record: &'a ByteRecord, columns: &Columns) -> Option<Self> {
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
            time: columns.unit.parse(field(record, columns.time)?)?,
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
    Some(RowEvent::Message(Message {
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
    fn times_of_all_units_become_nanoseconds_without_rounding() {
        let times = [
            (TimeUnit::Nanoseconds, "30083.086937435106", Some(30_083)),
            (
                TimeUnit::Nanoseconds,
                "1700000000123456789",
                Some(1_700_000_000_123_456_789),
            ),
            (TimeUnit::Microseconds, "1.5", Some(1_500)),
            (TimeUnit::Seconds, "0.1234567899", Some(123_456_789)),
            (TimeUnit::Seconds, "-2", Some(-2_000_000_000)),
            (TimeUnit::Seconds, "1.5e-3", Some(1_500_000)),
            (TimeUnit::Seconds, "99999999999999", None),
            (TimeUnit::Seconds, "nan", None),
            (TimeUnit::Seconds, "", None),
            (TimeUnit::Nanoseconds, "1.x", None),
        ];
        for (unit, text, expected) in times {
            assert_eq!(unit.parse(text), expected.map(TimeNs), "{text} {unit:?}");
        }
    }

    #[test]
    fn numbers_are_found_by_their_whole_key() {
        let text = "{'msg_tag_of': 'msg_tag', 'sender': 3, \"msg_tag\" : 10, 'x': 'msg_tag'}";
        assert_eq!(number(text, "sender"), Some(3));
        assert_eq!(number(text, "msg_tag"), Some(10));
        assert_eq!(number(text, "msg_length"), None);
    }
}
