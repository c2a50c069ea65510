//! Details of one call: its times, counters and messages, and the reason for its wait.

use std::cmp::Reverse;
use std::ops::Range;

use callgrove_model::{
    CommKind, CommRef, CounterId, DurationNs, ExecIdx, ExecLabel, ExecRef, Executions, FuncId,
    FunctionName, LaneIdx, Message, RankId, TimeNs, Trace, TracerWrite,
};
use serde::{Deserialize, Serialize};

/// Largest number of messages in the details of one call. Beyond it, the longest under way are kept.
const MAX_MESSAGES: usize = 200;

/// The details of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallDetails {
    /// The call.
    pub call: ExecRef,
    /// Function.
    pub func: FuncId,
    /// Its event label.
    pub label: ExecLabel,
    /// Number of callers on the stack.
    pub depth: usize,
    /// Entry.
    pub entry: TimeNs,
    /// Exit; the end of the recording if the call was still running then.
    pub exit: TimeNs,
    /// Inclusive time.
    pub inclusive: DurationNs,
    /// Exclusive time.
    pub exclusive: DurationNs,
    /// Time in it during which the tracer wrote its own data and the lane was stalled.
    pub written: DurationNs,
    /// True if its exit was recorded.
    pub is_closed: bool,
    /// Its caller.
    pub caller: Option<NamedCall>,
    /// Number of calls inside it.
    pub num_calls: usize,
    /// Counters sampled in it, by id.
    pub counters: Vec<CounterDetails>,
    /// Messages sent and received in it, in order of time; at most 200, those that were waited for longest and were
    /// longest under way.
    pub messages: Vec<MessageDetails>,
    /// Number of all messages.
    pub num_messages: usize,
    /// Index in `messages` of the one that ended the longest wait.
    pub wait: Option<usize>,
}

/// The time and the function of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallTimes {
    /// The call.
    pub call: ExecRef,
    /// Function.
    pub func: FuncId,
    /// Entry.
    pub from: TimeNs,
    /// Exit.
    pub to: TimeNs,
}

/// A call and its function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NamedCall {
    /// The call.
    pub call: ExecRef,
    /// Its function.
    pub func: FuncId,
}

/// A counter's samples in a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CounterDetails {
    /// Counter.
    pub counter: CounterId,
    /// Number of samples.
    pub num_samples: usize,
    /// Smallest value.
    pub least: u64,
    /// Largest value.
    pub most: u64,
    /// Last value.
    pub last: u64,
}

/// A message sent or received in a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MessageDetails {
    /// Direction: whether the call sent or received it.
    pub kind: CommKind,
    /// The other rank.
    pub peer: RankId,
    /// Lane of the other rank; `None` if the other end was not recorded. Then its time is unknown, too.
    pub peer_lane: Option<LaneIdx>,
    /// Size as stated by the sender, if known.
    pub size_bytes: u64,
    /// Tag.
    pub tag: u64,
    /// Time of sending.
    pub sent: Option<TimeNs>,
    /// Time of receiving.
    pub received: Option<TimeNs>,
    /// Waiting time of the receiving call, if this message, its last, ended the wait; otherwise zero.
    pub waited: DurationNs,
    /// For a message that a call waited for: time from the start of that call to the sending.
    pub late: Option<DurationNs>,
    /// For a message that a call waited for: the innermost call of the sender at the start of the wait.
    pub sender_did: Option<NamedCall>,
    /// Its index in [`Trace::messages`].
    pub message: Option<usize>,
}

impl MessageDetails {
    /// Returns its time under way; negative if the clocks of the ranks differ.
    pub fn under_way(&self) -> Option<DurationNs> {
        Some(self.received?.since(self.sent?))
    }
}

impl NamedCall {
    /// Returns a call with its function.
    pub fn new(trace: &Trace, call: ExecRef) -> Self {
        let func = trace.lane(call.lane).executions.func[call.exec.index()];
        Self { call, func }
    }
}

impl CallDetails {
    /// Returns the details of a call.
    pub fn new(trace: &Trace, call: ExecRef) -> Self {
        let lane = trace.lane(call.lane);
        let (executions, row) = (&lane.executions, call.exec.index());
        let rows = executions.subtree(call.exec);
        let (entry, exit) = (executions.entry[row], executions.exit(call.exec));
        let mut messages: Vec<MessageDetails> = between(&lane.comms.time, entry, exit)
            .filter(|&event| is_in(lane.comms.exec[event], &rows))
            .map(|event| message_details(trace, call.lane, event))
            .collect();
        let num_messages = messages.len();
        if num_messages > MAX_MESSAGES {
            messages.sort_by_key(|message| Reverse((message.waited, message.under_way())));
            messages.truncate(MAX_MESSAGES);
            messages.sort_by_key(|message| message.received.max(message.sent));
        }
        let longest = messages.iter().map(|message| message.waited).max();
        let longest = longest.filter(|waited| *waited > DurationNs::ZERO);
        Self {
            call,
            func: executions.func[row],
            label: trace.label(call),
            depth: usize::from(executions.depth[row]),
            entry,
            exit,
            inclusive: executions.inclusive[row],
            exclusive: executions.exclusive[row],
            written: written_between(trace, call.lane, entry, exit),
            is_closed: executions.closed[row],
            caller: executions
                .parent(call.exec)
                .map(|exec| NamedCall::new(trace, ExecRef { exec, ..call })),
            num_calls: rows.len() - 1,
            counters: counters(trace, call, entry, exit, &rows),
            wait: longest.and_then(|longest| {
                messages
                    .iter()
                    .position(|message| message.waited == longest)
            }),
            messages,
            num_messages,
        }
    }
}

/// Returns the innermost call that runs at `time`.
pub fn innermost_at(executions: &Executions, time: TimeNs) -> Option<ExecIdx> {
    let entered = executions.entry.partition_point(|&entry| entry <= time);
    let last = entered.checked_sub(1).map(ExecIdx::from_index);
    std::iter::successors(last, |&exec| executions.parent(exec))
        .find(|&exec| executions.exit(exec) > time)
}

fn counters(
    trace: &Trace,
    call: ExecRef,
    entry: TimeNs,
    exit: TimeNs,
    rows: &Range<usize>,
) -> Vec<CounterDetails> {
    let counters = &trace.lane(call.lane).counters;
    let mut found: Vec<CounterDetails> = Vec::new();
    for sample in between(&counters.time, entry, exit) {
        if !is_in(counters.exec[sample], rows) {
            continue;
        }
        let (counter, value) = (counters.counter[sample], counters.value[sample]);
        match found.binary_search_by_key(&counter, |known| known.counter) {
            Ok(at) => {
                let known = &mut found[at];
                known.num_samples += 1;
                known.least = known.least.min(value);
                known.most = known.most.max(value);
                known.last = value;
            }
            Err(at) => found.insert(
                at,
                CounterDetails {
                    counter,
                    num_samples: 1,
                    least: value,
                    most: value,
                    last: value,
                },
            ),
        }
    }
    found
}

fn message_details(trace: &Trace, lane: LaneIdx, event: usize) -> MessageDetails {
    let comms = &trace.lane(lane).comms;
    let (kind, time) = (comms.kind[event], comms.time[event]);
    let own = CommRef {
        lane,
        row: event as u32,
    };
    let mate = comms.mate[event];
    let mate_time = mate.map(|mate| trace.lane(mate.lane).comms.time[mate.row as usize]);
    let (send, sent, received) = match kind {
        CommKind::Send => (Some(own), Some(time), mate_time),
        CommKind::Recv => (mate, mate_time, Some(time)),
    };
    let size_of = |send: CommRef| trace.lane(send.lane).comms.size_bytes[send.row as usize];
    let mut details = MessageDetails {
        kind,
        peer: comms.partner[event],
        peer_lane: mate.map(|mate| mate.lane),
        size_bytes: send.map_or(comms.size_bytes[event], size_of),
        tag: comms.tag[event],
        sent,
        received,
        waited: DurationNs::ZERO,
        late: None,
        sender_did: None,
        message: send.and_then(|send| place_of(trace, send)),
    };
    if let (CommKind::Recv, Some(waiting)) = (kind, waiting_call(trace, lane, event)) {
        let began = trace.lane(lane).executions.entry[waiting.index()];
        details.waited = time.since(began);
        if let (Some(mate), Some(sent)) = (mate, sent.filter(|sent| *sent > began)) {
            details.late = Some(sent.since(began));
            let lane = mate.lane;
            details.sender_did = innermost_at(&trace.lane(lane).executions, began)
                .map(|exec| NamedCall::new(trace, ExecRef { lane, exec }));
        }
    }
    details
}

/// Returns the MPI call that waited for the message received with `event`, which is the last one of that call.
fn waiting_call(trace: &Trace, lane: LaneIdx, event: usize) -> Option<ExecIdx> {
    let held = trace.lane(lane);
    let exec = ExecIdx::from(held.comms.exec[event]?);
    let is_mpi = FunctionName::parse(trace.function_name(ExecRef { lane, exec })).is_mpi();
    let exit = held.executions.exit(exec);
    let is_later = |other: &usize| {
        held.comms.kind[*other] == CommKind::Recv
            && held.comms.exec[*other] == held.comms.exec[event]
    };
    let mut others =
        (event + 1..held.comms.len()).take_while(|&other| held.comms.time[other] <= exit);
    (is_mpi && !others.any(|other| is_later(&other))).then_some(exec)
}

/// Returns the index of the message that was sent with `send`.
fn place_of(trace: &Trace, send: CommRef) -> Option<usize> {
    let key = |send: CommRef| (trace.lane(send.lane).comms.time[send.row as usize], send);
    let by_send = |message: &Message| key(message.send).cmp(&key(send));
    trace.messages.binary_search_by(by_send).ok()
}

fn between(times: &[TimeNs], from: TimeNs, to: TimeNs) -> Range<usize> {
    let start = times.partition_point(|&time| time < from);
    start..start + times[start..].partition_point(|&time| time <= to)
}

/// Returns the time between `from` and `to` during which the tracer wrote on a lane.
fn written_between(trace: &Trace, lane: LaneIdx, from: TimeNs, to: TimeNs) -> DurationNs {
    let inside = |write: &TracerWrite| write.end.min(to).since(write.start.max(from));
    let times = trace.writes_on(lane).iter().map(inside);
    times.filter(|time| *time > DurationNs::ZERO).sum()
}

fn is_in(exec: Option<callgrove_model::NonMaxIdx>, rows: &Range<usize>) -> bool {
    exec.is_some_and(|exec| rows.contains(&ExecIdx::from(exec).index()))
}

#[cfg(test)]
mod tests {
    use callgrove_model::CommKind::{Recv, Send};

    use super::super::fixture::{forest, name, rank};
    use super::*;

    /// Returns a trace in which rank 1 waits from 20 on for a message that rank 0, busy with `work`, sends at 70.
    fn late_sender() -> callgrove_model::Forest {
        let zero = rank(
            0,
            "+main@0 +work@10 -work@65 +MPI_Send@68 -MPI_Send@72 -main@100",
            &[(Send, 1, 70)],
        );
        let one = rank(
            1,
            "+main@0 +MPI_Wait@20 -MPI_Wait@80 -main@100",
            &[(Recv, 0, 79)],
        );
        forest(vec![zero, one], "main")
    }

    fn call(lane: u32, exec: u32) -> ExecRef {
        ExecRef {
            lane: LaneIdx(lane),
            exec: ExecIdx(exec),
        }
    }

    #[test]
    fn a_wait_has_its_message_its_lateness_and_the_call_of_the_sender() {
        let forest = late_sender();
        let trace = forest.trace();
        let details = CallDetails::new(trace, call(1, 1));
        assert_eq!(details.wait, Some(0));
        let message = &details.messages[0];
        assert_eq!((message.peer, message.kind), (RankId(0), Recv));
        assert_eq!(message.late, Some(DurationNs(50)));
        assert_eq!(message.under_way(), Some(DurationNs(9)));
        assert_eq!((message.size_bytes, message.tag), (64, 7));
        let did = message.sender_did.expect("rank 0 was in a call");
        assert_eq!(name(&forest, did.func), "work");
    }

    #[test]
    fn a_call_has_its_times_its_caller_and_the_messages_of_its_callees() {
        let forest = late_sender();
        let trace = forest.trace();
        let main = CallDetails::new(trace, call(0, 0));
        assert_eq!(
            (main.caller, main.num_calls, main.num_messages),
            (None, 2, 1)
        );
        assert_eq!(
            (main.inclusive, main.exclusive),
            (DurationNs(100), DurationNs(41))
        );
        assert_eq!(main.messages[0].late, None, "a sender does not wait");
        let work = CallDetails::new(trace, call(0, 1));
        let caller = work.caller.map(|caller| caller.call);
        assert_eq!((caller, work.num_messages), (Some(call(0, 0)), 0));
        assert_eq!((work.entry, work.exit), (TimeNs(10), TimeNs(65)));
    }

    #[test]
    fn the_innermost_call_at_a_time_is_found() {
        let forest = late_sender();
        let executions = &forest.trace().lanes[0].executions;
        let at = |time| innermost_at(executions, TimeNs(time)).map(|exec| exec.0);
        assert_eq!(
            [-1, 0, 10, 64, 65, 99, 100].map(at),
            [None, Some(0), Some(1), Some(1), Some(0), Some(0), None]
        );
    }
}
