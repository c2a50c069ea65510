//! Messages: every SEND is matched with its RECV.

use std::collections::BTreeSet;

use crate::event::{CommKind, tag_text};
use crate::id::{LaneIdx, ProgramId, RankId};
use crate::lane::Lane;
use crate::lane_events::CommRef;
use crate::time::TimeNs;
use crate::warning::{FirstSeen, WarningKind, Warnings};

/// A message: a SEND and the matching RECV.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The SEND.
    pub send: CommRef,
    /// The RECV.
    pub recv: CommRef,
}

/// A sequence of messages whose order the communication library preserves.
type Channel = (ProgramId, RankId, RankId, u64);
/// A message event of a channel.
type ChannelEvent = (Channel, TimeNs, CommRef);

/// Matches the i-th SEND of every (program, source, destination, tag) with its i-th RECV and records each as the
/// other's mate. Sizes may differ, because a receive reports the posted buffer, not what arrived.
///
/// The communicator is not recorded, so two communicators that share tags cannot be distinguished. Returns the messages
/// in order of sending time; O(n log n) in the number of message events.
pub(crate) fn match_messages(lanes: &mut [Lane], warnings: &mut Warnings) -> Vec<Message> {
    let sends = channel_events(lanes, CommKind::Send);
    let recvs = channel_events(lanes, CommKind::Recv);
    let ranks: BTreeSet<_> = lanes.iter().map(|lane| (lane.program, lane.rank)).collect();
    if let Some(side) = one_side(&sends, &recvs, &ranks) {
        let num_events = sends.len() + recvs.len();
        let num_events = u64::try_from(num_events).unwrap_or(u64::MAX);
        warnings.count_many(WarningKind::OneSideOnly, None, num_events, || {
            side.to_owned()
        });
        return Vec::new();
    }
    let mut messages = Vec::with_capacity(sends.len().min(recvs.len()));
    let (mut s, mut r) = (0, 0);
    while s < sends.len() || r < recvs.len() {
        let channel = match (sends.get(s), recvs.get(r)) {
            (Some(send), Some(recv)) => send.0.min(recv.0),
            (Some(send), None) => send.0,
            (None, Some(recv)) => recv.0,
            (None, None) => break,
        };
        let num_sends = sends[s..]
            .iter()
            .take_while(|send| send.0 == channel)
            .count();
        let num_recvs = recvs[r..]
            .iter()
            .take_while(|recv| recv.0 == channel)
            .count();
        for (send, recv) in sends[s..s + num_sends].iter().zip(&recvs[r..r + num_recvs]) {
            messages.push(Message {
                send: send.2,
                recv: recv.2,
            });
        }
        count_unmatched(channel, num_sends, num_recvs, &ranks, warnings);
        s += num_sends;
        r += num_recvs;
    }
    for &message in &messages {
        set_mates(lanes, message, warnings);
    }
    in_order_of_sending(lanes, &mut messages);
    messages
}

/// Returns which side of messages is there, if it is one side only although both ranks are in the trace.
fn one_side(
    sends: &[ChannelEvent],
    recvs: &[ChannelEvent],
    ranks: &BTreeSet<(ProgramId, RankId)>,
) -> Option<&'static str> {
    let side = match (sends, recvs) {
        ([_, ..], []) => "sends only",
        ([], [_, ..]) => "receives only",
        _ => return None,
    };
    let mut channels = sends.iter().chain(recvs).map(|event| event.0);
    let are_known = channels.all(|(program, source, destination, _)| {
        ranks.contains(&(program, source)) && ranks.contains(&(program, destination))
    });
    are_known.then_some(side)
}

/// Sorts messages by the time at which they were sent.
pub(crate) fn in_order_of_sending(lanes: &[Lane], messages: &mut [Message]) {
    messages.sort_by_key(|message| {
        (
            lanes[message.send.lane.index()].comms.time[message.send.row as usize],
            message.send,
        )
    });
}

/// Returns all events of one kind by channel, then in order of time.
fn channel_events(lanes: &[Lane], kind: CommKind) -> Vec<ChannelEvent> {
    let mut events = Vec::new();
    for (lane_idx, lane) in lanes.iter().enumerate() {
        for (row, number) in (0..lane.comms.len()).zip(0..) {
            if lane.comms.kind[row] != kind {
                continue;
            }
            let partner = lane.comms.partner[row];
            let (source, destination) = match kind {
                CommKind::Send => (lane.rank, partner),
                CommKind::Recv => (partner, lane.rank),
            };
            let channel = (lane.program, source, destination, lane.comms.tag[row]);
            let event = CommRef {
                lane: LaneIdx::from_index(lane_idx),
                row: number,
            };
            events.push((channel, lane.comms.time[row], event));
        }
    }
    // If two threads of a rank share a channel, time decides.
    events.sort_unstable();
    events
}

fn count_unmatched(
    (program, source, destination, tag): Channel,
    num_sends: usize,
    num_recvs: usize,
    ranks: &BTreeSet<(ProgramId, RankId)>,
    warnings: &mut Warnings,
) {
    let place = || format!("rank {source} to rank {destination}, {}", tag_text(tag));
    let (kind, here, other) = if num_sends > num_recvs {
        (WarningKind::UnmatchedSend, source, destination)
    } else {
        (WarningKind::UnmatchedRecv, destination, source)
    };
    let kind = if ranks.contains(&(program, other)) {
        kind
    } else {
        WarningKind::PartnerMissing
    };
    warnings.count_many(
        kind,
        Some(here),
        num_sends.abs_diff(num_recvs) as u64,
        place,
    );
}

fn set_mates(lanes: &mut [Lane], message: Message, warnings: &mut Warnings) {
    let Message { send, recv } = message;
    let (send_row, recv_row) = (send.row as usize, recv.row as usize);
    lanes[send.lane.index()].comms.mate[send_row] = Some(recv);
    lanes[recv.lane.index()].comms.mate[recv_row] = Some(send);
    let (sender, receiver) = (&lanes[send.lane.index()], &lanes[recv.lane.index()]);
    let sent = sender.comms.time[send_row];
    let place = || {
        let place = format!("rank {} to rank {}", sender.rank, receiver.rank);
        FirstSeen::at(sent, place)
    };
    if receiver.comms.time[recv_row] < sent {
        warnings.count(WarningKind::RecvBeforeSend, Some(receiver.rank), place);
    }
    if receiver.comms.size_bytes[recv_row] != sender.comms.size_bytes[send_row] {
        warnings.count(WarningKind::SizeDiffers, Some(receiver.rank), place);
    }
}
