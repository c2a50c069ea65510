//! The needed arguments of calls: the launch of a call, and the collective in which it takes part.

use callgrove_model::{CommKind, RankId};

use super::trace_event::TraceEvent;
use crate::json::JsonValue;

/// The communicator of calls that state none.
pub(crate) const UNSTATED_COMMUNICATOR: u64 = 0;
/// The communicator of exchanges of all with all that state none.
pub(crate) const UNSTATED_EXCHANGE: u64 = 1;
/// Width of the tag below the number of its communicator, in bits.
const TAG_BITS: u32 = 32;

/// The collective that a call takes part in, as its arguments state it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CollectiveFacts {
    /// Identifies the process group; 0 if it is unknown.
    pub(crate) communicator: u64,
    /// The number of the operation in its group.
    pub(crate) sequence: Option<u64>,
    /// True if the operation has a source or a destination, so that it is not a collective.
    pub(crate) is_point_to_point: bool,
    /// The message that the operation sends or receives.
    pub(crate) message: Option<PartnerMessage>,
    /// Number of bytes that the operation takes or gives, if its elements are stated.
    pub(crate) num_bytes: Option<u64>,
    /// True if there was any such argument.
    pub(crate) is_stated: bool,
}

/// A message that an operation sends or receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PartnerMessage {
    pub(crate) kind: CommKind,
    /// The other rank, among those of the job.
    pub(crate) partner: RankId,
    /// The number of the process group, as the communicator of a tag.
    pub(crate) tag: u64,
}

/// Arguments of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CallArguments {
    /// Joins work on a GPU with the call that launched it.
    pub(crate) correlation: Option<i64>,
    /// Joins a kernel with the operation that it belongs to.
    pub(crate) external_id: Option<i64>,
    pub(crate) collective: CollectiveFacts,
    /// Number of bytes that a copy or a memory set moves.
    pub(crate) num_bytes: Option<u64>,
    pub(crate) device: Option<u64>,
    /// The stream of a synchronisation.
    pub(crate) stream: Option<u64>,
    /// The stream whose event a synchronisation waits for.
    pub(crate) awaited_stream: Option<u64>,
}

impl CallArguments {
    /// Returns the arguments of a call.
    pub(crate) fn of(event: &TraceEvent<'_>) -> Self {
        let mut arguments = Self::default();
        let mut group = ProcessGroup::default();
        event.arguments(|key, value| match key {
            b"correlation" => arguments.correlation = value.integer(),
            b"External id" | b"external id" => arguments.external_id = value.integer(),
            b"bytes" => arguments.num_bytes = count(value),
            b"device" => arguments.device = count(value),
            b"stream" => arguments.stream = stream(value),
            b"wait_on_stream" => arguments.awaited_stream = stream(value),
            _ => group.add(key, value),
        });
        arguments.collective = group.facts();
        arguments
    }
}

fn count(value: JsonValue<'_>) -> Option<u64> {
    value.integer().and_then(|it| u64::try_from(it).ok())
}

/// Returns the number of a stream; none for that of no stream in 32 bits.
fn stream(value: JsonValue<'_>) -> Option<u64> {
    count(value).filter(|it| *it != u64::from(u32::MAX))
}

/// Returns the size of an element of a type of PyTorch in bytes.
fn element_bytes(kind: &[u8]) -> Option<u64> {
    Some(match kind {
        b"Byte" | b"Char" | b"Bool" => 1,
        b"Half" | b"BFloat16" | b"Short" => 2,
        b"Int" | b"Float" => 4,
        b"Long" | b"Double" | b"ComplexFloat" => 8,
        b"ComplexDouble" => 16,
        _ if kind.starts_with(b"Float8") => 1,
        _ => return None,
    })
}

/// The arguments that name a process group.
#[derive(Default)]
struct ProcessGroup<'a> {
    name: &'a [u8],
    ranks: &'a [u8],
    description: &'a [u8],
    num_ranks: &'a [u8],
    collective: &'a [u8],
    sequence: Option<i64>,
    source: Option<i64>,
    destination: Option<i64>,
    /// The number of elements that the operation takes or gives, the larger one.
    num_elements: Option<u64>,
    element_kind: &'a [u8],
}

impl<'a> ProcessGroup<'a> {
    fn add(&mut self, key: &[u8], value: JsonValue<'a>) {
        let raw = || match value {
            JsonValue::Text(text) => text.raw(),
            JsonValue::Word(raw) | JsonValue::Nested(raw) => raw,
            JsonValue::Missing => &[],
        };
        match key {
            b"Process Group Name" => self.name = raw(),
            b"Process Group Ranks" => self.ranks = raw(),
            b"Process Group Description" => self.description = raw(),
            b"Group size" => self.num_ranks = raw(),
            b"Collective name" => self.collective = raw(),
            b"In msg nelems" | b"Out msg nelems" => {
                self.num_elements = self.num_elements.max(count(value));
            }
            b"dtype" => self.element_kind = raw(),
            b"Seq" => self.sequence = value.integer(),
            b"Src Rank" => self.source = value.integer().filter(|rank| *rank >= 0),
            b"Dst Rank" => self.destination = value.integer().filter(|rank| *rank >= 0),
            _ => {}
        }
    }

    /// Returns the message of an operation that states the other rank: an operation that sends has a destination.
    fn message(&self) -> Option<PartnerMessage> {
        let (kind, partner) = match self.collective {
            b"send" => (CommKind::Send, self.destination?),
            b"recv" => (CommKind::Recv, self.source?),
            _ => return None,
        };
        let group = std::str::from_utf8(self.name).ok()?.parse::<u32>();
        Some(PartnerMessage {
            kind,
            partner: RankId(u32::try_from(partner).ok()?),
            tag: u64::from(group.unwrap_or_default()) << TAG_BITS,
        })
    }

    fn facts(&self) -> CollectiveFacts {
        let mut text = Vec::new();
        let first_of = [
            (self.name, self.ranks),
            (self.description, &[]),
            (self.num_ranks, &[]),
        ];
        if let Some((name, ranks)) = first_of
            .into_iter()
            .find(|(name, ranks)| !(name.is_empty() && ranks.is_empty()))
        {
            text.extend(name);
            text.push(0);
            // Ranks are a text or a list, with spaces or without.
            text.extend(ranks.iter().filter(|it| !it.is_ascii_whitespace()));
        }
        let is_named = !text.is_empty();
        CollectiveFacts {
            communicator: if is_named {
                callgrove_model::fnv1a(&text)
            } else {
                UNSTATED_COMMUNICATOR
            },
            sequence: self.sequence.and_then(|it| u64::try_from(it).ok()),
            message: self.message(),
            is_point_to_point: self.source.is_some()
                || self.destination.is_some()
                || matches!(self.collective, b"send" | b"recv" | b"recvAnySource"),
            num_bytes: self.num_elements.and_then(|it| {
                let size_bytes = element_bytes(self.element_kind)?;
                it.checked_mul(size_bytes)
            }),
            is_stated: is_named || self.sequence.is_some(),
        }
    }
}
