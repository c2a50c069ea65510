//! The calls at one place of the program, lane by lane, so that those with the same number may be one meeting.
//!
//! A record that begins or ends within the program lacks calls of its rank, and the callers that were open when it
//! began. So ranks whose calls at one place cannot be numbered alike are compared by function, and by time.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, FuncId, LaneIdx, ProgramId};

use super::call_kind::CallKind;
use super::operation::{Operation, OperationKind, OperationRef};
use super::places::PathIdx;
use super::segments::Segments;

/// Maximum distance of two times whose order is undecided: clocks tick, and ranks leave one after another.
pub const TIE: DurationNs = DurationNs::from_us(20);
/// Two ranks are of different communicators if in more than one meeting in this number one left before the other
/// arrived.
pub(crate) const APART_ONE_IN: usize = 500;

/// Identifies calls that can be one meeting: the path and program of a collective, or the function, its caller and
/// the rank of threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MeetingPlace {
    Ranks(ProgramId, PathIdx),
    /// By functions instead of paths, because the first thread has a deeper stack than those that it starts.
    Threads(usize, FuncId, Option<FuncId>),
}

/// The operations of some lanes, the same number of each.
pub(crate) type CallSeries = Vec<Vec<OperationRef>>;

/// The calls of each lane at one place.
pub(crate) type CallsByLane = BTreeMap<LaneIdx, Vec<OperationRef>>;

/// Returns the calls of all places, divided so that those with the same number may be one meeting: by place, or by
/// function; lanes with as many calls as others, or with a part of theirs. A series has at least two lanes and a call.
pub(crate) fn all_series(
    segments: &Segments,
    calls: BTreeMap<MeetingPlace, CallsByLane>,
) -> Vec<CallSeries> {
    let joined = joined_paths(segments, calls).into_iter();
    let series = joined.flat_map(|lanes| aligned(segments, by_rank(segments, lanes)));
    series.collect()
}

/// Returns the place of the calls that an operation can meet with, and its kind.
pub(crate) fn place(
    segments: &Segments,
    it: OperationRef,
    operation: &Operation,
    is_collective: impl Fn(CallKind) -> bool,
) -> Option<(MeetingPlace, CallKind)> {
    let OperationKind::Call(kind) = operation.kind else {
        return None;
    };
    let process = segments.lane(it.lane).process;
    let place = if is_collective(kind) {
        MeetingPlace::Ranks(segments.processes[process].0, operation.path)
    } else if kind == CallKind::ThreadSync {
        let caller = segments.places.caller(operation.path);
        MeetingPlace::Threads(process, operation.func, caller)
    } else {
        return None;
    };
    Some((place, kind))
}

/// Returns the calls of each place. If ranks make different numbers of calls on one path, but as many of the function
/// altogether, the paths of the function are one place: a rank lacks the callers that were open when its record began.
fn joined_paths(
    segments: &Segments,
    calls: BTreeMap<MeetingPlace, CallsByLane>,
) -> Vec<CallsByLane> {
    let mut by_function: BTreeMap<(ProgramId, Option<FuncId>), Vec<CallsByLane>> = BTreeMap::new();
    let mut found = Vec::new();
    for (place, lanes) in calls {
        match place {
            MeetingPlace::Ranks(program, path) => {
                let function = (program, segments.places.func(path));
                by_function.entry(function).or_default().push(lanes);
            }
            MeetingPlace::Threads(..) => found.push(lanes),
        }
    }
    for paths in by_function.into_values() {
        let is_uneven = |lanes: &CallsByLane| counts_of_ranks(segments, [lanes]).len() > 1;
        let is_joined = paths.len() > 1
            && paths.iter().any(is_uneven)
            && counts_of_ranks(segments, &paths).len() == 1;
        if !is_joined {
            found.extend(paths);
            continue;
        }
        let mut all = CallsByLane::new();
        for (lane, calls) in paths.into_iter().flatten() {
            all.entry(lane).or_default().extend(calls);
        }
        for calls in all.values_mut() {
            calls.sort_unstable();
        }
        found.push(all);
    }
    found
}

/// Returns the different numbers of calls that ranks make at some places together.
fn counts_of_ranks<'a>(
    segments: &Segments,
    places: impl IntoIterator<Item = &'a CallsByLane>,
) -> BTreeSet<usize> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for (lane, calls) in places.into_iter().flatten() {
        *counts.entry(segments.lane(*lane).process).or_default() += calls.len();
    }
    counts.into_values().collect()
}

/// Divides the calls of lanes into series whose calls with the same number may be one meeting: lanes with the same
/// number of calls, and lanes whose record lacks the first or last of these.
fn aligned(segments: &Segments, calls: Vec<Vec<OperationRef>>) -> Vec<CallSeries> {
    let mut alike: BTreeMap<usize, CallSeries> = BTreeMap::new();
    for calls in calls {
        alike.entry(calls.len()).or_default().push(calls);
    }
    // Most lanes have all calls; among as many lanes, those with more calls.
    let Some(whole) = alike
        .iter()
        .max_by_key(|it| (it.1.len(), *it.0))
        .map(|it| *it.0)
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut all = alike.remove(&whole).unwrap_or_default();
    let mut window = 0..whole;
    let mut parts: Vec<(usize, Vec<OperationRef>)> = Vec::new();
    for (count, series) in alike {
        let mut apart = Vec::new();
        for calls in series {
            let shift = (count < whole)
                .then(|| first_common(segments, &all[0], &calls))
                .flatten();
            match shift {
                Some(shift) => {
                    window = window.start.max(shift)..window.end.min(shift + count);
                    parts.push((shift, calls));
                }
                None => apart.push(calls),
            }
        }
        found.push(apart);
    }
    if !parts.is_empty() && !window.is_empty() {
        found.push(all.iter().map(|it| it[..window.start].to_vec()).collect());
        found.push(all.iter().map(|it| it[window.end..].to_vec()).collect());
        for calls in &mut all {
            *calls = calls[window.clone()].to_vec();
        }
        let common = |(shift, calls): &(usize, Vec<OperationRef>)| {
            calls[window.start - shift..window.end - shift].to_vec()
        };
        all.extend(parts.iter().map(common));
        all.sort_unstable();
    }
    found.push(all);
    found.retain(|it| it.len() > 1 && !it[0].is_empty());
    found
}

/// Returns the number of the call that is together with the first of another lane, if all calls of that lane are
/// together with those that follow it. Cost: the product of the number of calls and that of those it lacks, at most.
fn first_common(
    segments: &Segments,
    whole: &[OperationRef],
    part: &[OperationRef],
) -> Option<usize> {
    let time = |it: &OperationRef| {
        let it = segments.operation(*it);
        (it.start, it.end)
    };
    let are_together = |calls: &[OperationRef]| {
        let mut apart = calls.iter().zip(part).filter(|(a, b)| {
            let (a, b) = (time(a), time(b));
            a.1 + TIE < b.0 || b.1 + TIE < a.0
        });
        apart.nth(part.len() / APART_ONE_IN).is_none()
    };
    let is_rooted =
        |it: &OperationRef| segments.operation(*it).kind == OperationKind::Call(CallKind::Rooted);
    if part.first().is_none_or(is_rooted) {
        return None;
    }
    whole.windows(part.len()).position(are_together)
}

/// Returns the calls of each lane that meets others: its own, or, if the threads of a pool share them in any order, those
/// of its rank in order of time.
fn by_rank(segments: &Segments, lanes: CallsByLane) -> Vec<Vec<OperationRef>> {
    let processes: BTreeSet<usize> = lanes.keys().map(|it| segments.lane(*it).process).collect();
    let counts: BTreeSet<usize> = lanes.values().map(Vec::len).collect();
    if processes.len() < 2 || processes.len() == lanes.len() || counts.len() == 1 {
        return lanes.into_values().collect();
    }
    let mut of_rank: BTreeMap<usize, Vec<OperationRef>> = BTreeMap::new();
    for (lane, calls) in lanes {
        of_rank
            .entry(segments.lane(lane).process)
            .or_default()
            .extend(calls);
    }
    for calls in of_rank.values_mut() {
        calls.sort_by_key(|it| (segments.operation(*it).start, *it));
    }
    of_rank.into_values().collect()
}
