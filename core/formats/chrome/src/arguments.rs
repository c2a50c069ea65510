//! The arguments of calls that are needed: what launched a call, and in which collective it takes part.

use crate::json::JsonValue;
use crate::trace_event::TraceEvent;

/// The communicator of calls that state none.
pub(crate) const UNSTATED_COMMUNICATOR: u64 = 0;

/// The collective that a call takes part in, as its arguments state it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CollectiveFacts {
    /// Identifies the process group; 0 if nothing is known of it.
    pub(crate) communicator: u64,
    /// The number of the operation in its group.
    pub(crate) sequence: Option<u64>,
    /// Whether the operation has a source or a destination, so that it is no collective.
    pub(crate) is_point_to_point: bool,
    /// Whether there was any such argument.
    pub(crate) is_stated: bool,
}

/// Arguments of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CallArguments {
    /// Joins work on a GPU with the call that launched it.
    pub(crate) correlation: Option<i64>,
    /// Joins a kernel with the operation that it belongs to.
    pub(crate) external_id: Option<i64>,
    pub(crate) collective: CollectiveFacts,
}

impl CallArguments {
    /// Returns the arguments of a call.
    pub(crate) fn of(event: &TraceEvent<'_>) -> Self {
        let mut arguments = Self::default();
        let mut group = ProcessGroup::default();
        event.arguments(|key, value| match key {
            b"correlation" => arguments.correlation = value.integer(),
            b"External id" | b"external id" => arguments.external_id = value.integer(),
            _ => group.add(key, value),
        });
        arguments.collective = group.facts();
        arguments
    }
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
    has_partner: bool,
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
            b"Seq" => self.sequence = value.integer(),
            b"Src Rank" | b"Dst Rank" => {
                self.has_partner |= value.integer().is_some_and(|rank| rank >= 0);
            }
            _ => {}
        }
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
            is_point_to_point: self.has_partner
                || matches!(self.collective, b"send" | b"recv" | b"recvAnySource"),
            is_stated: is_named || self.sequence.is_some(),
        }
    }
}
