//! Meetings: the calls of the ranks, or of the threads of one rank, that belong together.
//!
//! If the format states communicators, they determine the meetings. TAU does not record them: the k-th calls of ranks
//! that make a call equally often at one call path may be one meeting. Ranks are of different communicators if one
//! leaves before the other arrives, or if they do not leave together. The delay of a rank separates the communicators:
//! the ranks of other communicators leave without it.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, LaneIdx, ProgramId, TimeNs, Trace};

use super::call_kind::CallKind;
use super::call_series::{
    APART_ONE_IN, CallSeries, CallsByLane, MeetingPlace, TIE, all_series, place,
};
use super::clock::Clocks;
use super::numbers::{index, number};
use super::operation::{OperationKind, OperationRef};
use super::segments::Segments;

/// Maximum distance at which ranks that leave may be together.
const TOGETHER: DurationNs = DurationNs::from_us(15);
/// Maximum distance at which ranks may be together, as a multiple of the distance to the nearest other rank.
const TOGETHER_FACTOR: i64 = 4;
/// Maximum number of pairs of calls; beyond it, evenly spaced calls are compared.
const MAX_PAIRS: usize = 50_000_000;

/// Calls that were made together.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// The calls, in order of lane.
    pub operations: Vec<OperationRef>,
    /// The kind of call.
    pub kind: CallKind,
}

/// The meetings of a run, and the meeting of each operation.
#[derive(Debug, Default)]
pub struct Meetings {
    /// All meetings, numbered by their indices.
    pub all: Vec<Meeting>,
    /// Meeting numbers by lane and operation; `u32::MAX` without a meeting.
    of_operation: Vec<Vec<u32>>,
}

impl Meetings {
    /// Finds the meetings: those that the trace states, then those that follow from names. Cost: linear in operations
    /// if all ranks are of one communicator; else also the number of pairs of ranks times the number of calls, up to a
    /// bound.
    pub fn find(trace: &Trace, clocks: &Clocks, segments: &Segments) -> Self {
        let mut found = Self::none(segments);
        let stated = found.add_stated(trace, clocks, segments);
        let mut calls: BTreeMap<MeetingPlace, CallsByLane> = BTreeMap::new();
        let unstated = segments.operations().filter(|(it, _)| !stated.contains(it));
        for (it, operation) in unstated {
            if let Some((place, _)) = place(segments, it, operation, CallKind::is_collective) {
                let lanes = calls.entry(place).or_default();
                lanes.entry(it.lane).or_default().push(it);
            }
        }
        for series in all_series(segments, calls) {
            found.add(segments, &series);
        }
        found
    }

    /// Finds the meetings that the trace states. Cost: linear in stated collectives, and logarithmic in operations.
    pub fn stated(trace: &Trace, clocks: &Clocks, segments: &Segments) -> Self {
        let mut found = Self::none(segments);
        found.add_stated(trace, clocks, segments);
        found
    }

    /// Adds the meetings of calls of which the trace states the communicator. Returns these calls, also those that met
    /// no other.
    fn add_stated(
        &mut self,
        trace: &Trace,
        clocks: &Clocks,
        segments: &Segments,
    ) -> BTreeSet<OperationRef> {
        let mut stated = BTreeSet::new();
        let mut members: BTreeMap<(ProgramId, u64, u64), BTreeMap<LaneIdx, OperationRef>> =
            BTreeMap::new();
        for it in &trace.collectives {
            let operations = &segments.lane(it.lane).operations;
            let time = clocks.common(it.lane, it.time);
            let at = operations.partition_point(|operation| operation.end < time);
            // An idle time may end where the call begins.
            let mut near = (at..operations.len()).take(2);
            let found = near.find(|&at| {
                let operation = &operations[at];
                operation.start <= time && operation.kind != OperationKind::Idle
            });
            if let Some(at) = found {
                let program = trace.lane(it.lane).program;
                let key = (program, it.communicator, it.sequence);
                let operation = OperationRef::new(it.lane, at);
                members.entry(key).or_default().insert(it.lane, operation);
                stated.insert(operation);
            }
        }
        for operations in members.into_values() {
            let operations: Vec<OperationRef> = operations.into_values().collect();
            let kind = operations.first().map(|it| segments.operation(*it).kind);
            if let Some(OperationKind::Call(kind)) = kind {
                self.add_meeting(operations, kind);
            }
        }
        stated
    }

    /// Finds the meetings of an excerpt of a run, in which calls cannot be counted: calls of one function that were
    /// all open at one time. Cost: O(n log n) in operations.
    pub fn of_excerpt(segments: &Segments) -> Self {
        // The probe may have stalled longer than the collective around it.
        let is_collective = |kind: CallKind| kind.is_collective() || kind == CallKind::SyncProbe;
        let mut calls: BTreeMap<MeetingPlace, (CallKind, Vec<OperationRef>)> = BTreeMap::new();
        for (it, operation) in segments.operations() {
            if let Some((place, kind)) = place(segments, it, operation, is_collective) {
                let of_place = calls.entry(place).or_insert((kind, Vec::new()));
                of_place.1.push(it);
            }
        }
        let mut found = Self::none(segments);
        for (kind, mut calls) in calls.into_values() {
            calls.sort_unstable_by_key(|it| (segments.operation(*it).start, *it));
            let mut open: BTreeMap<LaneIdx, OperationRef> = BTreeMap::new();
            let mut first_end = TimeNs(i64::MAX);
            for it in calls {
                let operation = segments.operation(it);
                if operation.start > first_end || open.contains_key(&it.lane) {
                    found.add_meeting(std::mem::take(&mut open).into_values().collect(), kind);
                    first_end = TimeNs(i64::MAX);
                }
                first_end = first_end.min(operation.end);
                open.insert(it.lane, it);
            }
            found.add_meeting(open.into_values().collect(), kind);
        }
        found
    }

    fn none(segments: &Segments) -> Self {
        let lanes = segments.lanes.iter();
        Self {
            all: Vec::new(),
            of_operation: lanes
                .map(|it| vec![u32::MAX; it.operations.len()])
                .collect(),
        }
    }

    /// Adds calls that were made together, in order of lane; a single call is not a meeting.
    fn add_meeting(&mut self, operations: Vec<OperationRef>, kind: CallKind) {
        if operations.len() < 2 {
            return;
        }
        let number = number(self.all.len());
        for it in &operations {
            self.of_operation[it.lane.index()][it.at()] = number;
        }
        self.all.push(Meeting { operations, kind });
    }

    /// Returns the meeting of an operation.
    pub fn of(&self, it: OperationRef) -> Option<&Meeting> {
        self.all.get(index(self.number(it)?))
    }

    /// Returns the number of an operation's meeting.
    pub fn number(&self, it: OperationRef) -> Option<u32> {
        let number = *self.of_operation.get(it.lane.index())?.get(it.at())?;
        (number != u32::MAX).then_some(number)
    }

    fn add(&mut self, segments: &Segments, series: &CallSeries) {
        let kind = |calls: &Vec<OperationRef>| segments.operation(calls[0]).kind;
        let OperationKind::Call(kind) = kind(&series[0]) else {
            return;
        };
        for group in groups(segments, series, kind) {
            if group.len() < 2 {
                continue;
            }
            let lanes: Vec<&Vec<OperationRef>> = group.iter().map(|&lane| &series[lane]).collect();
            for (at, _) in lanes[0].iter().enumerate() {
                self.add_meeting(lanes.iter().map(|calls| calls[at]).collect(), kind);
            }
        }
    }
}

/// The distance of two ranks over all their calls.
#[derive(Clone, Copy)]
struct Pair {
    one: usize,
    other: usize,
    /// The median distance of their exits.
    apart: DurationNs,
    /// True if one left before the other arrived, too often.
    is_apart: bool,
}

/// Returns the communicators among lanes with equal numbers of calls: the ascending indices of the lanes of each.
fn groups(segments: &Segments, series: &CallSeries, kind: CallKind) -> Vec<Vec<usize>> {
    let all = || vec![(0..series.len()).collect::<Vec<_>>()];
    // The root of a broadcast may leave before the others arrive; so may all ranks but the root of a reduction.
    if kind == CallKind::Rooted || never_leave_early(segments, series) {
        return all();
    }
    let (nearest, pairs) = pairs(segments, series);
    let mut joined: Vec<&Pair> = pairs.iter().filter(|it| !it.is_apart).collect();
    joined.retain(|it| {
        let near = nearest[it.one].max(nearest[it.other]);
        it.apart.0 <= TOGETHER.0.max(near.0.saturating_mul(TOGETHER_FACTOR))
    });
    joined.sort_by_key(|it| (it.apart, it.one, it.other));
    let apart: BTreeSet<(usize, usize)> = pairs
        .iter()
        .filter(|it| it.is_apart)
        .map(|it| (it.one, it.other))
        .collect();
    let mut group_of: Vec<usize> = (0..series.len()).collect();
    let mut members: Vec<Vec<usize>> = (0..series.len()).map(|it| vec![it]).collect();
    for pair in joined {
        let (one, other) = (group_of[pair.one], group_of[pair.other]);
        let is_separated = || {
            members[one].iter().any(|&a| {
                members[other]
                    .iter()
                    .any(|&b| apart.contains(&(a.min(b), a.max(b))))
            })
        };
        if one != other && !is_separated() {
            let moved = std::mem::take(&mut members[other]);
            for &it in &moved {
                group_of[it] = one;
            }
            members[one].extend(moved);
        }
    }
    let mut groups: Vec<Vec<usize>> = members.into_iter().filter(|it| !it.is_empty()).collect();
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort_unstable();
    groups
}

/// Returns whether no rank ever left before the last one had arrived.
fn never_leave_early(segments: &Segments, series: &CallSeries) -> bool {
    (0..series[0].len()).all(|at| {
        let calls = || series.iter().map(|it| segments.operation(it[at]));
        let last = calls().map(|it| it.start).max();
        let first = calls().map(|it| it.end).min();
        last.zip(first)
            .is_none_or(|(last, first)| last <= first + TIE)
    })
}

/// Returns all pairs of lanes, and for each lane the distance of the nearest other one.
fn pairs(segments: &Segments, series: &CallSeries) -> (Vec<DurationNs>, Vec<Pair>) {
    let (num_lanes, num_calls) = (series.len(), series[0].len());
    let stride = (num_lanes * num_lanes / 2 * num_calls / MAX_PAIRS).max(1);
    let times: Vec<Vec<_>> = series
        .iter()
        .map(|calls| {
            let calls = calls
                .iter()
                .step_by(stride)
                .map(|it| segments.operation(*it));
            calls.map(|it| (it.start, it.end)).collect()
        })
        .collect();
    let mut nearest = vec![DurationNs(i64::MAX); num_lanes];
    let mut pairs = Vec::new();
    let mut distances: Vec<i64> = Vec::new();
    for one in 0..num_lanes {
        for other in one + 1..num_lanes {
            let calls = || times[one].iter().zip(&times[other]);
            let num_apart = calls()
                .filter(|(a, b)| a.1 + TIE < b.0 || b.1 + TIE < a.0)
                .count();
            distances.clear();
            distances.extend(calls().map(|(a, b)| a.1.since(b.1).0.saturating_abs()));
            let middle = distances.len() / 2;
            let apart = DurationNs(*distances.select_nth_unstable(middle).1);
            nearest[one] = nearest[one].min(apart);
            nearest[other] = nearest[other].min(apart);
            pairs.push(Pair {
                one,
                other,
                apart,
                is_apart: num_apart * APART_ONE_IN > distances.len(),
            });
        }
    }
    (nearest, pairs)
}
