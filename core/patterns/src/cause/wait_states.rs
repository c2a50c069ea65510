//! Wait states of messages and collectives, call by call.
//!
//! What TAU's stream decides: a send is stamped when its call is entered, a receive when its call ends. So a receive
//! that was called before its message was sent waited until then (late sender), and a send that returned only after
//! its receive was called waited until then (late receiver). It does not tell when a receive was posted (the call
//! that completes it counts), when a message arrived, nor which sends a call completes that receives nothing.

use std::collections::BTreeMap;

use callgrove_model::{CommKind, DurationNs, ExecIdx, ExecRef, Lane, LaneIdx, TimeNs};

use super::call_kind::CallKind;
use super::evidence::Facts;
use super::links::StallLink;
use super::origin::Origins;
use super::stall::Stalls;
use super::wait::{Wait, WaitKind, WaitedFor};

/// A received message: its number, sender, time of sending, and receiving row.
#[derive(Clone, Copy)]
struct Received {
    message: u32,
    sender: LaneIdx,
    sent: TimeNs,
    row: usize,
}

/// All wait states, unsorted, on the clocks of their lanes. Cost: linear in messages and collective calls.
pub(super) fn wait_states(
    facts: &Facts<'_>,
    stalls: &Stalls,
    links: &[Vec<StallLink>],
    origins: &Origins,
) -> Vec<Wait> {
    let mut waits = Vec::new();
    let messages = messages_by_row(facts);
    for (index, lane) in facts.trace.lanes() {
        let messages = &messages[index.index()];
        receives(facts, stalls, index, lane, messages, &mut waits);
        sends(facts, index, lane, messages, &mut waits);
    }
    collectives(facts, &mut waits);
    of_stalls(facts, stalls, links, origins, &mut waits);
    waits
}

/// The number of the message of every message event, by lane and row.
fn messages_by_row(facts: &Facts<'_>) -> Vec<Vec<u32>> {
    let lanes = facts.trace.lanes.iter();
    let mut rows: Vec<Vec<u32>> = lanes.map(|lane| vec![u32::MAX; lane.comms.len()]).collect();
    for (number, message) in (0..).zip(&facts.trace.messages) {
        for end in [message.send, message.recv] {
            rows[end.lane.index()][ExecIdx(end.row).index()] = number;
        }
    }
    rows
}

fn receives(
    facts: &Facts<'_>,
    stalls: &Stalls,
    index: LaneIdx,
    lane: &Lane,
    messages: &[u32],
    waits: &mut Vec<Wait>,
) {
    let received = |row: usize| {
        // A rank that sends to itself waits for nobody.
        let mate = lane.comms.mate[row].filter(|mate| mate.lane != index)?;
        let sent = facts.trace.lane(mate.lane).comms.time[ExecIdx(mate.row).index()];
        Some(Received {
            message: messages[row],
            sender: mate.lane,
            sent: facts
                .clocks
                .local(index, facts.clocks.common(mate.lane, sent)),
            row,
        })
    };
    let rows = (0..lane.comms.len()).filter(|&row| lane.comms.kind[row] == CommKind::Recv);
    // Backwards, so that what was sent earlier and received later is known.
    let mut earliest_left: BTreeMap<LaneIdx, TimeNs> = BTreeMap::new();
    let mut last: Option<(ExecIdx, Received, bool)> = None;
    for it in rows.rev().filter_map(received) {
        let left = earliest_left.entry(it.sender).or_insert(it.sent);
        let call = lane.comms.exec[it.row].map(ExecIdx::from);
        let entry = call.map(|call| lane.executions.entry[call.index()]);
        let is_overtaken = *left < it.sent && entry.is_some_and(|entry| *left < entry);
        *left = it.sent.min(*left);
        let Some(call) = call else { continue };
        last = match last {
            Some((open, best, overtaken)) if open == call && best.sent >= it.sent => {
                Some((open, best, overtaken))
            }
            Some((open, best, overtaken)) if open != call => {
                waits.extend(receive(stalls, index, lane, open, best, overtaken));
                Some((call, it, is_overtaken))
            }
            _ => Some((call, it, is_overtaken)),
        };
    }
    if let Some((open, best, overtaken)) = last {
        waits.extend(receive(stalls, index, lane, open, best, overtaken));
    }
}

/// The wait of a call for the message that was sent last of those it received.
fn receive(
    stalls: &Stalls,
    lane_idx: LaneIdx,
    lane: &Lane,
    exec: ExecIdx,
    it: Received,
    is_overtaken: bool,
) -> Option<Wait> {
    let entry = lane.executions.entry[exec.index()];
    let exit = lane.executions.exit(exec);
    let (kind, start, end) = if it.sent > entry {
        let kind = if is_overtaken {
            WaitKind::WrongOrder
        } else {
            WaitKind::LateSender
        };
        (kind, entry, it.sent.min(exit))
    } else {
        (WaitKind::LateCompletion, entry, exit)
    };
    let is_counted = kind != WaitKind::LateCompletion || exit.since(entry) > stalls.least;
    (is_counted && start < end).then_some(Wait {
        call: ExecRef {
            lane: lane_idx,
            exec,
        },
        kind,
        peer: Some(it.sender),
        waited_for: WaitedFor::Message(it.message),
        start,
        end,
    })
}

fn sends(facts: &Facts<'_>, index: LaneIdx, lane: &Lane, messages: &[u32], waits: &mut Vec<Wait>) {
    for (row, &message) in messages.iter().enumerate() {
        let (CommKind::Send, Some(mate)) = (lane.comms.kind[row], lane.comms.mate[row]) else {
            continue;
        };
        let call = lane.comms.exec[row].map(ExecIdx::from);
        let part = facts.call_of(mate).filter(|part| part.lane != index);
        let (Some(exec), Some(part)) = (call, part) else {
            continue;
        };
        let came = facts.clocks.local(index, facts.entry(part));
        let sent = lane.comms.time[row];
        if came > sent && came <= lane.executions.exit(exec) {
            waits.push(Wait {
                call: ExecRef { lane: index, exec },
                kind: WaitKind::LateReceiver,
                peer: Some(mate.lane),
                waited_for: WaitedFor::Message(message),
                start: sent,
                end: came,
            });
        }
    }
}

fn collectives(facts: &Facts<'_>, waits: &mut Vec<Wait>) {
    for (number, collective) in (0..).zip(facts.collectives) {
        for &call in &collective.calls {
            let executions = &facts.trace.lane(call.lane).executions;
            let entry = executions.entry[call.exec.index()];
            let until = facts.clocks.local(call.lane, collective.last_entry);
            let end = until.min(executions.exit(call.exec));
            if call != collective.last && entry < end {
                waits.push(Wait {
                    call,
                    kind: facts.meeting(call),
                    peer: Some(collective.last.lane),
                    waited_for: WaitedFor::Collective(number),
                    start: entry,
                    end,
                });
            }
        }
    }
}

/// What only the stalls tell: calls that stood because a peer stood, and calls that stood by themselves.
fn of_stalls(
    facts: &Facts<'_>,
    stalls: &Stalls,
    links: &[Vec<StallLink>],
    origins: &Origins,
    waits: &mut Vec<Wait>,
) {
    for (index, stall) in stalls.all().iter().enumerate() {
        if facts.kind(stall.call) == CallKind::Work {
            continue;
        }
        let local = |time| facts.clocks.local(stall.lane(), time);
        let link = origins.by[index].and_then(|by| links[index].get(by));
        let wait = Wait {
            call: stall.call,
            kind: WaitKind::OwnDelay,
            peer: None,
            waited_for: WaitedFor::Nothing,
            start: local(stall.start),
            end: local(stall.end),
        };
        match link {
            Some(link) if link.came.is_none() => {
                let peer = link.to.map(|to| &stalls.all()[to]);
                let shared = peer.map_or(DurationNs::ZERO, |peer| peer.overlap(stall));
                let start = peer.map_or(stall.start, |peer| peer.start.max(stall.start));
                waits.push(Wait {
                    kind: link.kind,
                    peer: Some(link.peer),
                    start: local(start),
                    end: local(start + shared),
                    ..wait
                });
            }
            None if links[index].is_empty() => waits.push(wait),
            _ => {}
        }
    }
}
