//! Segments of a lane: gaps of own work between events, and operations in which it can wait.

use std::collections::HashMap;
use std::ops::Range;

use callgrove_model::{
    CallSize, DurationNs, ExecIdx, ExecRef, FuncId, Lane, LaneIdx, ProgramId, RankId, ThreadId,
    TimeNs, Trace, TracerWrite,
};

use super::call_kind::CallKind;
use super::clock::Clocks;
use super::device_waits::DeviceWaits;
use super::gpu_streams::{StatedStreams, gpu_stream_lanes};

/// The call in which TAU counts the time of a thread outside every function of the program.
const IDLE_TIMER: &str = ".TAU application";

/// Returns a 32-bit number as an index.
pub(super) const fn index(number: u32) -> usize {
    ExecIdx(number).index()
}

/// Returns an index as a 32-bit number; every list has fewer than 2^32 items.
pub(super) const fn number(index: usize) -> u32 {
    ExecIdx::from_index(index).0
}

/// A call path, numbered by [`Places`].
pub(super) type PathIdx = u32;

/// The time between two events outside every call that can wait. Times are on the common clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) start: TimeNs,
    pub(super) end: TimeNs,
    /// The innermost call that is open in the gap.
    pub(super) call: ExecIdx,
    /// The place in the program, numbered by [`Places`].
    pub(super) place: u32,
    /// Number of operations of the lane before the gap.
    pub(super) operations_before: u32,
    /// True if the tracer wrote in at least half of it.
    pub(super) is_written: bool,
}

impl Gap {
    pub(super) fn duration(&self) -> DurationNs {
        self.end.since(self.start)
    }
}

/// The way in which an operation can wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OperationKind {
    /// A call of this kind.
    Call(CallKind),
    /// A thread or stream is idle until the first thread of its rank gives it work.
    Idle,
    /// A thread waits for an operation of another thread of its rank, which its calls do not show.
    Thread(LaneIdx),
}

/// The part of a visit of a place that a gap is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum GapPart {
    Whole,
    /// Before the operation of another thread that the visit waits for.
    BeforeWait,
    /// After it.
    AfterWait,
}

/// The outermost call that can wait, with everything called in it; or an idle time. Times are on the common clock.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) start: TimeNs,
    pub(super) end: TimeNs,
    /// The call; for an idle time, the call that is open around it.
    pub(super) call: ExecIdx,
    pub(super) func: FuncId,
    pub(super) path: PathIdx,
    pub(super) kind: OperationKind,
    /// The longest time range in it without any event.
    pub(super) silence: Range<TimeNs>,
    /// The message events in it, as rows of the lane.
    pub(super) rows: Range<usize>,
}

/// An operation, by its lane and its index there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OperationRef {
    pub(super) lane: LaneIdx,
    pub(super) at: usize,
}

/// The segments of one lane, in order of time.
#[derive(Default, Debug)]
pub(super) struct LaneSegments {
    pub(super) gaps: Vec<Gap>,
    pub(super) operations: Vec<Operation>,
    /// True if the lane is a stream of a device.
    pub(super) is_device: bool,
    /// The rank, an index into [`Segments::processes`].
    pub(super) process: usize,
}

/// The place of own work: the call path, the function that ended before, and the event that ends it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Place {
    path: PathIdx,
    before: Option<FuncId>,
    next: FuncId,
    next_enters: bool,
    part: GapPart,
    size: SizeClass,
}

/// The size of what a call moves, in steps of a quarter of an octave; 0 if it is not stated. A larger copy is not a
/// slower one: calls are compared with those of their size.
type SizeClass = u8;

/// Number of size classes of an octave: the widest, from 4 to 5, is 25 % wide.
const CLASSES_PER_OCTAVE: u64 = 4;

/// Multiple of its visits from which on the calls around a place are usually without it.
const EXCEPTIONAL: usize = 10;

fn size_class(bytes: u64) -> SizeClass {
    let octave = u64::from(bytes.max(4).ilog2());
    let quarter = (bytes.max(4) >> (octave - 2)) % CLASSES_PER_OCTAVE;
    u8::try_from(octave * CLASSES_PER_OCTAVE + quarter).unwrap_or(SizeClass::MAX)
}

/// Call paths and places of a run, numbered in order of appearance.
#[derive(Default, Debug)]
pub(super) struct Places {
    paths: HashMap<(PathIdx, FuncId), PathIdx>,
    numbers: HashMap<Place, u32>,
    /// The function of each path and the path of its caller; the first path is the empty one.
    of_path: Vec<(Option<FuncId>, PathIdx)>,
    of_place: Vec<Place>,
    /// Number of calls of each path.
    num_calls: Vec<u32>,
}

impl Places {
    fn new() -> Self {
        Self {
            of_path: vec![(None, 0)],
            num_calls: vec![0],
            ..Self::default()
        }
    }

    fn path(&mut self, caller: PathIdx, func: FuncId) -> PathIdx {
        let next = number(self.of_path.len());
        let path = *self.paths.entry((caller, func)).or_insert(next);
        if path == next {
            self.of_path.push((Some(func), caller));
            self.num_calls.push(0);
        }
        let num_calls = &mut self.num_calls[index(path)];
        *num_calls = num_calls.saturating_add(1);
        path
    }

    fn place(&mut self, place: Place) -> u32 {
        let next = number(self.of_place.len());
        let known = *self.numbers.entry(place).or_insert(next);
        if known == next {
            self.of_place.push(place);
        }
        known
    }

    /// Returns the place of a part of the visits of a place.
    pub(super) fn part(&mut self, place: u32, part: GapPart) -> u32 {
        let whole = self.of_place[index(place)];
        self.place(Place { part, ..whole })
    }

    /// Returns the number of places.
    pub(super) fn len(&self) -> usize {
        self.of_place.len()
    }

    /// Returns the number of paths.
    pub(super) fn num_paths(&self) -> usize {
        self.of_path.len()
    }

    /// Returns the call path of a place.
    pub(super) fn path_of(&self, place: u32) -> PathIdx {
        self.of_place[index(place)].path
    }

    /// Returns the part of a visit that a place is.
    pub(super) fn part_of(&self, place: u32) -> GapPart {
        self.of_place[index(place)].part
    }

    /// Returns whether a place with few visits is in a call that is made far more often, mostly without it.
    pub(super) fn is_exceptional(&self, place: u32, num_visits: usize) -> bool {
        let callers = std::iter::successors(Some(self.path_of(place)), |&path| {
            (path != 0).then(|| self.of_path[index(path)].1)
        });
        let mut counts = callers.map(|path| index(self.num_calls[index(path)]));
        counts.any(|num_calls| num_calls >= num_visits.saturating_mul(EXCEPTIONAL))
    }

    /// Returns the innermost function of a path.
    pub(super) fn func(&self, path: PathIdx) -> Option<FuncId> {
        self.of_path[index(path)].0
    }

    /// Returns the function that calls it.
    pub(super) fn caller(&self, path: PathIdx) -> Option<FuncId> {
        let (_, caller) = self.of_path[index(path)];
        self.func(caller)
    }
}

/// The segments of all lanes.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) lanes: Vec<LaneSegments>,
    pub(super) places: Places,
    /// The ranks, ascending.
    pub(super) processes: Vec<(ProgramId, RankId)>,
}

impl LaneSegments {
    /// Returns how much of a time range the lane was in operations.
    pub(super) fn in_operations(&self, time: Range<TimeNs>) -> DurationNs {
        let from = self.operations.partition_point(|it| it.end <= time.start);
        let within = self.operations[from..].iter();
        let within = within.take_while(|it| it.start < time.end);
        let parts = within.map(|it| it.end.min(time.end).since(it.start.max(time.start)));
        parts.sum()
    }
}

impl Segments {
    /// Splits every lane into segments. Cost: linear in events.
    pub(super) fn new(
        trace: &Trace,
        clocks: &Clocks,
        kinds: &[CallKind],
        device_waits: &DeviceWaits,
    ) -> Self {
        let processes: Vec<_> = trace.ranks().into_iter().collect();
        let devices = gpu_stream_lanes(trace, kinds);
        let mirrors = StatedStreams::mirrors(trace);
        let mut places = Places::new();
        let lanes = trace.lanes().map(|(index, lane)| {
            let rank = (lane.program, lane.rank);
            let process = processes.binary_search(&rank).unwrap_or_else(|at| at);
            let calls = (kinds, device_waits);
            let mut walk = Walk::new(trace, clocks, calls, index, &mut places);
            if !mirrors.contains(lane) {
                walk.lane();
            }
            LaneSegments {
                is_device: devices.contains(&index),
                process,
                ..walk.found
            }
        });
        let lanes = lanes.collect();
        Self {
            lanes,
            places,
            processes,
        }
    }

    pub(super) fn lane(&self, lane: LaneIdx) -> &LaneSegments {
        &self.lanes[lane.index()]
    }

    pub(super) fn operation(&self, it: OperationRef) -> &Operation {
        &self.lanes[it.lane.index()].operations[it.at]
    }

    /// Returns all operations by lane, then time.
    pub(super) fn operations(&self) -> impl Iterator<Item = (OperationRef, &Operation)> {
        self.lanes.iter().enumerate().flat_map(|(lane, it)| {
            let lane = LaneIdx::from_index(lane);
            let numbered = it.operations.iter().enumerate();
            numbered.map(move |(at, operation)| (OperationRef { lane, at }, operation))
        })
    }

    /// Returns the lane of the first thread of a rank.
    pub(super) fn first_thread(&self, trace: &Trace, process: usize) -> Option<LaneIdx> {
        let (program, rank) = *self.processes.get(process)?;
        let is_of = |lane: &Lane| (lane.program, lane.rank) >= (program, rank);
        let at = trace.lanes.partition_point(|lane| !is_of(lane));
        let lane = trace.lanes.get(at)?;
        let is_first = (lane.program, lane.rank, lane.thread) == (program, rank, ThreadId(0));
        is_first.then(|| LaneIdx::from_index(at))
    }
}

/// A walk through the events of one lane.
struct Walk<'a> {
    lane: &'a Lane,
    trace: &'a Trace,
    clocks: &'a Clocks,
    kinds: &'a [CallKind],
    device_waits: &'a DeviceWaits,
    sizes: &'a [CallSize],
    writes: &'a [TracerWrite],
    index: LaneIdx,
    places: &'a mut Places,
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

impl<'a> Walk<'a> {
    fn new(
        trace: &'a Trace,
        clocks: &'a Clocks,
        (kinds, device_waits): (&'a [CallKind], &'a DeviceWaits),
        index: LaneIdx,
        places: &'a mut Places,
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
        let path = self.places.path(caller, func);
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
        let rows = self.next_row..self.next_row + within.count();
        self.next_row = rows.end;
        if let Some(operation) = self.found.operations.last_mut() {
            operation.end = end;
            operation.rows = rows;
        }
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
            let place = Place {
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
            self.found.gaps.push(gap);
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
