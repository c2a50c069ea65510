//! Links: what stood because of whom, as far as messages tell.

use std::collections::BTreeMap;
use std::ops::Bound;

use callgrove_model::{ExecLabel, RankId, StepId, ThreadId};

use super::brief::StoodBrief;
use super::message_ends::{MessageEnds, MessageKey};

/// How many times as much the order in which ranks fall silent tells as that in which they move again.
const SILENCE_TELLS: u128 = 8;
/// A wait of less than one in so many parts of the time that a call stood is short.
const SHORT: u64 = 100;

/// What stood on some rank, with the step in which it was told.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoodCall<'a> {
    pub(super) step: StepId,
    pub(super) brief: &'a StoodBrief,
    /// Until here it is known to have waited for messages that were not sent yet; from where it stood if for none.
    due_us: u64,
}

/// How a call waited for another rank, as Scalasca names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lateness {
    Sender,
    Receiver,
}

/// From a call that stood to the rank that it waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitLink {
    /// The call of that rank that stood too, its place in the list; `None` if none did.
    pub(super) to: Option<usize>,
    pub(super) peer: RankId,
    pub(super) lateness: Lateness,
    /// The message that tells.
    pub(super) message: MessageKey,
    /// How long it waited, in microseconds.
    pub(super) waited_us: u64,
}

/// Whom a call can have waited for: the other end of one of its messages.
struct Peer {
    rank: RankId,
    lateness: Lateness,
    message: MessageKey,
    /// When the peer came: sent, or called to receive.
    came_us: u64,
    /// The call in which it did.
    part: Option<ExecLabel>,
}

impl<'a> StoodCall<'a> {
    pub(super) fn new(step: StepId, brief: &'a StoodBrief, ends: &MessageEnds<'_>) -> Self {
        let from_us = brief.from_us;
        let mut stood = Self {
            step,
            brief,
            due_us: from_us,
        };
        let sent = peers(brief.label, ends).filter(|it| it.lateness == Lateness::Sender);
        let sent = sent.map(|it| it.came_us);
        let last = sent.filter(|&came_us| came_us <= brief.to_us).max();
        let waited_us = last.map_or(0, |sent_us| sent_us.saturating_sub(from_us));
        // Of a wait too short to be told from two ranks falling silent together, half counts.
        let is_short = waited_us < stood.length_us() / SHORT;
        let due_us = if is_short { waited_us / 2 } else { waited_us };
        stood.due_us = from_us.saturating_add(due_us);
        stood
    }

    pub(super) fn lane(&self) -> (RankId, ThreadId) {
        (self.brief.label.rank, self.brief.thread)
    }

    /// How long it stood.
    pub(super) fn length_us(&self) -> u64 {
        self.brief.to_us.saturating_sub(self.brief.from_us)
    }

    /// How long both stood.
    pub(super) fn overlap_us(&self, other: &Self) -> u64 {
        let from_us = self.brief.from_us.max(other.brief.from_us);
        let to_us = self.brief.to_us.min(other.brief.to_us);
        to_us.saturating_sub(from_us)
    }

    /// How early it is: of two that stood for each other, the smaller one is what the other stood for.
    pub(super) fn earliness(&self) -> (u128, ExecLabel) {
        let silent = u128::from(self.due_us) * SILENCE_TELLS;
        (silent + u128::from(self.brief.to_us), self.brief.label)
    }
}

/// The other ends of the messages of a call, but those that its rank sent to itself.
fn peers(call: ExecLabel, ends: &MessageEnds<'_>) -> impl Iterator<Item = Peer> {
    ends.of_call(call).iter().filter_map(move |&message| {
        let (sent, received) = ends.both(message)?;
        let is_sender = message.source == call.rank;
        if message.destination == message.source {
            return None;
        }
        Some(if is_sender {
            Peer {
                rank: message.destination,
                lateness: Lateness::Receiver,
                message,
                came_us: received.called_us,
                part: received.call,
            }
        } else {
            Peer {
                rank: message.source,
                lateness: Lateness::Sender,
                message,
                came_us: sent.time_us,
                part: sent.call,
            }
        })
    })
}

/// For each call that stood, what it waited for; `None` if for nobody that is known. Cost: O(n log n) in calls and
/// messages.
pub(super) fn links(calls: &[StoodCall<'_>], ends: &MessageEnds<'_>) -> Vec<Option<WaitLink>> {
    let mut lanes: BTreeMap<(RankId, ThreadId), Vec<usize>> = BTreeMap::new();
    for (at, call) in calls.iter().enumerate() {
        lanes.entry(call.lane()).or_default().push(at);
    }
    for lane in lanes.values_mut() {
        lane.sort_by_key(|&at| (calls[at].brief.from_us, calls[at].brief.label));
    }
    let beside = Beside { calls, lanes };
    let of_call = |at: usize| {
        let peers: Vec<Peer> = peers(calls[at].brief.label, ends).collect();
        proven(&beside, at, &peers).or_else(|| likely(&beside, at, &peers))
    };
    (0..calls.len()).map(of_call).collect()
}

/// The peer that came last, if that was in the latter half of the time in which the call stood.
fn proven(beside: &Beside<'_>, at: usize, peers: &[Peer]) -> Option<WaitLink> {
    let call = &beside.calls[at];
    let in_time = peers.iter().filter(|it| it.came_us <= call.brief.to_us);
    let last = in_time.max_by_key(|it| (it.came_us, it.message))?;
    let waited_us = last.came_us.saturating_sub(call.brief.from_us);
    (waited_us > 0 && waited_us >= call.length_us() / 2).then(|| WaitLink {
        to: beside.longest(at, last.rank, last.came_us),
        peer: last.rank,
        lateness: last.lateness,
        message: last.message,
        waited_us,
    })
}

/// The earliest of the calls that stood beside it and that it can have waited for. A receiver that stood elsewhere had
/// not come; whether a message was there, and whether its receiver went on with it, only the order of the two tells.
fn likely(beside: &Beside<'_>, at: usize, peers: &[Peer]) -> Option<WaitLink> {
    let call = &beside.calls[at];
    let found = peers.iter().filter_map(|it| {
        let to = beside.longest(at, it.rank, call.brief.to_us)?;
        let peer = &beside.calls[to];
        let is_elsewhere = it.lateness == Lateness::Receiver && it.part != Some(peer.brief.label);
        (is_elsewhere || peer.earliness() < call.earliness()).then(|| WaitLink {
            to: Some(to),
            peer: it.rank,
            lateness: it.lateness,
            message: it.message,
            waited_us: call.overlap_us(peer),
        })
    });
    found.min_by_key(|link| {
        let earliness = link.to.map(|to| beside.calls[to].earliness());
        (earliness, link.message)
    })
}

/// The calls that stood, by lane in order of time; those of one lane do not overlap.
struct Beside<'a> {
    calls: &'a [StoodCall<'a>],
    lanes: BTreeMap<(RankId, ThreadId), Vec<usize>>,
}

impl Beside<'_> {
    /// The call of a rank that shares most of the time in which another stood, and at least half of it, and stood
    /// before `until_us`.
    fn longest(&self, at: usize, rank: RankId, until_us: u64) -> Option<usize> {
        let call = &self.calls[at];
        let of_rank = (
            Bound::Included((rank, ThreadId(0))),
            Bound::Included((rank, ThreadId(u32::MAX))),
        );
        let mut best: Option<(u64, usize)> = None;
        for lane in self.lanes.range(of_rank).map(|(_, lane)| lane) {
            let end = lane.partition_point(|&it| self.calls[it].brief.from_us < until_us);
            let overlapping = lane[..end]
                .iter()
                .rev()
                .take_while(|&&it| self.calls[it].brief.to_us > call.brief.from_us);
            for &it in overlapping {
                let shared_us = self.calls[it].overlap_us(call);
                if best.is_none_or(|(most_us, _)| shared_us > most_us) {
                    best = Some((shared_us, it));
                }
            }
        }
        let (shared_us, it) = best?;
        (shared_us > 0 && shared_us >= call.length_us() / 2).then_some(it)
    }
}
