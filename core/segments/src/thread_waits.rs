//! Waits of a thread for an operation of another thread of its rank, or for its GPU, which its own calls do not show.
//!
//! A main thread that waits for a collective on a pool thread is in no call that can wait: its time seems to be own
//! work. Such a place in the program is learned from all its visits. They end where an operation of another thread of
//! the same rank ends, while the end of computation that merely overlaps with communication has nothing to do with it.
//! The visit becomes own work until the operation begins, the wait, and own work after it: a thread that is late to
//! begin the operation, or to wake up, is late by itself.
//!
//! A GPU is waited for until all its streams are idle: while a host prepares work ahead of its GPU, some kernel ends at
//! any time.
//!
//! The range of an operation can end after its waiter has gone on, since the tracer closes it late; such an operation
//! ends with the wait for it.

use std::ops::Range;

use callgrove_model::{DurationNs, LaneIdx, TimeNs, Trace};

use super::call_kind::CallKind;
use super::clock::Clocks;
use super::numbers::{index, number};
use super::operation::{Operation, OperationKind, OperationRef};
use super::places::{GapPart, Places};
use super::segments::{Gap, LaneSegments, MIN_WORK, Segments};
use super::short_visits::ShortVisits;

/// Share of the time of a place, in percent, that is in visits which end with an operation of another thread: chosen
/// on jobs of PyTorch. With 80, one place in ten is missed on a host that is busy; computation that overlaps with
/// communication reaches 30.
const MIN_PERCENT: i64 = 60;
/// Divisor of the number of visits: the longest tenth counts as its shortest, so that a few stops cannot decide.
const LONGEST: usize = 10;
/// Minimum number of visits of a place or path, over all ranks.
const MIN_VISITS: usize = 6;
/// Distance up to which the ends of a visit and an operation agree in any case: threads wake up late.
const WAKE_UP: DurationNs = DurationNs::from_us(200);
/// Divisor of a visit: an operation may end later than its waiter by at most a quarter of the visit.
const LATE_STAMP: i64 = 4;
/// Part of a visit, in percent, that may follow the operation: on a busy host a thread wakes up late.
const MAX_TAIL_PERCENT: i64 = 40;
/// Minimum part of a visit, in percent, during which operations run.
const MIN_OVERLAP_PERCENT: i64 = 30;

/// An operation, or the work of a GPU until it is idle, that a visit may have waited for.
#[derive(Clone, Copy, Debug)]
struct Match {
    /// The lane of the operation, or of the work that ends last.
    lane: LaneIdx,
    start: TimeNs,
    end: TimeNs,
    /// `None` for work of a GPU.
    operation: Option<OperationRef>,
}

/// What the threads of one rank can wait for.
#[derive(Default)]
struct Sources {
    /// The lanes with operations that wait for other ranks.
    communicating: Vec<LaneIdx>,
    /// The times in which a GPU works, in order.
    device_work: Vec<Match>,
}

/// Maximum distance of two kernels between which a GPU is not idle. Kernels that wait in a queue follow each other within
/// 2 µs; after its host has waited for it, a GPU is idle for the time of a launch, 5 µs or more.
const QUEUED: DurationNs = DurationNs::from_us(4);

/// The visits of a place, or of a call path.
#[derive(Clone, Default)]
struct PlaceVisits {
    /// Durations in nanoseconds of the visits that end with an operation of another thread, and of the others.
    waiting_ns: Vec<i64>,
    other_ns: Vec<i64>,
}

impl PlaceVisits {
    fn len(&self) -> usize {
        self.waiting_ns.len() + self.other_ns.len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn extend(&mut self, other: &Self) {
        self.waiting_ns.extend(&other.waiting_ns);
        self.other_ns.extend(&other.other_ns);
    }

    /// Returns whether the visits are waits for other threads.
    fn is_wait(&self) -> bool {
        let num_visits = self.len();
        if num_visits < MIN_VISITS {
            return false;
        }
        let mut all: Vec<i64> = self
            .waiting_ns
            .iter()
            .chain(&self.other_ns)
            .copied()
            .collect();
        let rank = num_visits - 1 - num_visits / LONGEST;
        let most = *all.select_nth_unstable(rank).1;
        let sum = |of: &[i64]| of.iter().map(|it| i128::from(*it.min(&most))).sum::<i128>();
        let (waiting, other) = (sum(&self.waiting_ns), sum(&self.other_ns));
        waiting * 100 >= (waiting + other) * i128::from(MIN_PERCENT)
    }
}

impl Segments {
    /// Splits every lane of a whole run into segments, with the waits for other threads that follow from the places
    /// where they recur. Cost: O(n log n) in events.
    pub fn of_run(trace: &Trace, clocks: &Clocks) -> Self {
        let mut short = ShortVisits::default();
        let mut segments = Self::split(trace, clocks, MIN_WORK, &mut |lane, _, gap| {
            short.add(gap.place, lane, gap.duration());
        });
        segments.short = short;
        add_thread_waits(&mut segments);
        segments
    }
}

/// Finds the places where threads wait for operations of other threads of their rank, and makes these waits operations.
/// Cost: O(n log n) in gaps, for ranks that communicate on several threads.
pub(crate) fn add_thread_waits(segments: &mut Segments) {
    let sources = sources(segments);
    let candidates: Vec<LaneIdx> = (0..segments.lanes.len())
        .map(LaneIdx::from_index)
        .filter(|&lane| can_wait(segments, &sources, lane))
        .collect();
    if candidates.is_empty() {
        return;
    }
    let mut visits = vec![PlaceVisits::default(); segments.places.num_places()];
    for &lane in &candidates {
        let others = &sources[segments.lane(lane).process];
        for gap in segments.lane(lane).gaps.iter().filter(|it| is_long(it)) {
            let of_place = &mut visits[index(gap.place)];
            let waits = is_wait_of(segments, others, lane, gap);
            let of_kind = if waits {
                &mut of_place.waiting_ns
            } else {
                &mut of_place.other_ns
            };
            of_kind.push(gap.duration().0);
        }
    }
    let is_wait = are_waits(&segments.places, &visits);
    if !is_wait.contains(&true) {
        return;
    }
    let mut late_ends: Vec<(OperationRef, TimeNs)> = Vec::new();
    let split: Vec<(LaneIdx, SplitLane)> = candidates
        .iter()
        .map(|&lane| {
            let others = &sources[segments.lane(lane).process];
            let found = split_lane(segments, others, lane, &is_wait, &mut late_ends);
            (lane, found)
        })
        .collect();
    // Before the lanes are replaced, since that renumbers their operations.
    for (it, end) in late_ends {
        let operation = &mut segments.lanes[it.lane.index()].operations[it.at()];
        operation.end = operation.end.min(end);
        operation.silence.end = operation.silence.end.min(end);
    }
    let mut places = std::mem::take(&mut segments.places);
    for (lane, found) in split {
        let old = std::mem::take(&mut segments.lanes[lane.index()]);
        segments.lanes[lane.index()] = merged(old, found, &mut places);
    }
    segments.places = places;
}

/// Returns by place whether it is a wait for other threads. A place with few visits is one if its call path is: another
/// event came before or after than usual.
fn are_waits(places: &Places, visits: &[PlaceVisits]) -> Vec<bool> {
    let mut of_paths = vec![PlaceVisits::default(); places.num_paths()];
    let path_of = |place| index(places.path_of(number(place)));
    for (place, visits) in visits.iter().enumerate() {
        of_paths[path_of(place)].extend(visits);
    }
    let is_wait: Vec<bool> = of_paths.iter().map(PlaceVisits::is_wait).collect();
    let of_place = |(place, visits): (usize, &PlaceVisits)| {
        if visits.len() < MIN_VISITS {
            !visits.is_empty() && is_wait[path_of(place)]
        } else {
            visits.is_wait()
        }
    };
    visits.iter().enumerate().map(of_place).collect()
}

/// Returns whether a gap is long enough to be an excess.
fn is_long(gap: &Gap) -> bool {
    gap.duration() > MIN_WORK
}

/// Returns whether an operation waits for other ranks.
fn waits_for_ranks(operation: &Operation) -> bool {
    let OperationKind::Call(kind) = operation.kind else {
        return false;
    };
    kind.is_collective() || matches!(kind, CallKind::PointToPoint)
}

/// Returns what the threads of each process can wait for.
fn sources(segments: &Segments) -> Vec<Sources> {
    let mut sources: Vec<Sources> = segments
        .processes
        .iter()
        .map(|_| Sources::default())
        .collect();
    for (at, lane) in segments.lanes.iter().enumerate() {
        let (of_process, at) = (&mut sources[lane.process], LaneIdx::from_index(at));
        if lane.is_device {
            let kernels = lane.gaps.iter().map(|it| (it.start, it.end));
            let calls = lane
                .operations
                .iter()
                .filter(|it| it.kind != OperationKind::Idle);
            let work = kernels.chain(calls.map(|it| (it.start, it.end)));
            of_process
                .device_work
                .extend(work.map(|(start, end)| Match {
                    lane: at,
                    start,
                    end,
                    operation: None,
                }));
        } else if lane.operations.iter().any(waits_for_ranks) {
            of_process.communicating.push(at);
        }
    }
    for of_process in &mut sources {
        let work = &mut of_process.device_work;
        work.sort_unstable_by_key(|it| (it.start, it.end, it.lane));
        work.dedup_by(|next, last| {
            let is_one = next.start <= last.end + QUEUED;
            if is_one && next.end > last.end {
                (last.end, last.lane) = (next.end, next.lane);
            }
            is_one
        });
    }
    sources
}

/// Returns whether a lane may wait for another one of its process that communicates, or for a GPU.
fn can_wait(segments: &Segments, sources: &[Sources], lane: LaneIdx) -> bool {
    let it = segments.lane(lane);
    let of_process = &sources[it.process];
    let mut others = of_process.communicating.iter();
    !it.is_device && (others.any(|other| *other != lane) || !of_process.device_work.is_empty())
}

/// Returns what a gap may have waited for, by start: the operations of other lanes and the work of GPUs that run during
/// the gap, and that do not go on after it.
fn during(segments: &Segments, sources: &Sources, lane: LaneIdx, gap: &Gap) -> Vec<Match> {
    let latest = gap.end + WAKE_UP.max(DurationNs(gap.duration().0 / LATE_STAMP));
    let others = sources.communicating.iter().filter(|other| **other != lane);
    let operations = others.flat_map(|&other| {
        let operations = &segments.lane(other).operations;
        let from = operations.partition_point(|it| it.end <= gap.start);
        let here = operations[from..].iter().enumerate();
        let here = here.take_while(|(_, it)| it.start < gap.end);
        let here = here.filter(|(_, it)| waits_for_ranks(it));
        here.map(move |(at, it)| Match {
            lane: other,
            start: it.start,
            end: it.end,
            operation: Some(OperationRef::new(other, from + at)),
        })
    });
    let work = &sources.device_work;
    let from = work.partition_point(|it| it.end <= gap.start);
    let work = work[from..].iter().take_while(|it| it.start < gap.end);
    let found = operations.chain(work.copied());
    let mut found: Vec<Match> = found.filter(|it| it.end <= latest).collect();
    found.sort_by_key(|it| (it.start, it.end, it.lane));
    found
}

/// Returns whether a gap ends with what it may have waited for, and that ran during a large part of it.
fn is_wait_of(segments: &Segments, others: &Sources, lane: LaneIdx, gap: &Gap) -> bool {
    let whole = gap.duration();
    let earliest = gap.end + DurationNs(-WAKE_UP.0.max(percent(whole, MAX_TAIL_PERCENT)));
    let (mut running, mut at) = (DurationNs::ZERO, gap.start);
    for it in during(segments, others, lane, gap) {
        let end = it.end.max(at);
        running += end.since(it.start.max(at));
        at = end;
    }
    at >= earliest && running.0 >= percent(whole, MIN_OVERLAP_PERCENT)
}

fn percent(whole: DurationNs, percent: i64) -> i64 {
    whole.0 / 100 * percent
}

/// The parts into which waits split the gaps of a lane.
#[derive(Default)]
struct SplitLane {
    gaps: Vec<(Gap, GapPart)>,
    waits: Vec<Operation>,
}

/// Splits the gaps of a lane at places that are waits. Adds to `late_ends` the operations that end after their waiter.
fn split_lane(
    segments: &Segments,
    others: &Sources,
    lane: LaneIdx,
    is_wait: &[bool],
    late_ends: &mut Vec<(OperationRef, TimeNs)>,
) -> SplitLane {
    let mut found = SplitLane::default();
    for gap in &segments.lane(lane).gaps {
        if !is_wait[index(gap.place)] || !is_long(gap) {
            found.gaps.push((*gap, GapPart::Whole));
            continue;
        }
        let mut at = gap.start;
        let mut part = GapPart::BeforeWait;
        for it in during(segments, others, lane, gap) {
            let (start, end) = (it.start.max(at), it.end.min(gap.end));
            if end <= start {
                continue;
            }
            if at < start {
                found.gaps.push((
                    Gap {
                        start: at,
                        end: start,
                        ..*gap
                    },
                    part,
                ));
            }
            found.waits.extend(wait(segments, gap, it.lane, start..end));
            if let Some(operation) = it.operation.filter(|_| it.end > gap.end) {
                late_ends.push((operation, gap.end));
            }
            (at, part) = (end, GapPart::AfterWait);
        }
        if at < gap.end {
            let part = if at == gap.start {
                GapPart::Whole
            } else {
                part
            };
            found.gaps.push((Gap { start: at, ..*gap }, part));
        }
    }
    found
}

/// Returns the operation that a part of a gap is.
fn wait(segments: &Segments, gap: &Gap, peer: LaneIdx, time: Range<TimeNs>) -> Option<Operation> {
    let path = segments.places.path_of(gap.place);
    Some(Operation {
        start: time.start,
        end: time.end,
        call: gap.call,
        func: segments.places.func(path)?,
        path,
        kind: OperationKind::Thread(peer),
        silence: time,
        rows: 0..0,
    })
}

/// Returns a lane with its gaps split, and with the waits between them.
fn merged(old: LaneSegments, found: SplitLane, places: &mut Places) -> LaneSegments {
    let mut operations = old.operations;
    operations.extend(found.waits);
    operations.sort_by_key(|it| (it.start, it.end));
    let gaps = found.gaps.into_iter().map(|(gap, part)| {
        let before = operations.partition_point(|it| it.start < gap.start);
        Gap {
            place: places.part(gap.place, part),
            operations_before: number(before),
            ..gap
        }
    });
    let gaps: Vec<Gap> = gaps.collect();
    let time = |of: &[Gap]| of.iter().map(Gap::duration).sum::<DurationNs>();
    LaneSegments {
        num_gaps: old.num_gaps + gaps.len() - old.gaps.len(),
        own_work: old.own_work - (time(&old.gaps) - time(&gaps)),
        span: old.span,
        gaps,
        operations,
        is_device: old.is_device,
        process: old.process,
    }
}
