//! The event window as a trace of its own, which the timeline can draw.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_model::{
    CommKind, CommRef, Comms, Counters, DurationNs, ExecIdx, ExecRef, Executions, Lane, LaneIdx,
    Message, NameTable, NonMaxIdx, ProgramId, RankId, StepId, ThreadId, TimeNs, Trace,
};
use callgrove_provdb::{CallStackEntry, CommType, CommWindowEntry, ExecWindowEntry};

use super::ExecutionDocument;

/// The event window with the callers of the execution: a small trace with one lane of calls, and one for
/// each rank at the other end of a message.
#[derive(Clone, Debug)]
pub struct RecordWindow {
    /// The trace. The other ends of messages have the same times as the recorded ends.
    pub trace: Arc<Trace>,
    /// The lane of the calls.
    pub lane: LaneIdx,
    /// The execution of the document.
    pub subject: Option<ExecRef>,
    /// The execution of the document and the calls that the detector flagged as anomalous, in order.
    pub anomalies: Vec<ExecRef>,
    /// Event labels of the calls, shape `[n_executions]`; empty if the document has none.
    pub event_ids: Vec<String>,
    /// Start of the initial view: it covers the calls of the window and the execution itself, but not the whole
    /// of callers that run for much longer.
    pub from: TimeNs,
    /// End of the initial view; later than `from`.
    pub to: TimeNs,
}

/// A call before its position in the stack is known. Times are microseconds since the epoch.
struct Call {
    event_id: String,
    /// Label of the caller.
    parent: String,
    func: Arc<str>,
    entry_us: u64,
    /// Exit; the end of the recorded data if the call was still running.
    exit_us: u64,
    is_open: bool,
    is_anomaly: bool,
    role: Role,
}

/// The role of a call relative to the document's execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Role {
    /// True for the execution itself.
    is_subject: bool,
    /// True for its callers.
    is_caller: bool,
}

impl ExecutionDocument {
    /// Returns the window as a trace for drawing.
    pub fn window_trace(&self) -> RecordWindow {
        RecordWindow::new(self)
    }
}

impl RecordWindow {
    /// Combines window and callers of a document. If a call's caller is in neither, the caller becomes the
    /// innermost call that encloses it in time.
    pub(super) fn new(document: &ExecutionDocument) -> Self {
        let mut calls = calls(document);
        calls.sort_by(|a, b| {
            let key = |call: &Call| (call.entry_us, std::cmp::Reverse(call.exit_us));
            key(a)
                .cmp(&key(b))
                .then(b.role.is_caller.cmp(&a.role.is_caller))
        });
        let (from, to) = extent(&calls, document);
        let calls = nested(calls);
        let mut trace = Trace::default();
        let executions = executions(&calls, &mut trace.names);
        let lane = add_lanes(&mut trace, document, executions, &calls);
        let exec = |at: usize| ExecRef {
            lane,
            exec: ExecIdx::from_index(at),
        };
        let flagged = |(at, (call, _)): (usize, &(Call, Option<usize>))| {
            (call.is_anomaly || call.role.is_subject).then(|| exec(at))
        };
        Self {
            trace: Arc::new(trace),
            lane,
            subject: calls
                .iter()
                .position(|(call, _)| call.role.is_subject)
                .map(exec),
            anomalies: calls.iter().enumerate().filter_map(flagged).collect(),
            event_ids: calls.into_iter().map(|(call, _)| call.event_id).collect(),
            from,
            to,
        }
    }
}

/// Sorts calls in pre-order: each call follows its caller and that caller's earlier callees. Returns each call with the
/// index of its caller. In `calls`, callers come first; one that comes later (a damaged document) counts as unknown.
fn nested(calls: Vec<Call>) -> Vec<(Call, Option<usize>)> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); calls.len()];
    let mut outermost = Vec::new();
    // The chain of calls that enclose the current one, outermost first.
    let mut open: Vec<usize> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        open.retain(|&other| calls[other].exit_us > call.entry_us);
        let encloses = |other: &&usize| calls[**other].exit_us >= call.exit_us;
        let enclosing = open.iter().rev().find(encloses).copied();
        match known.get(call.parent.as_str()).copied().or(enclosing) {
            Some(caller) => callees[caller].push(at),
            None => outermost.push(at),
        }
        open.push(at);
        if !call.event_id.is_empty() {
            known.insert(&call.event_id, at);
        }
    }
    let mut pending: Vec<(usize, Option<usize>)> =
        outermost.into_iter().rev().map(|at| (at, None)).collect();
    let mut order = Vec::with_capacity(calls.len());
    while let Some((at, caller)) = pending.pop() {
        let place = order.len();
        order.push((at, caller));
        pending.extend(
            callees[at]
                .iter()
                .rev()
                .map(|&callee| (callee, Some(place))),
        );
    }
    let mut calls: Vec<Option<Call>> = calls.into_iter().map(Some).collect();
    let take = |(at, caller): (usize, Option<usize>)| Some((calls[at].take()?, caller));
    order.into_iter().filter_map(take).collect()
}

fn time(time_us: u64) -> TimeNs {
    TimeNs::from_us(time_us).unwrap_or(TimeNs(i64::MAX / 2))
}

fn executions(calls: &[(Call, Option<usize>)], names: &mut NameTable) -> Executions {
    let mut executions = Executions::default();
    for (at, (call, caller)) in calls.iter().enumerate() {
        let entry = time(call.entry_us);
        let inclusive = time(call.exit_us).since(entry);
        let caller = caller.map(ExecIdx::from_index);
        let (step, row) = step_and_row(&call.event_id);
        executions.func.push(names.intern(&call.func));
        executions.entry.push(entry);
        executions.inclusive.push(inclusive);
        executions.exclusive.push(inclusive);
        executions.parent.push(caller.map(NonMaxIdx::from));
        executions.subtree_end.push(ExecIdx::from_index(at + 1));
        let depth = caller.map_or(0, |caller| {
            executions.depth[caller.index()].saturating_add(1)
        });
        executions.depth.push(depth);
        executions.step.push(step);
        executions.row.push(row);
        executions.closed.push(!call.is_open);
        if let Some(caller) = caller {
            let rest = executions.exclusive[caller.index()] - inclusive;
            executions.exclusive[caller.index()] = rest.max(DurationNs::ZERO);
        }
    }
    // Callees follow their callers, so from the back each end is known when it is needed.
    for at in (0..executions.len()).rev() {
        if let Some(caller) = executions.parent(ExecIdx::from_index(at)) {
            let end = executions.subtree_end[at].max(executions.subtree_end[caller.index()]);
            executions.subtree_end[caller.index()] = end;
        }
    }
    executions
}

/// Returns step and row of a label `rank:step:row`.
fn step_and_row(event_id: &str) -> (StepId, u32) {
    let mut parts = event_id
        .split(':')
        .skip(1)
        .map(|part| part.parse().unwrap_or(0));
    (StepId(parts.next().unwrap_or(0)), parts.next().unwrap_or(0))
}

/// Adds the lane of the calls and the lanes of the ranks at the other ends of messages. Returns the lane of the calls.
fn add_lanes(
    trace: &mut Trace,
    document: &ExecutionDocument,
    executions: Executions,
    calls: &[(Call, Option<usize>)],
) -> LaneIdx {
    let program = ProgramId(document.app.unwrap_or(0));
    let own = (
        RankId(document.rank.unwrap_or(0)),
        ThreadId(document.thread.unwrap_or(0) as u32),
    );
    let messages = &document.window.comm_window;
    let mut places: BTreeSet<(RankId, ThreadId)> = BTreeSet::from([own]);
    let partners = messages.iter().map(|message| RankId(message.partner()));
    places.extend(
        partners
            .filter(|partner| *partner != own.0)
            .map(|partner| (partner, ThreadId(0))),
    );
    for &(rank, thread) in &places {
        trace.lanes.push(Lane {
            program,
            rank,
            thread,
            executions: Executions::default(),
            comms: Comms::default(),
            counters: Counters::default(),
        });
    }
    let at = |rank: RankId| places.iter().position(|place| place.0 == rank).unwrap_or(0);
    let lane = LaneIdx::from_index(at(own.0));
    for message in messages {
        let call = calls
            .iter()
            .position(|(call, _)| {
                !call.event_id.is_empty() && call.event_id == message.execdata_key
            })
            .map(|at| NonMaxIdx::from(ExecIdx::from_index(at)));
        let partner = RankId(message.partner());
        add_message(
            &mut trace.lanes,
            message,
            (lane, call),
            (LaneIdx::from_index(at(partner)), own.0),
        );
    }
    trace.lanes[lane.index()].executions = executions;
    trace.messages = matched(&trace.lanes);
    lane
}

/// Adds both ends of a message: the recorded one, and its mate.
fn add_message(
    lanes: &mut [Lane],
    message: &CommWindowEntry,
    (own, call): (LaneIdx, Option<NonMaxIdx>),
    (other, own_rank): (LaneIdx, RankId),
) {
    let (kind, mate_kind) = match message.kind {
        CommType::Send => (CommKind::Send, CommKind::Recv),
        CommType::Recv => (CommKind::Recv, CommKind::Send),
    };
    let mut add = |lane: LaneIdx, kind, partner, exec| {
        let comms = &mut lanes[lane.index()].comms;
        comms.time.push(time(message.timestamp_us));
        comms.kind.push(kind);
        comms.partner.push(partner);
        comms.tag.push(message.tag);
        comms.size_bytes.push(message.bytes);
        comms.exec.push(exec);
        comms.mate.push(None);
        CommRef {
            lane,
            row: comms.len() as u32 - 1,
        }
    };
    let known = add(own, kind, RankId(message.partner()), call);
    let mate = add(other, mate_kind, own_rank, None);
    for (end, mate) in [(known, mate), (mate, known)] {
        lanes[end.lane.index()].comms.mate[end.row as usize] = Some(mate);
    }
}

/// Returns the messages of lanes whose events have mates, in order of sending.
fn matched(lanes: &[Lane]) -> Vec<Message> {
    let mut messages = Vec::new();
    for (lane, held) in lanes.iter().enumerate() {
        for (row, mate) in held.comms.mate.iter().enumerate() {
            if let (Some(recv), CommKind::Send) = (mate, held.comms.kind[row]) {
                let send = CommRef {
                    lane: LaneIdx::from_index(lane),
                    row: row as u32,
                };
                messages.push(Message { send, recv: *recv });
            }
        }
    }
    let sent =
        |message: &Message| lanes[message.send.lane.index()].comms.time[message.send.row as usize];
    messages.sort_by_key(|message| (sent(message), message.send));
    messages
}

/// Returns the calls of window and call stack, each once.
fn calls(document: &ExecutionDocument) -> Vec<Call> {
    let window = &document.window.exec_window;
    let stack = &document.call_stack;
    let exits = window.iter().map(|execution| execution.exit);
    let exits = exits.chain(stack.iter().map(|frame| frame.exit));
    let entries = window.iter().map(|execution| execution.entry);
    let end_us = exits
        .chain(entries)
        .chain(document.exit_us)
        .max()
        .unwrap_or(0);
    let is_subject = |event_id: &str| !event_id.is_empty() && event_id == document.event_id;
    let in_stack = |event_id: &str| {
        stack
            .iter()
            .skip(1)
            .any(|frame| !event_id.is_empty() && frame.event_id == event_id)
    };
    let from_window = |execution: &ExecWindowEntry| Call {
        event_id: execution.event_id.clone(),
        parent: execution.parent_event_id.clone(),
        func: Arc::clone(&execution.func),
        entry_us: execution.entry,
        exit_us: exit_us((execution.entry, execution.exit), end_us),
        is_open: execution.exit == 0,
        is_anomaly: execution.is_anomaly,
        role: Role {
            is_subject: is_subject(&execution.event_id),
            is_caller: in_stack(&execution.event_id),
        },
    };
    let mut calls: Vec<Call> = window.iter().map(from_window).collect();
    for (at, frame) in stack.iter().enumerate() {
        let is_known = !frame.event_id.is_empty()
            && window
                .iter()
                .any(|execution| execution.event_id == frame.event_id);
        if !is_known {
            calls.push(from_stack(stack, at, end_us, is_subject(&frame.event_id)));
        }
    }
    calls
}

fn from_stack(stack: &[CallStackEntry], at: usize, end_us: u64, is_subject: bool) -> Call {
    let frame = &stack[at];
    let parent = stack.get(at + 1);
    Call {
        event_id: frame.event_id.clone(),
        parent: parent.map_or_else(String::new, |parent| parent.event_id.clone()),
        func: Arc::clone(&frame.func),
        entry_us: frame.entry,
        exit_us: exit_us((frame.entry, frame.exit), end_us),
        is_open: frame.exit == 0,
        is_anomaly: frame.is_anomaly == Some(true),
        role: Role {
            is_subject: is_subject || at == 0,
            is_caller: at > 0,
        },
    }
}

/// Returns the exit of a call. A call without an exit runs until `end_us`.
fn exit_us((entry_us, exit_us): (u64, u64), end_us: u64) -> u64 {
    let exit_us = if exit_us == 0 { end_us } else { exit_us };
    exit_us.max(entry_us)
}

/// Returns the time range of the initial view.
fn extent(calls: &[Call], document: &ExecutionDocument) -> (TimeNs, TimeNs) {
    let inner = || calls.iter().filter(|call| !call.role.is_caller);
    let messages = || {
        let messages = document.window.comm_window.iter();
        messages.map(|message| message.timestamp_us)
    };
    let from_us = inner()
        .map(|call| call.entry_us)
        .chain(document.entry_us)
        .chain(messages())
        .min()
        .unwrap_or(0);
    let to_us = inner()
        .map(|call| call.exit_us)
        .chain(document.exit_us)
        .chain(messages())
        .max()
        .unwrap_or(0);
    (time(from_us), time(to_us.max(from_us.saturating_add(1))))
}
