//! Files that Callgrove wrote: facts that other writers do not state.
//!
//! The key `callgrove` before the events marks such a file. Instants of the category `callgrove` state messages,
//! collectives, writes of the tracer and metadata; an argument has the full name of a function; flows of the category
//! `launch` lead to launched calls. Findings, which are not part of the run, have a category of their own.

use callgrove_model::{CommKind, CounterId, RankId, ThreadId};
use callgrove_source::EventPieces;

use super::rows::RowNumber;
use crate::events::TraceEvent;
use crate::json::{JsonText, JsonValue};

/// The category of findings.
const FINDING: &[u8] = b"callgrove_finding";
/// The category of flows to launched calls.
const LAUNCH: &[u8] = b"launch";

/// The facts that a file states about its rows. Times are in nanoseconds since the base time of the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OwnEvents {
    pub(crate) messages: EventPieces<OwnMessage>,
    pub(crate) samples: EventPieces<OwnSample>,
    /// Events of rarer kinds.
    pub(crate) others: Vec<OwnEvent>,
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnMessage {
    pub(crate) row: RowNumber,
    pub(crate) time_ns: i64,
    pub(crate) kind: CommKind,
    pub(crate) partner: RankId,
    pub(crate) tag: u64,
    pub(crate) num_bytes: u64,
}

/// A sample of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnSample {
    pub(crate) row: RowNumber,
    pub(crate) time_ns: i64,
    pub(crate) counter: CounterId,
    pub(crate) value: u64,
}

/// An event on a row at a time.
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
    /// A call takes part in a collective: communicator and sequence.
    Collective(u64, u64),
    /// A call moves a number of bytes.
    Size(u64),
    /// A call waits for the stream on a thread, or for all streams.
    DeviceWait(Option<ThreadId>),
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
        if key == name.as_bytes() {
            number = number_of(value);
        }
    });
    number
}

/// Returns the thread among the arguments, if there is one.
fn thread_argument(event: &TraceEvent<'_>) -> Option<ThreadId> {
    let mut thread = None;
    event.arguments(|key, value| {
        if key == b"thread" {
            thread = u32::try_from(number_of(value)).ok().map(ThreadId);
        }
    });
    thread
}

fn number_of(value: JsonValue<'_>) -> u64 {
    let text = value.plain().and_then(|it| std::str::from_utf8(it).ok());
    text.and_then(|it| it.parse().ok()).unwrap_or(0)
}

impl OwnEvents {
    /// Processes the facts that an instant states.
    pub(crate) fn add_instant(&mut self, event: &TraceEvent<'_>, row: RowNumber, time_ns: i64) {
        let mut push = |kind| self.others.push(OwnEvent { row, time_ns, kind });
        match event.name.raw() {
            b"MPI_Send" => self.add_message(event, (row, time_ns), (CommKind::Send, b"dst")),
            b"MPI_Recv" => self.add_message(event, (row, time_ns), (CommKind::Recv, b"src")),
            b"collective" => push(OwnEventKind::Collective(
                argument(event, "communicator"),
                argument(event, "sequence"),
            )),
            b"size" => push(OwnEventKind::Size(argument(event, "bytes"))),
            b"device wait" => push(OwnEventKind::DeviceWait(thread_argument(event))),
            b"tracer write" => {
                let duration_ns = i64::try_from(argument(event, "duration_ns")).unwrap_or(0);
                push(OwnEventKind::TracerWrite(duration_ns));
            }
            b"metadata" => event.arguments(|key, value| {
                if let JsonValue::Text(value) = value {
                    let key = JsonText::new(key, !key.contains(&b'\\')).decoded().text;
                    let value = value.decoded().text.into_owned();
                    push(OwnEventKind::Metadata(key.into_owned(), value));
                }
            }),
            _ => {}
        }
    }

    /// Processes a sample of a counter.
    pub(crate) fn add_sample(
        &mut self,
        event: &TraceEvent<'_>,
        row: RowNumber,
        time_ns: i64,
        counter: CounterId,
    ) {
        self.samples.push(OwnSample {
            row,
            time_ns,
            counter,
            value: argument(event, "value"),
        });
    }

    fn add_message(
        &mut self,
        event: &TraceEvent<'_>,
        (row, time_ns): (RowNumber, i64),
        (kind, peer): (CommKind, &[u8]),
    ) {
        let mut message = OwnMessage {
            row,
            time_ns,
            kind,
            partner: RankId(0),
            tag: 0,
            num_bytes: 0,
        };
        event.arguments(|key, value| match key {
            b"tag" => message.tag = number_of(value),
            b"bytes" => message.num_bytes = number_of(value),
            _ if key == peer => {
                message.partner = RankId(u32::try_from(number_of(value)).unwrap_or(u32::MAX));
            }
            _ => {}
        });
        self.messages.push(message);
    }
}
