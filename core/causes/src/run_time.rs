//! How much earlier the run would have ended without a delay.
//!
//! Waits of one incident overlap, and slack absorbs them, so the time that its ranks lose together does not show what it
//! costs the run. The replay answers that if only the delays in question are taken out, and their lag is never forgotten:
//! each operation ends earlier by its release in the run minus its release without them, over all that it depends on.
//! That is the simulation without stragglers of Lin et al. (Understanding stragglers in large model training using
//! what-if analysis, OSDI 2025), on the dependences of the trace instead of those of a model of the program.

use std::cmp::Reverse;
use std::ops::Range;

use callgrove_model::{DurationNs, LaneIdx, TimeNs};
use callgrove_segments::{LaneSegments, OperationRef, PathIdx, Segments};

use super::delay_root::{DelayRoot, RootIdx};
use super::grouping::Cluster;
use super::outcome::{CauseKind, WaitKind};
use super::release::{Dependences, PeerState, Release, Released};
use super::work_excesses::LaneExcess;

/// Maximum number of visits of operations, as a multiple of their number.
const MAX_VISITS: usize = 3;
/// Number of visits that are made in any case.
const MIN_VISITS: usize = 1_000_000;
/// Divisor of a lag: lanes whose lags differ by a fiftieth are late alike.
const EVEN: i64 = 50;
/// Difference of lags that is nothing.
const EVEN_ANYWAY: DurationNs = DurationNs::from_us(10);
/// Minimum number of lanes that send requests to a server.
const MIN_SENDERS: usize = 3;
/// Minimum mean number of lanes whose messages follow those of one lane: in a fixed order it is 1.
const MIN_FOLLOWERS: usize = 2;

/// The delays of one incident, or of several.
#[derive(Clone, Default)]
struct Delays {
    /// Own work.
    work: Vec<(LaneIdx, LaneExcess)>,
    /// The time of operations after their release, by operation.
    rests: Vec<(OperationRef, DurationNs)>,
}

impl Delays {
    fn extend(&mut self, others: &Self) {
        self.work.extend(&others.work);
        self.rests.extend(&others.rests);
        self.rests.sort_unstable();
    }

    /// Returns the ends of the delays, ascending.
    fn ends(&self, segments: &Segments) -> Vec<TimeNs> {
        let work = self.work.iter().map(|it| it.1.end);
        let rests = self.rests.iter().map(|it| segments.operation(it.0).end);
        let mut ends: Vec<TimeNs> = work.chain(rests).collect();
        ends.sort_unstable();
        ends
    }
}

/// The replayed run.
#[derive(Clone, Copy)]
pub(super) struct ReplayedRun<'a> {
    pub(super) segments: &'a Segments,
    pub(super) dependences: &'a Dependences<'a>,
    pub(super) released: &'a [Vec<Released>],
    /// The excesses of own work by lane, in order of time.
    pub(super) work: &'a [Vec<LaneExcess>],
    pub(super) roots: &'a [DelayRoot],
}

impl ReplayedRun<'_> {
    /// Takes each incident out of the run, the costliest first, until operations were visited three times as often as there
    /// are; and all that name a fault at once. Sets how much earlier the run would have ended without each, if that is
    /// known; returns the same without all, `None` if no incident names a fault. Cost: O(n log n) in operations.
    pub(super) fn lost_run_time(&self, clusters: &mut [Cluster]) -> Option<DurationNs> {
        if !clusters.iter().any(has_answer) {
            return None;
        }
        let delays = self.delays(clusters);
        let mut named = Delays::default();
        for (cluster, delays) in clusters.iter().zip(&delays) {
            if is_named(cluster) {
                named.extend(delays);
            }
        }
        let lanes = self.segments.lanes.iter();
        let num_operations: usize = lanes.map(|it| it.operations.len()).sum();
        let mut visits = MIN_VISITS.max(num_operations.saturating_mul(MAX_VISITS));
        let servers = self.servers();
        let without = |delays| WithoutDelays::new(*self, &servers, delays);
        let in_all = without(&named).lost(&mut visits);
        let answered = (0..clusters.len()).filter(|&it| has_answer(&clusters[it]));
        let mut order: Vec<usize> = answered.collect();
        order.sort_by_key(|&it| (!is_named(&clusters[it]), Reverse(clusters[it].cost), it));
        for it in order {
            clusters[it].lost_run_time = without(&delays[it]).lost(&mut visits);
        }
        in_all
    }

    /// Returns the lanes and call paths that receive messages in any order, as a server does, each in a call of its own;
    /// ascending.
    fn servers(&self) -> Vec<(LaneIdx, PathIdx)> {
        let mut servers = Vec::new();
        for (lane, released) in self.released.iter().enumerate() {
            let lane = LaneIdx::from_index(lane);
            let operations = self.segments.lane(lane).operations.iter().zip(released);
            let of_one = operations.filter(|it| it.0.rows().len() == 1);
            let mut messages: Vec<(PathIdx, LaneIdx)> = of_one
                .filter_map(|(operation, released)| {
                    let by = released.by.filter(|it| it.kind == WaitKind::LateSender)?;
                    Some((operation.path, by.peer))
                })
                .collect();
            // Messages of one path stay in their order.
            messages.sort_by_key(|it| it.0);
            let of_paths = messages.chunk_by(|a, b| a.0 == b.0);
            let free = of_paths.filter(|it| is_free(it));
            servers.extend(free.map(|it| (lane, it[0].0)));
        }
        servers
    }

    /// Returns the delays of each incident.
    fn delays(&self, clusters: &[Cluster]) -> Vec<Delays> {
        let mut cluster_of = vec![None; self.roots.len()];
        for (number, cluster) in clusters.iter().enumerate() {
            for &root in &cluster.roots {
                cluster_of[root] = Some(number);
            }
        }
        let of = |root: usize| {
            let end = self.roots[root].attributed_to;
            cluster_of[end.map_or(root, RootIdx::index)]
        };
        let mut delays = vec![Delays::default(); clusters.len()];
        for (lane, work) in self.work.iter().enumerate() {
            for it in work {
                if let Some(number) = of(it.root.index()) {
                    delays[number].work.push((LaneIdx::from_index(lane), *it));
                }
            }
        }
        for (number, root) in self.roots.iter().enumerate() {
            if let (Some(operation), Some(number)) = (root.operation, of(number)) {
                delays[number].rests.push((operation, root.amount));
            }
        }
        for it in &mut delays {
            it.rests.sort_unstable();
        }
        delays
    }
}

fn is_named(cluster: &Cluster) -> bool {
    has_answer(cluster) && cluster.kind.names_a_fault()
}

/// Returns whether the run is replayed without an incident. What is by design is no fault that could be mended; what a
/// collective that a rank never entered would have been is unknown, as is whom unexplained waits are for.
fn has_answer(cluster: &Cluster) -> bool {
    let is_unknown = matches!(cluster.kind, CauseKind::NotEntered | CauseKind::Unknown);
    !cluster.kind.is_by_design() && !is_unknown
}

/// The lag of a lane: by how much earlier it would be.
#[derive(Default)]
struct LaneLag {
    /// The lag after operations, where it changes: index of the operation, lag.
    changes: Vec<(usize, DurationNs)>,
    /// The excesses of own work that are taken out, in order of time.
    work: Vec<LaneExcess>,
    /// The times of operations after their release that are taken out, from the last operation to the next one: index of
    /// the operation, time.
    rests: Vec<(usize, DurationNs)>,
    /// The requests that it received as a server: index of the operation, sender, lag of the message.
    requests: Vec<(usize, LaneIdx, DurationNs)>,
    /// Number of operations that were passed.
    num_passed: usize,
}

impl LaneLag {
    /// Returns the lag after the first operations.
    fn after(&self, num_operations: usize) -> DurationNs {
        let changes = &self.changes;
        let at = match changes.last() {
            Some(last) if last.0 < num_operations => changes.len(),
            _ => changes.partition_point(|it| it.0 < num_operations),
        };
        at.checked_sub(1)
            .map_or(DurationNs::ZERO, |at| changes[at].1)
    }

    /// Returns the own work that is taken out before operations.
    fn work_within(&self, operations: Range<usize>) -> DurationNs {
        let first = |at: usize| self.work.partition_point(|it| it.operations_before < at);
        let work = &self.work[first(operations.start)..first(operations.end)];
        work.iter().map(|it| it.amount).sum()
    }

    /// Returns the lag after the first operations and the own work after them, up to a time.
    fn with_work(&self, num_operations: usize, until: Option<TimeNs>) -> DurationNs {
        let from = self
            .work
            .partition_point(|it| it.operations_before < num_operations);
        let here = self.work[from..].iter();
        let here = here.take_while(|it| it.operations_before == num_operations);
        let here = here.filter(|it| until.is_none_or(|until| it.end <= until));
        self.after(num_operations) + here.map(|it| it.amount).sum()
    }
}

/// Returns whether the messages of a call path come in no fixed order.
fn is_free(messages: &[(PathIdx, LaneIdx)]) -> bool {
    let mut senders: Vec<LaneIdx> = messages.iter().map(|it| it.1).collect();
    senders.sort_unstable();
    senders.dedup();
    let pairs = messages.windows(2).map(|it| (it[0].1, it[1].1));
    let mut pairs: Vec<(LaneIdx, LaneIdx)> = pairs.filter(|it| it.0 != it.1).collect();
    pairs.sort_unstable();
    pairs.dedup();
    senders.len() >= MIN_SENDERS && pairs.len() >= MIN_FOLLOWERS * senders.len()
}

/// A pass over the run without some delays.
struct WithoutDelays<'a> {
    run: ReplayedRun<'a>,
    servers: &'a [(LaneIdx, PathIdx)],
    delays: &'a Delays,
    lanes: Vec<LaneLag>,
    /// For each meeting, the number of members that had entered, and the latest of their entries without the delays.
    entries: Vec<(usize, TimeNs)>,
}

impl<'a> WithoutDelays<'a> {
    fn new(run: ReplayedRun<'a>, servers: &'a [(LaneIdx, PathIdx)], delays: &'a Delays) -> Self {
        let num_lanes = run.segments.lanes.len();
        let mut lanes: Vec<LaneLag> = (0..num_lanes).map(|_| LaneLag::default()).collect();
        for (lane, excess) in &delays.work {
            lanes[lane.index()].work.push(*excess);
        }
        for (operation, rest) in delays.rests.iter().rev() {
            let lane = &mut lanes[operation.lane.index()];
            lane.rests.push((operation.at(), *rest));
        }
        for lane in &mut lanes {
            lane.work.sort_by_key(|it| (it.operations_before, it.end));
        }
        Self {
            run,
            servers,
            delays,
            lanes,
            entries: vec![(0, TimeNs(0)); run.dependences.meetings().all.len()],
        }
    }

    /// Returns how much earlier the run would have ended; `None` without delays, or if it takes more visits than are left.
    fn lost(mut self, visits: &mut usize) -> Option<DurationNs> {
        let segments = self.run.segments;
        let ends = self.delays.ends(segments);
        let mut next = self.skip_to(*ends.first()?);
        let mut even: Option<(DurationNs, TimeNs)> = None;
        let mut until_next = segments.lanes.len();
        while let Some(&it) = self.run.dependences.order().get(next) {
            *visits = visits.checked_sub(1)?;
            self.pass(it);
            next += 1;
            until_next -= 1;
            if until_next > 0 {
                continue;
            }
            until_next = segments.lanes.len();
            let now = segments.operation(it).end;
            even = match (self.even_lag(now), even) {
                (Some(lag), Some((known, from))) if is_even(lag, known) => Some((known, from)),
                (lag, _) => lag.map(|lag| (lag, now)),
            };
            // A message that was sent before can still make a lane wait for as long as the lanes are late.
            let goes_on = |(lag, from): (DurationNs, TimeNs)| {
                now <= from + DurationNs(lag.0.saturating_mul(2))
            };
            if even.is_some_and(|it| !goes_on(it)) {
                // Nothing changes until the next delay.
                let Some(&end) = ends.get(ends.partition_point(|end| *end <= now)) else {
                    break;
                };
                next = self.skip_to(end).max(next);
                even = None;
            }
        }
        // A lane that waits for nothing, as that of a profiler, does not show that its rank could not have ended earlier.
        let mut waits = vec![false; segments.processes.len()];
        for lane in &segments.lanes {
            waits[lane.process] |= !lane.operations.is_empty();
        }
        let ends = segments.lanes.iter().zip(&self.lanes);
        let ends = ends.filter(|(lane, _)| !lane.operations.is_empty() || !waits[lane.process]);
        let ends = ends.filter_map(|(lane, lag)| {
            let end = lane_end(lane)?;
            let lag = lag.with_work(lag.num_passed, None);
            Some((end, end + DurationNs(-lag.0)))
        });
        let (end, without) = ends.fold((TimeNs(i64::MIN), TimeNs(i64::MIN)), |a, b| {
            (a.0.max(b.0), a.1.max(b.1))
        });
        Some(end.since(without).max(DurationNs::ZERO))
    }

    /// Passes the operations that end before a time, in which no lag changes; returns the number of all of them.
    fn skip_to(&mut self, time: TimeNs) -> usize {
        for (lane, of_lane) in self.lanes.iter_mut().zip(&self.run.segments.lanes) {
            let num_passed = of_lane.operations.partition_point(|it| it.end < time);
            let skipped = lane.num_passed..num_passed;
            if skipped.is_empty() {
                continue;
            }
            let lag = lane.after(skipped.start) + lane.work_within(skipped);
            if lag != lane.after(num_passed) {
                lane.changes.push((num_passed - 1, lag));
            }
            lane.num_passed = num_passed;
        }
        let order = self.run.dependences.order();
        order.partition_point(|it| self.run.segments.operation(*it).end < time)
    }

    /// Returns the largest lag at a time of the lanes whose operations are not over, if they are late alike.
    fn even_lag(&self, now: TimeNs) -> Option<DurationNs> {
        let lanes = self.run.segments.lanes.iter().zip(&self.lanes);
        let open = lanes.filter(|(lane, lag)| lag.num_passed < lane.operations.len());
        let lags = open.map(|(_, lag)| lag.with_work(lag.num_passed, Some(now)));
        let (least, most) = (lags.clone().min()?, lags.max()?);
        is_even(least, most).then_some(most)
    }

    fn pass(&mut self, it: OperationRef) {
        let operation = self.run.segments.operation(it);
        let released = self.run.released[it.lane.index()][it.at()];
        let released_at = released.at(operation);
        let own = self.entered(it);
        let mut without = operation.start + DurationNs(-own.0);
        if let Some(entered) = self.entries_without(it) {
            without = without.max(entered);
        }
        let mut request = None;
        for cause in released.by.iter().chain(self.run.dependences.others(it)) {
            let lag = self.lag_of(cause);
            if cause.kind == WaitKind::LateSender
                && self
                    .servers
                    .binary_search(&(it.lane, operation.path))
                    .is_ok()
            {
                request = Some((it.at(), cause.peer, lag));
            }
            let lag = lag.max(self.lag_of_request(it.lane, cause));
            let time = cause.time.min(released_at);
            without = without.max(time + DurationNs(-lag.0));
        }
        let mut lag = released_at.since(without).max(DurationNs::ZERO);
        let lane = &mut self.lanes[it.lane.index()];
        while let Some((_, rest)) = lane.rests.pop_if(|rest| rest.0 <= it.at()) {
            lag += rest;
        }
        lane.requests.extend(request);
        if lag != lane.after(it.at()) {
            lane.changes.push((it.at(), lag));
        }
        lane.num_passed = it.at() + 1;
    }

    /// Returns when the last member of an operation's meeting would have entered, of those that entered before its end.
    fn entries_without(&mut self, it: OperationRef) -> Option<TimeNs> {
        let (number, entered) = self.run.dependences.entered(it)?;
        let (num_entered, last) = self.entries[number];
        if num_entered == entered.len() {
            return Some(last);
        }
        let entries = entered.iter();
        let last = entries
            .map(|&(time, member)| time + DurationNs(-self.entered(member).0))
            .max()?;
        self.entries[number] = (entered.len(), last);
        Some(last)
    }

    fn entered(&self, it: OperationRef) -> DurationNs {
        self.lanes[it.lane.index()].with_work(it.at(), None)
    }

    /// Returns the lag of the request that a message answers: a server that serves in any order would have answered an
    /// earlier request earlier.
    fn lag_of_request(&self, sender: LaneIdx, answer: &Release) -> DurationNs {
        let (PeerState::Before(send) | PeerState::After(send)) = answer.state() else {
            return DurationNs::ZERO;
        };
        let requests = &self.lanes[send.lane.index()].requests;
        let before = requests.partition_point(|it| it.0 <= send.at());
        let last = before.checked_sub(1).map(|at| requests[at]);
        let own = last.filter(|it| it.1 == sender && answer.row().is_some());
        own.map_or(DurationNs::ZERO, |it| it.2)
    }

    fn lag_of(&self, by: &Release) -> DurationNs {
        let lane = |it: OperationRef| &self.lanes[it.lane.index()];
        match by.state() {
            PeerState::After(peer) if peer.at() < lane(peer).num_passed => {
                lane(peer).after(peer.at() + 1)
            }
            PeerState::Before(peer) | PeerState::After(peer) => self.entered(peer),
            PeerState::Now => {
                let operations = &self.run.segments.lane(by.peer).operations;
                let ended = operations.partition_point(|it| it.end <= by.time);
                self.lanes[by.peer.index()].with_work(ended, Some(by.time))
            }
        }
    }
}

/// Returns whether two lags differ by no more than an estimate may.
fn is_even(one: DurationNs, other: DurationNs) -> bool {
    (one.0 - other.0).abs() <= (one.max(other).0 / EVEN).max(EVEN_ANYWAY.0)
}

/// Returns the end of a lane's last operation or own work.
fn lane_end(lane: &LaneSegments) -> Option<TimeNs> {
    let last = lane.operations.last().map(|it| it.end);
    last.max(lane.span.map(|it| it.1))
}
