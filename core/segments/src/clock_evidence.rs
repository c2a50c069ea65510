//! The events of different hosts whose order is known whatever their clocks say: those of messages and collectives.
//!
//! Which calls met follows from stated communicators. Without these, the calls of hosts met if they leave at a constant
//! distance although they enter at varying distances. Both are differences of times, so the offset of a clock does not
//! matter, and neither does its drift from one call to the next. Meetings found by the order of recorded times
//! ([`Meetings::find`]) would be those that contradict no clock.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{LaneIdx, ProgramId, TimeNs, Trace};

use super::call_kind::synchronises;
use super::clock::{Clocks, time};
use super::clock_bounds::OffsetBounds;
use super::meetings::Meetings;
use super::operation::OperationRef;
use super::places::PathIdx;
use super::segments::Segments;

/// Minimum number of calls of one path from which it is learnt whether ranks met in them: an assumption. Half of it
/// learns from more paths, with less evidence for each; calls that start and end a run are made once or twice.
const MIN_CALLS: usize = 8;
/// Minimum factor by which the entries of two hosts vary more than their exits if they met. Hosts that did not meet
/// leave as irregularly as they enter: the factor is 1. On the generated runs it was 10 and more for those that met.
/// With 2 or 8 the same hosts meet there.
const VARIES_MORE: i64 = 4;
/// Share of the variations, in percent, that counts: the others may be delays between entry and exit.
const MOST_PERCENT: usize = 90;
/// Maximum number of pairs of hosts in the calls of one path; beyond it, evenly spaced calls are compared. It bounds
/// the time.
const MAX_PAIRS: usize = 50_000_000;

/// Compares the clocks of all hosts. `segments` are on the recorded clocks. In an excerpt of a run only messages and
/// stated collectives bound clocks, since the calls in it cannot be counted. Cost: linear in messages and operations,
/// and in pairs of hosts times collectives, up to a bound.
pub(crate) fn compare_clocks(
    trace: &Trace,
    recorded: Clocks,
    segments: &Segments,
    is_excerpt: bool,
) -> Clocks {
    let mut bounds = OffsetBounds::new(is_excerpt);
    if recorded.hosts().len() < 2 {
        return recorded.corrected(trace, &bounds);
    }
    for message in &trace.messages {
        let hosts = [message.send, message.recv].map(|it| recorded.clock_of(it.lane));
        let times = [message.send, message.recv].map(|it| time(trace, it));
        bounds.add((hosts[0], hosts[1]), times[0], times[1]);
    }
    let evidence = Evidence {
        trace,
        clocks: &recorded,
        segments,
    };
    let stated = evidence.stated(&mut bounds);
    if !is_excerpt {
        evidence.learnt(&stated, &mut bounds);
    }
    recorded.corrected(trace, &bounds)
}

/// The calls of one host in one meeting: the last entry and the first exit.
#[derive(Clone, Copy)]
struct HostCall {
    entered: TimeNs,
    left: TimeNs,
}

struct Evidence<'a> {
    trace: &'a Trace,
    clocks: &'a Clocks,
    segments: &'a Segments,
}

impl Evidence<'_> {
    /// Adds the bounds of collectives of which the trace states the communicator. Returns their calls.
    fn stated(&self, bounds: &mut OffsetBounds) -> BTreeSet<OperationRef> {
        let meetings = Meetings::stated(self.trace, self.clocks, self.segments);
        let mut all: BTreeSet<OperationRef> = BTreeSet::new();
        let num_hosts = self.clocks.hosts().len();
        let num_pairs = meetings.all.len().saturating_mul(num_hosts * num_hosts);
        let stride = num_pairs / MAX_PAIRS + 1;
        for (at, meeting) in meetings.all.iter().enumerate() {
            all.extend(&meeting.operations);
            let mut operations = meeting.operations.iter();
            if at % stride == 0 && operations.all(|it| self.synchronises(*it)) {
                let hosts = self.by_host(&meeting.operations);
                for (&from, first) in &hosts {
                    for (&to, last) in &hosts {
                        bounds.add((from, to), first.entered, last.left);
                    }
                }
            }
        }
        all
    }

    fn synchronises(&self, it: OperationRef) -> bool {
        let operation = self.segments.operation(it);
        synchronises(self.trace.names.name(operation.func))
    }

    fn by_host(&self, operations: &[OperationRef]) -> BTreeMap<usize, HostCall> {
        let mut found: BTreeMap<usize, HostCall> = BTreeMap::new();
        for it in operations {
            let operation = self.segments.operation(*it);
            let call = HostCall {
                entered: operation.start,
                left: operation.end,
            };
            let host = found.entry(self.clocks.clock_of(it.lane)).or_insert(call);
            host.entered = host.entered.max(call.entered);
            host.left = host.left.min(call.left);
        }
        found
    }

    /// Adds the bounds of the other collectives, as far as it shows which hosts met in them.
    fn learnt(&self, stated: &BTreeSet<OperationRef>, bounds: &mut OffsetBounds) {
        let is_synchronising: Vec<bool> = (self.trace.names.iter())
            .map(|(_, name)| synchronises(name))
            .collect();
        let mut paths: BTreeMap<(ProgramId, PathIdx), BTreeMap<LaneIdx, Vec<OperationRef>>> =
            BTreeMap::new();
        for (it, operation) in self.segments.operations() {
            if is_synchronising[operation.func.index()] && !stated.contains(&it) {
                let program = self.trace.lane(it.lane).program;
                let lanes = paths.entry((program, operation.path)).or_default();
                lanes.entry(it.lane).or_default().push(it);
            }
        }
        for lanes in paths.into_values() {
            let mut alike: BTreeMap<usize, Vec<Vec<OperationRef>>> = BTreeMap::new();
            for calls in lanes.into_values() {
                alike.entry(calls.len()).or_default().push(calls);
            }
            for (_, lanes) in alike.split_off(&MIN_CALLS) {
                self.add_learnt(&lanes, bounds);
            }
        }
    }

    /// Adds the bounds of calls that some lanes make equally often.
    fn add_learnt(&self, lanes: &[Vec<OperationRef>], bounds: &mut OffsetBounds) {
        let mut lanes_by_host: BTreeMap<usize, Vec<&Vec<OperationRef>>> = BTreeMap::new();
        for calls in lanes {
            let host = self.clocks.clock_of(calls[0].lane);
            lanes_by_host.entry(host).or_default().push(calls);
        }
        if lanes_by_host.len() < 2 {
            return;
        }
        let num_pairs = lanes_by_host.len() * lanes_by_host.len() * lanes[0].len();
        let stride = num_pairs / MAX_PAIRS + 1;
        let mut groups: Vec<Vec<(usize, Vec<HostCall>)>> = Vec::new();
        for (host, lanes) in lanes_by_host {
            let Some(calls) = self.calls(&lanes, stride) else {
                continue;
            };
            let meets = |group: &&mut Vec<(usize, Vec<HostCall>)>| {
                group.iter().all(|(_, other)| met(&calls, other))
            };
            match groups.iter_mut().find(meets) {
                Some(group) => group.push((host, calls)),
                None => groups.push(vec![(host, calls)]),
            }
        }
        for group in &groups {
            for (from, first) in group {
                for (to, last) in group {
                    for (first, last) in first.iter().zip(last) {
                        bounds.add((*from, *to), first.entered, last.left);
                    }
                }
            }
        }
    }

    /// Returns the calls of a host; `None` if a rank of it ever left before another one had entered, so that they are
    /// of different communicators.
    fn calls(&self, lanes: &[&Vec<OperationRef>], stride: usize) -> Option<Vec<HostCall>> {
        let numbers = (0..lanes[0].len()).step_by(stride);
        let calls = numbers.map(|at| {
            let operations = lanes.iter().map(|calls| self.segments.operation(calls[at]));
            let entered = operations.clone().map(|it| it.start).max()?;
            let left = operations.map(|it| it.end).min()?;
            (entered <= left).then_some(HostCall { entered, left })
        });
        calls.collect()
    }
}

/// Returns whether two hosts met in their calls: the distance of their exits is far more regular than that of their
/// entries.
fn met(one: &[HostCall], other: &[HostCall]) -> bool {
    let variation = |stamp: fn(&HostCall) -> TimeNs| {
        let calls = one.iter().zip(other);
        let distances: Vec<i64> = calls.map(|(a, b)| stamp(a).since(stamp(b)).0).collect();
        let steps = distances.windows(2);
        let mut steps: Vec<u64> = steps.map(|it| it[0].abs_diff(it[1])).collect();
        let most = steps.len() * MOST_PERCENT / 100;
        if most >= steps.len() {
            return i64::MAX;
        }
        let (_, step, _) = steps.select_nth_unstable(most);
        i64::try_from(*step).unwrap_or(i64::MAX)
    };
    let (entries, exits) = (variation(|it| it.entered), variation(|it| it.left));
    exits.saturating_mul(VARIES_MORE) < entries
}
