//! Members of a group that never entered a collective which the others are in.
//!
//! A rank is missing if it was in the group's collectives before, never enters the next one or a later one, and the
//! others neither complete the next one nor any later one. Two things show that a collective was not completed: its
//! calls are open at the end of the trace, or they ended long after the first member had entered, as at a time-out. A
//! trace may end while ranks wait for one another, so the wait must in both cases be longer than the longest time
//! between two collectives of the group.
//!
//! That rule has no constant. If the next time between two collectives is as likely to be the longest as each of the
//! `n` before it, it exceeds all of them by chance in one of `n + 1` cases: that limits the confidence.

use std::collections::BTreeMap;
use std::ops::Range;

use callgrove_model::{DurationNs, ExecIdx, LaneIdx, TimeNs, Trace};
use callgrove_segments::{CallKind, Clocks, OperationKind, OperationRef, Segments, is_open_at_end};

use super::super::outcome::Incident;
use super::groups::{CollectiveGroup, CollectivePart};

/// Maximum confidence, as for own work: an assumption.
const MAX_PERCENT: u8 = 95;
/// Maximum confidence if the calls ended, and the record of the missing rank had ended before them: it may have
/// entered later. An assumption.
const UNRECORDED_PERCENT: u8 = 80;
/// Maximum confidence if the group follows from the numbers of calls: an assumption.
const INFERRED_PERCENT: u8 = 75;

/// The wait of one member in a collective that was not completed. Times are on the common clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberWait {
    pub(super) operation: OperationRef,
    pub(super) start: TimeNs,
    pub(super) end: TimeNs,
}

impl MemberWait {
    pub(super) fn duration(&self) -> DurationNs {
        self.end.since(self.start)
    }
}

/// A collective that not all members of its group entered.
#[derive(Debug)]
pub(super) struct Unfinished {
    /// The number of the collective: the one that the trace states, or its position among those of the group, from 1.
    pub(super) number: u64,
    /// The members that are missing, ascending, as indices into the processes.
    pub(super) missing: Vec<usize>,
    /// The waits of the others, by member.
    pub(super) waits: BTreeMap<usize, MemberWait>,
    /// Number of a hundred such cases in which the statement is true.
    pub(super) confidence_percent: u8,
}

impl Unfinished {
    /// Returns the time at which the first member entered.
    pub(super) fn start(&self) -> TimeNs {
        let starts = self.waits.values().map(|it| it.start);
        starts.min().unwrap_or_default()
    }

    /// Returns the end of the last wait.
    pub(super) fn end(&self) -> TimeNs {
        let ends = self.waits.values().map(|it| it.end);
        ends.max().unwrap_or_default()
    }
}

/// Returns the times of the first and last event of each process, on the common clock. Cost: linear in lanes.
pub(super) fn records(trace: &Trace, clocks: &Clocks, segments: &Segments) -> Vec<Range<TimeNs>> {
    let none = TimeNs(i64::MAX)..TimeNs(i64::MIN);
    let mut records = vec![none; segments.processes.len()];
    for (index, lane) in trace.lanes() {
        let record = &mut records[segments.lane(index).process];
        if let Some(first) = lane.executions.entry.first() {
            record.start = clocks.common(index, *first).min(record.start);
        }
        record.end = lane_end(trace, clocks, index).max(record.end);
        let others = [lane.comms.time.last(), lane.counters.time.last()];
        for time in others.into_iter().flatten() {
            record.end = clocks.common(index, *time).max(record.end);
        }
    }
    records
}

/// Returns the end of the last call of a lane, on the common clock.
pub(super) fn lane_end(trace: &Trace, clocks: &Clocks, lane: LaneIdx) -> TimeNs {
    let executions = &trace.lane(lane).executions;
    let Some(last) = executions.len().checked_sub(1) else {
        return TimeNs(i64::MIN);
    };
    // Calls on the stack of the last one end last.
    let last = ExecIdx::from_index(last);
    let stack = std::iter::successors(Some(last), |it| executions.parent(*it));
    let end = stack.map(|it| executions.exit(it)).max();
    end.map_or(TimeNs(i64::MIN), |it| clocks.common(lane, it))
}

/// A part in a collective after the last one that all members were in.
#[derive(Clone, Copy)]
struct Pending {
    part: CollectivePart,
    start: TimeNs,
    /// End of the call; `None` if it is open.
    end: Option<TimeNs>,
    is_rooted: bool,
}

/// Returns the collective of a group that not all members entered, if there is one. `records` holds the time range of
/// each process's events.
pub(super) fn unfinished(
    trace: &Trace,
    segments: &Segments,
    group: &CollectiveGroup,
    records: &[Range<TimeNs>],
) -> Option<Unfinished> {
    let last = |parts: &[CollectivePart]| parts.last().map(|it| it.sequence);
    let lasts = || group.members.values().filter_map(|it| last(it));
    let common = lasts().min()?;
    if lasts().max()? == common {
        return None;
    }
    let missing: Vec<usize> = group
        .members
        .iter()
        .filter(|(_, parts)| last(parts) == Some(common))
        .map(|(process, _)| *process)
        .collect();
    let pending = pending(trace, segments, group, common);
    let all = || pending.values().flatten();
    let first = all().map(|it| it.start).min()?;
    let begin = group.members.keys().map(|it| records[*it].start).min()?;
    let (num_intervals, longest) = longest_interval(segments, group, common, begin)?;
    let is_completed =
        |it: &Pending| !it.is_rooted && it.end.is_some_and(|end| end <= first + longest);
    if all().any(is_completed) {
        return None;
    }
    let members = group.members.keys();
    let end = members.map(|it| records[*it].end).max()?;
    let waits: BTreeMap<usize, MemberWait> = pending
        .iter()
        .filter_map(|(process, parts)| Some((*process, member_wait(parts, end)?)))
        .collect();
    let longest_wait = waits.values().map(MemberWait::duration).max()?;
    if longest_wait <= longest.max(Incident::MIN_DELAY) {
        return None;
    }
    let is_open = all().any(|it| it.end.is_none());
    let is_recorded = missing.iter().all(|it| records[*it].end > first + longest);
    let evidence_percent = match (group.is_stated, is_open || is_recorded) {
        (false, _) => INFERRED_PERCENT,
        (true, false) => UNRECORDED_PERCENT,
        (true, true) => MAX_PERCENT,
    };
    let next = all().map(|it| it.part.sequence).min()?;
    Some(Unfinished {
        number: number(group, next),
        missing,
        waits,
        confidence_percent: chance_percent(num_intervals).min(evidence_percent),
    })
}

/// Returns the parts of each member after the last collective that all members were in, if it has any.
fn pending(
    trace: &Trace,
    segments: &Segments,
    group: &CollectiveGroup,
    common: u64,
) -> BTreeMap<usize, Vec<Pending>> {
    let after = |parts: &[CollectivePart]| -> Vec<Pending> {
        let parts = parts.iter().filter(|it| it.sequence > common);
        parts.map(|it| pend(trace, segments, *it)).collect()
    };
    let members = group.members.iter();
    let members = members.map(|(process, parts)| (*process, after(parts)));
    members.filter(|(_, it)| !it.is_empty()).collect()
}

fn pend(trace: &Trace, segments: &Segments, part: CollectivePart) -> Pending {
    let operation = segments.operation(part.operation);
    let executions = &trace.lane(part.operation.lane).executions;
    let is_open = is_open_at_end(executions, operation.call);
    Pending {
        part,
        start: operation.start,
        end: (!is_open).then_some(operation.end),
        is_rooted: operation.kind == OperationKind::Call(CallKind::Rooted),
    }
}

/// Returns the wait of a member: its longest call. `end` is the end of the record of the whole group.
fn member_wait(parts: &[Pending], end: TimeNs) -> Option<MemberWait> {
    let waits = parts.iter().map(|it| MemberWait {
        operation: it.part.operation,
        start: it.start,
        end: it.end.unwrap_or(end).max(it.start),
    });
    waits.max_by_key(|it| (it.duration(), std::cmp::Reverse(it.operation)))
}

/// Returns the number of times between two collectives that all members completed, of the member with most of them,
/// and the longest of any member. After one collective only, that is the time from the first operation of a member to
/// it.
fn longest_interval(
    segments: &Segments,
    group: &CollectiveGroup,
    common: u64,
    record_start: TimeNs,
) -> Option<(usize, DurationNs)> {
    let start = |it: &CollectivePart| segments.operation(it.operation).start;
    let mut found: Option<(usize, DurationNs)> = None;
    for parts in group.members.values() {
        let completed = parts.partition_point(|it| it.sequence <= common);
        let parts = &parts[..completed];
        let intervals = parts.windows(2);
        let intervals = intervals.map(|it| start(&it[1]).since(start(&it[0])));
        let count = intervals.len().max(1);
        let first = || Some(start(parts.first()?).since(record_start));
        if let Some(longest) = intervals.max().or_else(first) {
            let (most, all) = found.unwrap_or((0, DurationNs::ZERO));
            found = Some((most.max(count), all.max(longest)));
        }
    }
    found
}

/// Returns the chance that a time which exceeds all of `num_intervals` before it does not do so by chance, in percent.
fn chance_percent(num_intervals: usize) -> u8 {
    let percent = num_intervals.saturating_mul(100) / num_intervals.saturating_add(1);
    u8::try_from(percent).unwrap_or(MAX_PERCENT)
}

/// Width of the number that a process group states, in bits; above it are the kernels of one operation.
const NUMBER_BITS: u32 = 48;

/// Returns the number by which a collective is named: the stated one if the trace numbers without large gaps from 1 or
/// more, else its position among the collectives of the group, from 1.
fn number(group: &CollectiveGroup, sequence: u64) -> u64 {
    let mask = (1 << NUMBER_BITS) - 1;
    let mut all: Vec<u64> = (group.members.values().flatten())
        .map(|it| it.sequence & mask)
        .collect();
    all.sort_unstable();
    all.dedup();
    let plain = sequence & mask;
    let position = (1..).zip(&all).find(|it| *it.1 == plain);
    let position = position.map_or(1, |it| it.0);
    match (all.first(), all.last()) {
        // Numbers of iterations are far apart.
        (Some(&first), Some(&last))
            if group.is_stated && first > 0 && (last - first) / 2 <= position =>
        {
            plain
        }
        _ => position,
    }
}
