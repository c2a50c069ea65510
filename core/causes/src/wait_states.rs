//! Wait states, call by call: the peer or message of each operation, and the duration of its wait.
//!
//! TAU's stream determines this: a send is stamped when its call is entered, a receive when its call ends. So a
//! receive that was called before its message was sent waited until then (late sender), and a send that returned only
//! after its receive was called waited until then (late receiver). The stream does not show when a receive was posted
//! (the call that completes it counts), when a message arrived, or which sends a call completes that receives
//! nothing.

use std::collections::BTreeMap;

use callgrove_model::{
    CommKind, DurationNs, ExecIdx, ExecRef, FuncId, Lane, LaneIdx, TimeNs, Trace,
};
use callgrove_segments::{
    Clocks, Meetings, Operation, OperationKind, OperationRef, Segments, index,
};

use super::delay_root::DelayRoot;
use super::outcome::{Collective, Wait, WaitKind, WaitedFor};
use super::release::{Release, Released};

/// Returns all wait states, unsorted, on the clocks of their lanes. Cost: linear in operations and messages.
pub(super) fn wait_states(
    trace: &Trace,
    clocks: &Clocks,
    segments: &Segments,
    meetings: &Meetings,
    released: &[Vec<Released>],
    roots: &[DelayRoot],
) -> Vec<Wait> {
    let messages = messages_by_row(trace);
    let lanes = trace.lanes();
    let overtaken: Vec<Vec<bool>> = lanes
        .map(|(index, it)| overtaken(trace, clocks, index, it))
        .collect();
    let mut waits = Vec::new();
    for (it, operation) in segments.operations() {
        let released = released[it.lane.index()][it.at()];
        let Some(by) = released
            .by
            .filter(|_| operation.kind != OperationKind::Idle)
        else {
            continue;
        };
        if released.wait(operation) > DurationNs::ZERO {
            let is_overtaken = by.row().is_some_and(|row| overtaken[it.lane.index()][row]);
            waits.push(Wait {
                call: call(it, operation),
                kind: match by.kind {
                    WaitKind::LateSender if is_overtaken => WaitKind::WrongOrder,
                    kind => kind,
                },
                peer: Some(by.peer),
                waited_for: waited_for(it, &by, &messages, meetings),
                start: clocks.local(it.lane, operation.start),
                end: clocks.local(it.lane, released.at(operation)),
            });
        }
    }
    waits.extend(roots.iter().filter_map(|root| {
        let operation = root.operation?;
        let peer = root.attributed_to.map(|it| roots[it.index()].lane);
        let peer = peer.filter(|peer| *peer != root.lane);
        let it = segments.operation(operation);
        Some(Wait {
            call: call(operation, it),
            kind: peer.map_or(WaitKind::OwnDelay, |_| WaitKind::LateCompletion),
            peer,
            waited_for: WaitedFor::Nothing,
            start: clocks.local(root.lane, root.start),
            end: clocks.local(root.lane, root.end),
        })
    }));
    waits
}

fn call(it: OperationRef, operation: &Operation) -> ExecRef {
    ExecRef {
        lane: it.lane,
        exec: operation.call,
    }
}

fn waited_for(
    it: OperationRef,
    by: &Release,
    messages: &[Vec<u32>],
    meetings: &Meetings,
) -> WaitedFor {
    match (by.row(), meetings.number(it)) {
        (Some(row), _) => WaitedFor::Message(messages[it.lane.index()][row]),
        (None, Some(number)) => WaitedFor::Collective(number),
        (None, None) => WaitedFor::Nothing,
    }
}

/// Returns the number of the message of every message event, by lane and row.
fn messages_by_row(trace: &Trace) -> Vec<Vec<u32>> {
    let lanes = trace.lanes.iter();
    let mut rows: Vec<Vec<u32>> = lanes.map(|lane| vec![u32::MAX; lane.comms.len()]).collect();
    for (number, message) in (0..).zip(&trace.messages) {
        for end in [message.send, message.recv] {
            rows[end.lane.index()][index(end.row)] = number;
        }
    }
    rows
}

/// Returns, by row, whether a message of a lane was received although an earlier one of the same sender was available
/// when the call began.
fn overtaken(trace: &Trace, clocks: &Clocks, lane_idx: LaneIdx, lane: &Lane) -> Vec<bool> {
    let mut found = vec![false; lane.comms.len()];
    // Backwards, so that messages that were sent earlier and received later are known.
    let mut earliest_left: BTreeMap<LaneIdx, TimeNs> = BTreeMap::new();
    for row in (0..lane.comms.len()).rev() {
        let Some(mate) = lane.comms.mate[row].filter(|_| lane.comms.kind[row] == CommKind::Recv)
        else {
            continue;
        };
        let sent = trace.lane(mate.lane).comms.time[index(mate.row)];
        let sent = clocks.local(lane_idx, clocks.common(mate.lane, sent));
        let call = lane.comms.exec[row].map(ExecIdx::from);
        let entry = call.map(|call| lane.executions.entry[call.index()]);
        let left = earliest_left.entry(mate.lane).or_insert(sent);
        found[row] = *left < sent && entry.is_some_and(|entry| *left < entry);
        *left = sent.min(*left);
    }
    found
}

/// Returns the meetings as public collectives.
pub(super) fn collectives(segments: &Segments, meetings: &Meetings) -> Vec<Collective> {
    let all = meetings.all.iter();
    all.filter_map(|meeting| {
        let of = |it: &OperationRef| segments.operation(*it);
        let members = meeting.operations.iter();
        let last = *members.max_by_key(|it| (of(it).start, **it))?;
        let calls = meeting.operations.iter().map(|it| call(*it, of(it)));
        Some(Collective {
            calls: calls.collect(),
            last: call(last, of(&last)),
            last_entry: of(&last).start,
        })
    })
    .collect()
}

/// Returns the functions on the stack of a call, outermost first.
pub(super) fn call_path(trace: &Trace, call: ExecRef) -> Vec<FuncId> {
    let executions = &trace.lane(call.lane).executions;
    let stack = std::iter::successors(Some(call.exec), |&it| executions.parent(it));
    let mut path: Vec<FuncId> = stack.map(|it| executions.func[it.index()]).collect();
    path.reverse();
    path
}

/// Returns whether any call begins after its caller, or no call is within another.
pub(super) fn is_timed(trace: &Trace) -> bool {
    let begin_later = trace.lanes.iter().flat_map(|lane| {
        let executions = &lane.executions;
        let entry = |it: ExecIdx| executions.entry[it.index()];
        let callers = executions.parent.iter().enumerate();
        callers.filter_map(move |(row, caller)| {
            caller.map(|it| entry(it.into()) < entry(ExecIdx::from_index(row)))
        })
    });
    let mut begin_later = begin_later.peekable();
    begin_later.peek().is_none() || begin_later.any(|it| it)
}
