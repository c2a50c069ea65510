//! Segments of a lane: gaps of own work between events, and operations in which it can wait.

use std::ops::Range;

use callgrove_model::{
    CallSize, CommKind, DurationNs, ExecIdx, ExecRef, FuncId, Lane, LaneIdx, ProgramId, RankId,
    ThreadId, TimeNs, Trace, TracerWrite,
};

use super::call_kind::CallKind;
use super::clock::Clocks;
use super::device_waits::DeviceWaits;
use super::gpu_streams::{IDLE_TIMER, StatedStreams, gpu_stream_lanes};
use super::numbers::number;
use super::operation::{Operation, OperationKind, OperationRef};
use super::places::{GapPart, GapPlace, PathIdx, Places, SizeClass, size_class};
use super::short_visits::ShortVisits;

/// Minimum own work that is looked at by itself, and minimum excess of it: less comes from the clock or the machine.
pub const MIN_WORK: DurationNs = DurationNs::from_us(30);

/// The time between two events outside every call that can wait. Times are on the common clock.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    /// The time of the event before it.
    pub start: TimeNs,
    /// The time of the event after it.
    pub end: TimeNs,
    /// The innermost call that is open in the gap.
    pub call: ExecIdx,
    /// The place in the program, numbered by [`Places`].
    pub place: u32,
    /// Number of operations of the lane before the gap.
    pub operations_before: u32,
    /// True if the tracer wrote in at least half of it.
    pub is_written: bool,
}

impl Gap {
    /// Returns the time between the two events.
    pub fn duration(&self) -> DurationNs {
        self.end.since(self.start)
    }
}

/// The segments of one lane, in order of time.
#[derive(Default, Debug)]
pub struct LaneSegments {
    /// Its own work. In a whole run, gaps of up to [`MIN_WORK`] are in [`Segments::short`] instead, unless the lane is
    /// a stream of a device.
    pub gaps: Vec<Gap>,
    /// The number of all gaps.
    pub num_gaps: usize,
    /// The time of all gaps.
    pub own_work: DurationNs,
    /// The start of the first gap and the end of the last one, unless there is no gap.
    pub span: Option<(TimeNs, TimeNs)>,
    /// The operations in which it can wait.
    pub operations: Vec<Operation>,
    /// True if the lane is a stream of a device.
    pub is_device: bool,
    /// The rank, an index into [`Segments::processes`].
    pub process: usize,
}

/// The segments of all lanes.
#[derive(Debug)]
pub struct Segments {
    /// By lane. `[num_lanes]`
    pub lanes: Vec<LaneSegments>,
    /// The call paths and places of all lanes.
    pub places: Places,
    /// The short gaps of a whole run, except those in which the tracer wrote.
    pub short: ShortVisits,
    /// The ranks, ascending.
    pub processes: Vec<(ProgramId, RankId)>,
    /// The calls that wait for a GPU.
    device_waits: DeviceWaits,
}

impl LaneSegments {
    /// Returns how much of a time range the lane was in operations.
    pub fn in_operations(&self, time: Range<TimeNs>) -> DurationNs {
        let from = self.operations.partition_point(|it| it.end <= time.start);
        let within = self.operations[from..].iter();
        let within = within.take_while(|it| it.start < time.end);
        let parts = within.map(|it| it.end.min(time.end).since(it.start.max(time.start)));
        parts.sum()
    }
}

impl Segments {
    /// Splits every lane of an excerpt of a run into segments, each by itself. Cost: linear in events.
    pub fn of_excerpt(trace: &Trace, clocks: &Clocks) -> Self {
        Self::split(trace, clocks, DurationNs(-1), &mut |_, _, _| {})
    }

    /// Splits every lane into segments, each by itself. Gaps of host threads that are not longer than `short` are given to
    /// `on_short` with their lane and call path, unless the tracer wrote in them.
    pub(crate) fn split(
        trace: &Trace,
        clocks: &Clocks,
        short: DurationNs,
        on_short: &mut impl FnMut(LaneIdx, PathIdx, &Gap),
    ) -> Self {
        let kinds = CallKind::of_trace(trace);
        let device_waits = DeviceWaits::find(trace);
        let processes: Vec<_> = trace.ranks().into_iter().collect();
        let devices = gpu_stream_lanes(trace, &kinds);
        let mirrors = StatedStreams::mirrors(trace);
        let mut places = Places::default();
        let lanes = trace.lanes().map(|(index, lane)| {
            let rank = (lane.program, lane.rank);
            let process = processes.binary_search(&rank).unwrap_or_else(|at| at);
            let calls = (&kinds[..], &device_waits);
            let is_device = devices.contains(&index);
            let short = if is_device { DurationNs(-1) } else { short };
            let to = (&mut places, short, &mut *on_short);
            let mut walk = Walk::new(trace, clocks, calls, index, to);
            if !mirrors.contains(lane) {
                walk.lane();
            }
            LaneSegments {
                is_device,
                process,
                ..walk.found
            }
        });
        let lanes = lanes.collect();
        Self {
            lanes,
            places,
            short: ShortVisits::default(),
            processes,
            device_waits,
        }
    }

    /// Returns the stream that a call waits for, if it waits for only one.
    pub fn stream_waited_for(&self, call: ExecRef) -> Option<LaneIdx> {
        self.device_waits.stream(call)
    }

    /// Returns the segments of a lane.
    pub fn lane(&self, lane: LaneIdx) -> &LaneSegments {
        &self.lanes[lane.index()]
    }

    /// Returns an operation.
    pub fn operation(&self, it: OperationRef) -> &Operation {
        &self.lanes[it.lane.index()].operations[it.at()]
    }

    /// Returns all operations by lane, then time.
    pub fn operations(&self) -> impl Iterator<Item = (OperationRef, &Operation)> {
        self.lanes.iter().enumerate().flat_map(|(lane, it)| {
            let lane = LaneIdx::from_index(lane);
            let numbered = it.operations.iter().enumerate();
            numbered.map(move |(at, operation)| (OperationRef::new(lane, at), operation))
        })
    }

    /// Returns the lane of the first thread of a rank.
    pub fn first_thread(&self, trace: &Trace, process: usize) -> Option<LaneIdx> {
        let (program, rank) = *self.processes.get(process)?;
        let is_of = |lane: &Lane| (lane.program, lane.rank) >= (program, rank);
        let at = trace.lanes.partition_point(|lane| !is_of(lane));
        let lane = trace.lanes.get(at)?;
        let is_first = (lane.program, lane.rank, lane.thread) == (program, rank, ThreadId(0));
        is_first.then(|| LaneIdx::from_index(at))
    }
}

/// A walk through the events of one lane.
struct Walk<'a, F> {
    lane: &'a Lane,
    trace: &'a Trace,
    clocks: &'a Clocks,
    kinds: &'a [CallKind],
    device_waits: &'a DeviceWaits,
    sizes: &'a [CallSize],
    writes: &'a [TracerWrite],
    index: LaneIdx,
    places: &'a mut Places,
    /// The longest gap that is short.
    short: DurationNs,
    on_short: &'a mut F,
    /// The open calls with their paths, outermost first.
    open: Vec<(ExecIdx, PathIdx)>,
    /// The depth at which the open operation began.
    operation_depth: Option<usize>,
    /// The time of the last event.
    last: Option<TimeNs>,
    /// The function that ended with the last event.
    before: Option<FuncId>,
    next_write: usize,
    next_row: usize,
    found: LaneSegments,
}

impl<'a, F: FnMut(LaneIdx, PathIdx, &Gap)> Walk<'a, F> {
    fn new(
        trace: &'a Trace,
        clocks: &'a Clocks,
        (kinds, device_waits): (&'a [CallKind], &'a DeviceWaits),
        index: LaneIdx,
        (places, short, on_short): (&'a mut Places, DurationNs, &'a mut F),
    ) -> Self {
        Self {
            lane: trace.lane(index),
            trace,
            clocks,
            kinds,
            device_waits,
            sizes: trace.sizes_on(index),
            writes: trace.writes_on(index),
            index,
            places,
            short,
            on_short,
            open: Vec::new(),
            operation_depth: None,
            last: None,
            before: None,
            next_write: 0,
            next_row: 0,
            found: LaneSegments::default(),
        }
    }

    fn lane(&mut self) {
        let executions = &self.lane.executions;
        for row in 0..executions.len() {
            let exec = ExecIdx::from_index(row);
            self.leave_until(Some(exec));
            self.enter(exec);
        }
        self.leave_until(None);
    }

    /// Leaves the calls that end before `next` is entered.
    fn leave_until(&mut self, next: Option<ExecIdx>) {
        let executions = &self.lane.executions;
        while let Some(&(call, _)) = self.open.last() {
            if next.is_some_and(|next| next < executions.subtree_end[call.index()]) {
                return;
            }
            self.leave(call);
        }
    }

    fn common(&self, time: TimeNs) -> TimeNs {
        self.clocks.common(self.index, time)
    }

    fn enter(&mut self, exec: ExecIdx) {
        let executions = &self.lane.executions;
        let func = executions.func[exec.index()];
        let time = self.common(executions.entry[exec.index()]);
        self.until(time, func, true);
        let caller = self.open.last().map_or(0, |it| it.1);
        let path = match self.operation_depth {
            Some(_) => caller,
            None => self.places.path(caller, func),
        };
        self.open.push((exec, path));
        let kind = self.kind(exec, func);
        if self.operation_depth.is_none() && kind.can_wait() {
            self.operation_depth = Some(self.open.len());
            self.found.operations.push(Operation {
                start: time,
                end: time,
                call: exec,
                func,
                path,
                kind: OperationKind::Call(kind),
                silence: time..time,
                rows: 0..0,
            });
        }
        self.before = None;
        self.last = Some(time);
    }

    fn kind(&self, exec: ExecIdx, func: FuncId) -> CallKind {
        let kind = self.kinds[func.index()];
        let lane = self.index;
        let waits = kind == CallKind::Work && self.device_waits.contains(ExecRef { lane, exec });
        if waits { CallKind::DeviceSync } else { kind }
    }

    fn leave(&mut self, call: ExecIdx) {
        let executions = &self.lane.executions;
        let func = executions.func[call.index()];
        let time = self.common(executions.exit(call));
        self.until(time, func, false);
        if self.operation_depth == Some(self.open.len()) {
            self.operation_depth = None;
            if executions.is_open(call) {
                // The event that it waited for is not in the trace.
                self.found.operations.pop();
            } else {
                self.end_operation(call, time);
            }
        }
        self.open.pop();
        self.before = Some(func);
        self.last = Some(time);
    }

    fn end_operation(&mut self, call: ExecIdx, end: TimeNs) {
        let entry = self.lane.executions.entry[call.index()];
        let exit = self.lane.executions.exit(call);
        let times = &self.lane.comms.time;
        let is_before = |time: &&TimeNs| **time < entry;
        self.next_row += times[self.next_row..].iter().take_while(is_before).count();
        let within = times[self.next_row..].iter().take_while(|it| **it <= exit);
        let mut rows = self.next_row..self.next_row + within.count();
        if entry < exit && self.waits_next(call, exit) {
            // A send is stamped when its call is entered, so with other messages before it, it is one of the next call.
            let kinds = &self.lane.comms.kind;
            let is_next = |row: &usize| kinds[*row] == CommKind::Send && times[*row] == exit;
            let num_next = rows.clone().rev().take_while(is_next).count();
            if num_next < rows.len() {
                rows.end -= num_next;
            }
        }
        self.next_row = rows.end;
        if let Some(operation) = self.found.operations.last_mut() {
            operation.end = end;
            operation.rows = number(rows.start)..number(rows.end);
        }
    }

    /// Returns whether a call that can wait is entered at the time at which another one is left.
    fn waits_next(&self, call: ExecIdx, exit: TimeNs) -> bool {
        let executions = &self.lane.executions;
        let next = executions.subtree_end[call.index()];
        let is_entered = executions.entry.get(next.index()) == Some(&exit);
        is_entered && self.kinds[executions.func[next.index()].index()].can_wait()
    }

    /// Adds the segment between the last event and the next one, at `time`.
    fn until(&mut self, time: TimeNs, next: FuncId, next_enters: bool) {
        let Some(last) = self.last.filter(|last| *last <= time) else {
            return;
        };
        if self.operation_depth.is_some() {
            if let Some(operation) = self.found.operations.last_mut() {
                let longest = operation.silence.end.since(operation.silence.start);
                if time.since(last) > longest {
                    operation.silence = last..time;
                }
            }
        } else if self.is_idle() {
            if last < time {
                let (call, path) = self.open.last().copied().unwrap_or((ExecIdx(0), 0));
                self.found.operations.push(Operation {
                    start: last,
                    end: time,
                    call,
                    func: next,
                    path,
                    kind: OperationKind::Idle,
                    silence: last..time,
                    rows: 0..0,
                });
            }
        } else if let Some(&(call, path)) = self.open.last() {
            let place = GapPlace {
                path,
                before: self.before,
                next,
                next_enters,
                part: GapPart::Whole,
                size: self.size_class(call),
            };
            let gap = Gap {
                start: last,
                end: time,
                call,
                place: self.places.place(place),
                operations_before: number(self.found.operations.len()),
                is_written: self.is_written(call, last, time),
            };
            self.add(gap, path);
        }
    }

    fn add(&mut self, gap: Gap, path: PathIdx) {
        let found = &mut self.found;
        found.num_gaps += 1;
        found.own_work += gap.duration();
        let first = found.span.map_or(gap.start, |it| it.0);
        found.span = Some((first, gap.end));
        if gap.duration() > self.short {
            found.gaps.push(gap);
        } else if !gap.is_written {
            (self.on_short)(self.index, path, &gap);
        }
    }

    fn size_class(&self, call: ExecIdx) -> SizeClass {
        let entry = self.lane.executions.entry[call.index()];
        let at = self.sizes.partition_point(|it| it.time < entry);
        let stated = self.sizes.get(at).filter(|it| it.time == entry);
        stated.map_or(0, |it| size_class(it.bytes))
    }

    /// Returns whether a thread other than the first of its rank is in no function of the program.
    fn is_idle(&self) -> bool {
        let name = |call: ExecIdx| {
            let func = self.lane.executions.func[call.index()];
            self.trace.names.name(func)
        };
        self.lane.thread != ThreadId(0)
            && match self.open.as_slice() {
                [] => true,
                [(call, _)] => name(*call) == IDLE_TIMER,
                _ => false,
            }
    }

    /// Returns whether the tracer wrote in at least half of a gap, or the gap is in a call that only writes the
    /// trace.
    fn is_written(&mut self, call: ExecIdx, start: TimeNs, end: TimeNs) -> bool {
        let func = self.lane.executions.func[call.index()];
        if self.kinds[func.index()] == CallKind::TracerFlush {
            return true;
        }
        let writes = self.writes;
        let common = |time| self.clocks.common(self.index, time);
        while (writes.get(self.next_write)).is_some_and(|write| common(write.end) <= start) {
            self.next_write += 1;
        }
        let within = writes[self.next_write..].iter();
        let within = within.take_while(|write| common(write.start) < end);
        let written: DurationNs = within
            .map(|write| {
                common(write.end)
                    .min(end)
                    .since(common(write.start).max(start))
            })
            .sum();
        written > DurationNs::ZERO && written.0.saturating_mul(2) >= end.since(start).0
    }
}
