//! The open stall summaries of a program as a small trace, in which the engine of recorded runs (`core/causes`) finds
//! causes.
//!
//! Each thread of a rank is a lane with its known calls: those that stalled, and those that sent or received. A call in
//! which a lane can wait has its full duration, any other call the duration of its stall. Messages are matched by
//! sender, receiver, tag and number, since their order is incomplete.

use std::collections::BTreeMap;

use callgrove_model::{
    CommKind, CommRef, Comms, Counters, ExecIdx, ExecLabel, ExecRef, FuncId, Lane, LaneIdx,
    Message, Metadata, NameTable, ProgramId, RankId, StepId, ThreadId, TimeNs, Trace,
};
use callgrove_segments::can_wait;

use crate::names::FunctionNames;
use crate::nested_calls::{KnownCall, NestedCalls, ReportedStall};
use crate::stall_summary::{MessageEntry, StallEntry, StallSummary};

/// Function name of the call that encloses everything known of a lane.
const PROGRAM: &str = "program";
/// Function name of a call of which only a message is known.
const MESSAGE: &str = "MPI_Message()";

/// Key of a message: sender, receiver, tag, number. MPI keeps the order of messages with equal sender, receiver and
/// tag, so the SEND and the RECV with the same number match.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct MessageKey {
    pub(crate) source: RankId,
    pub(crate) destination: RankId,
    pub(crate) tag: u64,
    pub(crate) number: u64,
}

/// A message with both ends reported.
pub(crate) struct ReportedMessage<'a> {
    pub(crate) key: MessageKey,
    pub(crate) send: &'a MessageEntry,
    pub(crate) recv: &'a MessageEntry,
}

/// The excerpt of a program's run, built from its open stall summaries.
pub(crate) struct Excerpt<'a> {
    pub(crate) trace: Trace,
    /// In the order of the trace's messages.
    pub(crate) messages: Vec<ReportedMessage<'a>>,
    /// The calls of each message with the message's index, ascending.
    messages_of: Vec<(ExecLabel, usize)>,
    /// By lane and execution.
    stalls: Vec<Vec<Option<ReportedStall<'a>>>>,
    /// True if the execution, or a library call within it, stalled; by lane and execution.
    is_stalled: Vec<Vec<bool>>,
}

/// The known facts of a lane.
#[derive(Default)]
struct LaneFacts<'a> {
    spans: Vec<KnownCall<'a>>,
    /// For each end of a message: its time, whether it is a receive, and the message's index.
    ends: Vec<(TimeNs, bool, usize)>,
}

impl<'a> Excerpt<'a> {
    /// Builds the excerpt from stall summaries and the hosts of ranks. Duplicate reports count once; impossible times
    /// are left out. Cost: O(n log n) in the number of entries.
    pub(crate) fn new(
        program: ProgramId,
        stall_summaries: &'a BTreeMap<(StepId, RankId), StallSummary>,
        hosts: &BTreeMap<RankId, String>,
        functions: &dyn FunctionNames,
    ) -> Self {
        let mut names = NameTable::default();
        let program_func = names.intern(PROGRAM);
        let message_func = names.intern(MESSAGE);
        let stalls = stalls(stall_summaries);
        let messages = matched(stall_summaries);
        let mut lanes = KnownLanes::new();
        add_stalls(&mut lanes, &stalls, functions, &mut names);
        add_messages(&mut lanes, &messages, &stalls, message_func);
        let metadata = hosts.iter().map(|(&rank, host)| Metadata {
            program: ProgramId(0),
            rank,
            thread: ThreadId(0),
            key: "Hostname".to_owned(),
            value: host.clone(),
        });
        let mut excerpt = Self {
            trace: Trace {
                names,
                metadata: metadata.collect(),
                ..Trace::default()
            },
            messages: Vec::new(),
            messages_of: Vec::new(),
            stalls: Vec::with_capacity(lanes.len()),
            is_stalled: Vec::with_capacity(lanes.len()),
        };
        let mut event_refs: Vec<[Option<CommRef>; 2]> = vec![[None; 2]; messages.len()];
        for ((rank, thread), facts) in lanes {
            excerpt.add_lane(
                program,
                (rank, thread),
                facts,
                program_func,
                &messages,
                &mut event_refs,
            );
        }
        excerpt.add_messages(messages, &event_refs);
        excerpt
    }

    /// Returns whether an execution, or another one within this library call, stalled.
    pub(crate) fn is_stalled(&self, it: ExecRef) -> bool {
        let of_lane = self.is_stalled.get(it.lane.index());
        of_lane
            .and_then(|of_lane| of_lane.get(it.exec.index()))
            .is_some_and(|it| *it)
    }

    /// Returns the stall of an execution.
    pub(crate) fn stall(&self, it: ExecRef) -> Option<ReportedStall<'a>> {
        let of_lane = self.stalls.get(it.lane.index())?;
        *of_lane.get(it.exec.index())?
    }

    /// Returns the stalls of a stalled execution: its own, and those within it.
    pub(crate) fn stalls_in(
        &self,
        it: ExecRef,
    ) -> impl Iterator<Item = (ExecRef, ReportedStall<'a>)> {
        let executions = &self.trace.lane(it.lane).executions;
        let rows = if self.is_stalled(it) {
            executions.subtree(it.exec)
        } else {
            0..0
        };
        rows.filter_map(move |row| {
            let exec = ExecIdx::from_index(row);
            let call = ExecRef { exec, ..it };
            Some((call, self.stall(call)?))
        })
    }

    /// Returns the messages with an end in a call, as indices into [`Excerpt::messages`].
    pub(crate) fn messages_of(&self, call: ExecLabel) -> impl Iterator<Item = usize> {
        let first = self.messages_of.partition_point(|it| it.0 < call);
        let from_first = self.messages_of[first..].iter();
        from_first
            .take_while(move |it| it.0 == call)
            .map(|&(_, at)| at)
    }

    fn add_lane(
        &mut self,
        program: ProgramId,
        (rank, thread): (RankId, ThreadId),
        facts: LaneFacts<'a>,
        program_func: FuncId,
        messages: &[ReportedMessage<'a>],
        event_refs: &mut [[Option<CommRef>; 2]],
    ) {
        let lane = LaneIdx::from_index(self.trace.lanes.len());
        let LaneFacts { spans, mut ends } = facts;
        // A thread that neither sends nor receives gets its work from the first one.
        let is_whole = thread == ThreadId(0) || !ends.is_empty();
        let calls = NestedCalls::new(spans, is_whole.then_some(program_func));
        ends.sort_unstable();
        let mut comms = Comms::default();
        for (time, is_recv, at) in ends {
            let (message, side) = (&messages[at], usize::from(is_recv));
            let (kind, partner) = if is_recv {
                (CommKind::Recv, message.key.source)
            } else {
                (CommKind::Send, message.key.destination)
            };
            event_refs[at][side] = Some(CommRef {
                lane,
                row: ExecIdx::from_index(comms.len()).0,
            });
            comms.time.push(time);
            comms.kind.push(kind);
            comms.partner.push(partner);
            comms.tag.push(message.key.tag);
            comms.size_bytes.push(0);
            comms.exec.push(None);
            comms.mate.push(None);
        }
        self.stalls.push(calls.stalls);
        self.is_stalled.push(calls.is_stalled);
        self.trace.lanes.push(Lane {
            program,
            rank,
            thread,
            executions: calls.executions,
            comms,
            counters: Counters::default(),
        });
    }

    /// Links the two ends of each message, in order of sending.
    fn add_messages(
        &mut self,
        messages: Vec<ReportedMessage<'a>>,
        event_refs: &[[Option<CommRef>; 2]],
    ) {
        let mut found = Vec::with_capacity(messages.len());
        for (message, ends) in messages.into_iter().zip(event_refs) {
            if let [Some(send), Some(recv)] = *ends {
                let sent = self.set_mate(send, recv);
                self.set_mate(recv, send);
                found.push((sent, Message { send, recv }, message));
            }
        }
        found.sort_by_key(|(sent, ends, _)| (*sent, ends.send));
        for (_, ends, message) in found {
            let calls = [message.send.call, message.recv.call].into_iter().flatten();
            let at = self.messages.len();
            self.messages_of.extend(calls.map(|call| (call, at)));
            self.trace.messages.push(ends);
            self.messages.push(message);
        }
        self.messages_of.sort_unstable();
    }

    /// Returns the time of the first end.
    fn set_mate(&mut self, of: CommRef, mate: CommRef) -> TimeNs {
        let comms = &mut self.trace.lanes[of.lane.index()].comms;
        let row = ExecIdx(of.row).index();
        comms.mate[row] = Some(mate);
        comms.time[row]
    }
}

type KnownLanes<'a> = BTreeMap<(RankId, ThreadId), LaneFacts<'a>>;

/// Adds the stalled calls to their lanes.
fn add_stalls<'a>(
    lanes: &mut KnownLanes<'a>,
    stalls: &BTreeMap<ExecLabel, ReportedStall<'a>>,
    functions: &dyn FunctionNames,
    names: &mut NameTable,
) {
    let mut known: BTreeMap<FuncId, (FuncId, bool)> = BTreeMap::new();
    for (&label, &stall) in stalls {
        let fid = stall.entry.fid;
        let (func, can_wait) = *known.entry(fid).or_insert_with(|| {
            let name = functions.name(fid);
            (names.intern(name), can_wait(name))
        });
        if let Some((start, end)) = span_of(stall.entry, can_wait) {
            let lane = lanes.entry((label.rank, stall.entry.thread)).or_default();
            lane.spans.push(KnownCall {
                start,
                end,
                func,
                can_wait,
                label: Some(label),
                stall: Some(stall),
            });
        }
    }
}

/// Adds the ends of messages to their lanes; those outside stalled calls become calls of a function.
fn add_messages(
    lanes: &mut KnownLanes<'_>,
    messages: &[ReportedMessage<'_>],
    stalls: &BTreeMap<ExecLabel, ReportedStall<'_>>,
    func: FuncId,
) {
    let mut calls: Vec<MessageCall> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for (rank, end) in [
            (message.key.source, message.send),
            (message.key.destination, message.recv),
        ] {
            let stall = end.call.and_then(|call| stalls.get(&call));
            let thread = stall.map_or(end.thread, |stall| stall.entry.thread);
            let Some(time) = TimeNs::from_us(end.time_us) else {
                continue;
            };
            let is_recv = end.kind == CommKind::Recv;
            let lane = lanes.entry((rank, thread)).or_default();
            lane.ends.push((time, is_recv, at));
            if stall.is_none() {
                let called = TimeNs::from_us(end.called_us).unwrap_or(time).min(time);
                calls.push(MessageCall {
                    place: (rank, thread, CallKey::of(end, message.key)),
                    start: called,
                    end: time,
                });
            }
        }
    }
    // Several messages of one call are one call.
    calls.sort_unstable();
    for of_call in calls.chunk_by(|a, b| a.place == b.place) {
        let MessageCall { place, start, end } = of_call[0];
        let (rank, thread, call) = place;
        let end = of_call.iter().fold(end, |end, it| end.max(it.end));
        let lane = lanes.entry((rank, thread)).or_default();
        lane.spans.push(KnownCall {
            start,
            end,
            func,
            can_wait: true,
            label: call.label(),
            stall: None,
        });
    }
}

/// A call with a message, outside stalled calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MessageCall {
    place: (RankId, ThreadId, CallKey),
    start: TimeNs,
    end: TimeNs,
}

/// Identifies a call of which only messages are known: its label, or the message if it has none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CallKey {
    Labelled(ExecLabel),
    Message(MessageKey),
}

impl CallKey {
    fn of(end: &MessageEntry, message: MessageKey) -> Self {
        end.call.map_or(Self::Message(message), Self::Labelled)
    }

    fn label(self) -> Option<ExecLabel> {
        match self {
            Self::Labelled(label) => Some(label),
            Self::Message(_) => None,
        }
    }
}

/// Returns all stalls, each as first reported.
fn stalls(
    stall_summaries: &BTreeMap<(StepId, RankId), StallSummary>,
) -> BTreeMap<ExecLabel, ReportedStall<'_>> {
    let mut found = BTreeMap::new();
    for (&(step, _), summary) in stall_summaries {
        for stall in &summary.stalls {
            let reported = ReportedStall { step, entry: stall };
            found.entry(stall.label).or_insert(reported);
        }
    }
    found
}

/// Returns start and end of a stall's call on its lane.
fn span_of(stall: &StallEntry, can_wait: bool) -> Option<(TimeNs, TimeNs)> {
    let is_whole = stall.entry_us <= stall.from_us && stall.to_us <= stall.exit_us;
    let (start_us, end_us) = if can_wait && is_whole {
        (stall.entry_us, stall.exit_us)
    } else {
        (stall.from_us, stall.to_us)
    };
    let (start, end) = (TimeNs::from_us(start_us)?, TimeNs::from_us(end_us)?);
    (start < end).then_some((start, end))
}

/// Returns the messages with both ends reported, by key, except those that a rank sent to itself.
fn matched(stall_summaries: &BTreeMap<(StepId, RankId), StallSummary>) -> Vec<ReportedMessage<'_>> {
    let mut ends: [Vec<(MessageKey, &MessageEntry)>; 2] = [Vec::new(), Vec::new()];
    for (&(_, rank), summary) in stall_summaries {
        for end in &summary.messages {
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
            let side = usize::from(end.kind == CommKind::Recv);
            if source != destination && TimeNs::from_us(end.time_us).is_some() {
                ends[side].push((key, end));
            }
        }
    }
    // Of several reports of one end, the first counts.
    for of_side in &mut ends {
        of_side.sort_by_key(|it| it.0);
        of_side.dedup_by_key(|it| it.0);
    }
    let [sends, recvs] = ends;
    let mut recvs = recvs.into_iter().peekable();
    let both = sends.into_iter().filter_map(|(key, send)| {
        while recvs.next_if(|it| it.0 < key).is_some() {}
        let (_, recv) = recvs.next_if(|it| it.0 == key)?;
        Some(ReportedMessage { key, send, recv })
    });
    both.collect()
}
