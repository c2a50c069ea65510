//! The ends of messages that ranks told of, by what makes them mates.

use std::collections::BTreeMap;

use callgrove_model::{CommKind, ExecLabel, RankId};

use super::brief::MessageBrief;

/// A message: sender, receiver, tag, number. MPI keeps the order of messages with the first three in common, so
/// the SEND and the RECV with one number are mates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct MessageKey {
    pub(super) source: RankId,
    pub(super) destination: RankId,
    pub(super) tag: u64,
    pub(super) number: u64,
}

/// The ends of messages of one program.
#[derive(Debug, Default)]
pub(super) struct MessageEnds<'a> {
    sends: BTreeMap<MessageKey, &'a MessageBrief>,
    recvs: BTreeMap<MessageKey, &'a MessageBrief>,
    by_call: BTreeMap<ExecLabel, Vec<MessageKey>>,
}

impl<'a> MessageEnds<'a> {
    /// Of the messages that each rank told of. One that is told twice counts once.
    pub(super) fn new(told: impl Iterator<Item = (RankId, &'a MessageBrief)>) -> Self {
        let mut ends = Self::default();
        for (rank, end) in told {
            let (source, destination) = match end.kind {
                CommKind::Send => (rank, end.partner),
                CommKind::Recv => (end.partner, rank),
            };
            let key = MessageKey {
                source,
                destination,
                tag: end.tag,
                number: end.number,
            };
            let of_kind = match end.kind {
                CommKind::Send => &mut ends.sends,
                CommKind::Recv => &mut ends.recvs,
            };
            if of_kind.insert(key, end).is_none()
                && let Some(call) = end.call
            {
                ends.by_call.entry(call).or_default().push(key);
            }
        }
        for keys in ends.by_call.values_mut() {
            keys.sort_unstable();
        }
        ends
    }

    /// The messages with an end in a call, by key; those that the rank sent to itself twice.
    pub(super) fn of_call(&self, call: ExecLabel) -> &[MessageKey] {
        self.by_call.get(&call).map_or(&[], Vec::as_slice)
    }

    /// Both ends; `None` unless both were told.
    pub(super) fn both(&self, key: MessageKey) -> Option<(&'a MessageBrief, &'a MessageBrief)> {
        Some((*self.sends.get(&key)?, *self.recvs.get(&key)?))
    }
}
