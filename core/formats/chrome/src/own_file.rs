//! Files that Callgrove wrote: what they state beyond what other writers do.
//!
//! The key `callgrove` before the events marks such a file. Instants of the category `callgrove` state messages,
//! collectives, writes of the tracer and metadata; an argument has the full name of a function; flows of the category
//! `launch` lead to launched calls. Findings, which are no part of the run, have a category of their own.

use callgrove_model::{CommKind, CounterId, RankId, ThreadId};

use crate::json::{JsonText, JsonValue};
use crate::rows::RowNumber;
use crate::trace_event::TraceEvent;

/// The category of findings.
const FINDING: &[u8] = b"callgrove_finding";
/// The category of flows to launched calls.
const LAUNCH: &[u8] = b"launch";

/// Something on a row at a time. Times are in nanoseconds since the time that the file states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OwnEvent {
    pub(crate) row: RowNumber,
    pub(crate) time_ns: i64,
    pub(crate) kind: OwnEventKind,
}

/// The kind of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OwnEventKind {
    /// The number of the thread of the row, at any time.
    Thread(ThreadId),
    /// A message, with the other rank, its tag, and its size in bytes.
    Message(CommKind, RankId, u64, u64),
    /// A sample of a counter.
    Counter(CounterId, u64),
    /// A call takes part in a collective: communicator and sequence.
    Collective(u64, u64),
    /// The tracer wrote its data for a number of nanoseconds.
    TracerWrite(i64),
    /// A key and a value that the lane reported.
    Metadata(String, String),
}

/// Returns whether an event is a finding.
pub(crate) fn is_finding(event: &TraceEvent<'_>) -> bool {
    event.category.raw() == FINDING
}

/// Returns whether a flow leads to a launched call.
pub(crate) fn is_own_launch(event: &TraceEvent<'_>) -> bool {
    event.category.raw() == LAUNCH
}

/// Returns the full name of a function.
pub(crate) fn full_name<'a>(event: &TraceEvent<'a>) -> JsonText<'a> {
    let mut name = event.name;
    event.arguments(|key, value| {
        if let (b"function", JsonValue::Text(text)) = (key, value) {
            name = text;
        }
    });
    name
}

/// Returns a number among the arguments, or zero.
pub(crate) fn argument(event: &TraceEvent<'_>, name: &str) -> u64 {
    let mut number = 0;
    event.arguments(|key, value| {
        let text = value.plain().and_then(|it| std::str::from_utf8(it).ok());
        if key == name.as_bytes() {
            number = text.and_then(|it| it.parse().ok()).unwrap_or(0);
        }
    });
    number
}

/// Returns what an instant states.
pub(crate) fn instant_facts(event: &TraceEvent<'_>) -> Vec<OwnEventKind> {
    let number = |name| argument(event, name);
    let message = |kind, peer| {
        let partner = RankId(u32::try_from(number(peer)).unwrap_or(u32::MAX));
        OwnEventKind::Message(kind, partner, number("tag"), number("bytes"))
    };
    match event.name.raw() {
        b"MPI_Send" => vec![message(CommKind::Send, "dst")],
        b"MPI_Recv" => vec![message(CommKind::Recv, "src")],
        b"collective" => vec![OwnEventKind::Collective(
            number("communicator"),
            number("sequence"),
        )],
        b"tracer write" => {
            let duration_ns = i64::try_from(number("duration_ns")).unwrap_or(0);
            vec![OwnEventKind::TracerWrite(duration_ns)]
        }
        b"metadata" => {
            let mut entries = Vec::new();
            event.arguments(|key, value| {
                if let JsonValue::Text(value) = value {
                    let key = JsonText::new(key, !key.contains(&b'\\')).decoded().text;
                    let value = value.decoded().text.into_owned();
                    entries.push(OwnEventKind::Metadata(key.into_owned(), value));
                }
            });
            entries
        }
        _ => Vec::new(),
    }
}
