//! The collectives of each communicator or process group, by member.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{LaneIdx, ProgramId, Trace, WarningKind};
use callgrove_segments::{
    CallKind, Clocks, Operation, OperationKind, OperationRef, PathIdx, Segments, TIE, index,
    is_open_at_end,
};

/// The communicator of calls whose readers state none; it is a stated one if no call was assumed to be of it.
const ASSUMED_COMMUNICATOR: u64 = 0;
/// Two ranks are of different groups if in more than one collective in this number one left before the other arrived:
/// as for meetings.
const APART_ONE_IN: usize = 500;

/// One member's part in a collective.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct CollectivePart {
    /// The number of the collective in its group.
    pub(super) sequence: u64,
    pub(super) operation: OperationRef,
}

/// The collectives of one group.
#[derive(Debug)]
pub(super) struct CollectiveGroup {
    /// True if the trace states the group, false if it follows from the numbers of calls.
    pub(super) is_stated: bool,
    /// The parts of each member, an index into the processes, in order of sequence.
    pub(super) members: BTreeMap<usize, Vec<CollectivePart>>,
}

/// A communicator in a run.
type Communicator = (ProgramId, u64);

/// Returns the groups of a run. Groups that follow from numbers of calls are left out where no member can be missing:
/// those in which all members have the same number of calls. Cost: O(n log n) in collectives.
pub(super) fn groups(trace: &Trace, clocks: &Clocks, segments: &Segments) -> Vec<CollectiveGroup> {
    let (stated, stated_calls) = stated(trace, clocks, segments);
    let mut found = Vec::new();
    let has_assumed = trace.warnings.total(WarningKind::CommunicatorAssumed) > 0;
    for (communicator, members) in stated {
        if has_assumed && communicator.1 == ASSUMED_COMMUNICATOR {
            found.extend(components(segments, members));
        } else {
            found.push(CollectiveGroup {
                is_stated: true,
                members,
            });
        }
    }
    for members in by_path(segments, &stated_calls) {
        found.extend(components(segments, members));
    }
    found
}

/// The calls of each lane of which the trace states the communicator, by their index among its operations, ascending.
type StatedCalls = Vec<Vec<(usize, Communicator)>>;

/// Returns the collectives by stated communicator, and their operations.
fn stated(
    trace: &Trace,
    clocks: &Clocks,
    segments: &Segments,
) -> (
    BTreeMap<Communicator, BTreeMap<usize, Vec<CollectivePart>>>,
    StatedCalls,
) {
    let mut found: BTreeMap<Communicator, BTreeMap<usize, Vec<CollectivePart>>> = BTreeMap::new();
    let mut calls: StatedCalls = vec![Vec::new(); segments.lanes.len()];
    for it in &trace.collectives {
        let lane = segments.lane(it.lane);
        let time = clocks.common(it.lane, it.time);
        let at = lane.operations.partition_point(|it| it.end < time);
        // An idle time may end where the call begins.
        let mut near = (at..lane.operations.len()).take(2);
        let is_around = |at: &usize| {
            let operation = &lane.operations[*at];
            operation.start <= time && operation.kind != OperationKind::Idle
        };
        if let Some(at) = near.find(is_around) {
            let communicator = (trace.lane(it.lane).program, it.communicator);
            let members = found.entry(communicator).or_default();
            members
                .entry(lane.process)
                .or_default()
                .push(CollectivePart {
                    sequence: it.sequence,
                    operation: OperationRef::new(it.lane, at),
                });
            calls[it.lane.index()].push((at, communicator));
        }
    }
    for calls in &mut calls {
        calls.sort_unstable();
        calls.dedup_by_key(|it| it.0);
    }
    for (operation, communicator) in open_unstated(trace, segments, &calls) {
        let process = segments.lane(operation.lane).process;
        let members = found.entry(communicator).or_default();
        let parts = members.entry(process).or_default();
        let last = parts.iter().map(|it| it.sequence).max();
        parts.push(CollectivePart {
            sequence: last.map_or(0, |it| it.saturating_add(1)),
            operation,
        });
        calls[operation.lane.index()].push((operation.at(), communicator));
    }
    for parts in found.values_mut().flat_map(BTreeMap::values_mut) {
        parts.sort_unstable();
        parts.dedup_by_key(|it| it.sequence);
    }
    (found, calls)
}

/// Returns the collectives that are open at the end, and whose communicators are those of earlier calls: formats state
/// a communicator when the call ends. It is that of the lane's last call on the same path, or the only one of the lane.
fn open_unstated(
    trace: &Trace,
    segments: &Segments,
    stated: &StatedCalls,
) -> Vec<(OperationRef, Communicator)> {
    let mut found = Vec::new();
    for (lane, it) in trace.lanes() {
        let (operations, earlier) = (&segments.lane(lane).operations, &stated[lane.index()]);
        let (Some(open), Some(&(last, only))) = (operations.last(), earlier.last()) else {
            continue;
        };
        let at = operations.len() - 1;
        if last == at || !is_collective(open) || !is_open_at_end(&it.executions, open.call) {
            continue;
        }
        let is_on_path = |it: &&(usize, Communicator)| operations[it.0].path == open.path;
        let on_path = earlier.iter().rev().find(is_on_path).map(|it| it.1);
        let is_only = || earlier.iter().all(|it| it.1 == only);
        if let Some(communicator) = on_path.or_else(|| is_only().then_some(only)) {
            found.push((OperationRef::new(lane, at), communicator));
        }
    }
    found
}

fn is_collective(operation: &Operation) -> bool {
    matches!(operation.kind, OperationKind::Call(kind) if kind.is_collective())
}

/// Returns the collectives of a lane of which no communicator is stated, by their index.
fn unstated<'a>(
    segments: &'a Segments,
    stated: &'a StatedCalls,
    lane: LaneIdx,
) -> impl Iterator<Item = (usize, &'a Operation)> {
    let operations = segments.lane(lane).operations.iter().enumerate();
    let mut stated = stated[lane.index()].iter().map(|it| it.0).peekable();
    operations.filter(move |(at, operation)| {
        let is_stated = stated.next_if_eq(at).is_some();
        !is_stated && is_collective(operation)
    })
}

/// Returns the numbers of collectives by call path and process of which no communicator is stated. Cost: linear in
/// operations.
fn counts_by_path(
    segments: &Segments,
    stated: &StatedCalls,
) -> BTreeMap<PathIdx, BTreeMap<usize, usize>> {
    let mut found: BTreeMap<PathIdx, BTreeMap<usize, usize>> = BTreeMap::new();
    let mut counts = vec![0; segments.places.num_paths()];
    let mut paths = Vec::new();
    for (number, it) in segments.lanes.iter().enumerate() {
        for (_, operation) in unstated(segments, stated, LaneIdx::from_index(number)) {
            let count = &mut counts[index(operation.path)];
            if *count == 0 {
                paths.push(operation.path);
            }
            *count += 1;
        }
        for path in paths.drain(..) {
            let count = std::mem::take(&mut counts[index(path)]);
            *found
                .entry(path)
                .or_default()
                .entry(it.process)
                .or_default() += count;
        }
    }
    found
}

/// Returns the collectives of which no communicator is stated, by program and call path, where the numbers of calls
/// of two ranks differ by one.
fn by_path(segments: &Segments, stated: &StatedCalls) -> Vec<BTreeMap<usize, Vec<CollectivePart>>> {
    let mut counts = counts_by_path(segments, stated);
    counts.retain(|_, counts| {
        let values: BTreeSet<usize> = counts.values().copied().collect();
        values.iter().any(|it| values.contains(&(it + 1)))
    });
    let mut found: BTreeMap<(ProgramId, PathIdx), BTreeMap<usize, Vec<CollectivePart>>> =
        BTreeMap::new();
    if counts.is_empty() {
        return Vec::new();
    }
    for (number, it) in segments.lanes.iter().enumerate() {
        let (lane, program) = (
            LaneIdx::from_index(number),
            segments.processes[it.process].0,
        );
        for (at, operation) in unstated(segments, stated, lane) {
            if counts.contains_key(&operation.path) {
                let members = found.entry((program, operation.path)).or_default();
                members.entry(it.process).or_default().push(CollectivePart {
                    sequence: 0,
                    operation: OperationRef::new(lane, at),
                });
            }
        }
    }
    for parts in found.values_mut().flat_map(BTreeMap::values_mut) {
        // The calls of several threads of a rank are one series.
        parts.sort_by_key(|it| (segments.operation(it.operation).start, it.operation));
        for (sequence, part) in (0..).zip(parts.iter_mut()) {
            part.sequence = sequence;
        }
    }
    found.into_values().collect()
}

/// Divides ranks that make calls in the same way into groups: no member of a group leaves a collective before another
/// one arrives. Each rank is compared with one member of each group.
fn components(
    segments: &Segments,
    members: BTreeMap<usize, Vec<CollectivePart>>,
) -> Vec<CollectiveGroup> {
    let mut found: Vec<CollectiveGroup> = Vec::new();
    for (process, parts) in members {
        let group = found.iter_mut().find(|group| {
            let representative = group.members.values().next();
            representative.is_some_and(|it| are_together(segments, it, &parts))
        });
        if let Some(group) = group {
            group.members.insert(process, parts);
        } else {
            found.push(CollectiveGroup {
                is_stated: false,
                members: BTreeMap::from([(process, parts)]),
            });
        }
    }
    found
}

/// Returns whether two ranks were in each collective at the same time, as far as both have it.
fn are_together(segments: &Segments, one: &[CollectivePart], other: &[CollectivePart]) -> bool {
    let pairs = one.iter().zip(other);
    let num_pairs = one.len().min(other.len());
    let is_apart = |(one, other): &(&CollectivePart, &CollectivePart)| {
        let (one, other) = (
            segments.operation(one.operation),
            segments.operation(other.operation),
        );
        let is_rooted = one.kind == OperationKind::Call(CallKind::Rooted);
        !is_rooted && (one.end + TIE < other.start || other.end + TIE < one.start)
    };
    let mut apart = pairs.filter(is_apart);
    apart.nth(num_pairs / APART_ONE_IN).is_none()
}
