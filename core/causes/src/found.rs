//! The results of the search, converted for display.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use callgrove_model::{DurationNs, ExecIdx, ExecRef, LaneIdx, RankId, Trace};
use callgrove_segments::{Clocks, Meetings, OperationRef, Segments};

use super::by_design::DesignedWait;
use super::confidence::confidence_percent;
use super::delay_root::DelayRoot;
use super::grouping::Cluster;
use super::lane_delays::LaneDelays;
use super::outcome::{CauseKind, Incident, Incidents, RootCause, Waits, period};
use super::release::Released;
use super::replay::ChargedWait;
use super::unentered::Hangs;
use super::wait_states::{call_path, collectives, wait_states};

/// Confidence of a cause by design, which shows in many waits: an assumption, not measured.
const DESIGNED_PERCENT: u8 = 95;

/// Maximum confidence in a rank that follows from clocks bounded by messages from one side only: an assumption.
const UNSURE_CLOCK_PERCENT: u8 = 50;

/// The results of the search, before they are converted for display.
pub(super) struct Found<'a> {
    pub(super) trace: &'a Trace,
    pub(super) clocks: &'a Clocks,
    pub(super) segments: &'a Segments,
    pub(super) meetings: &'a Meetings,
    pub(super) roots: &'a [DelayRoot],
    pub(super) hangs: &'a Hangs,
}

impl Found<'_> {
    /// Returns the final roots, and for every root the index of its final root among them.
    pub(super) fn root_causes(&self) -> (Vec<RootCause>, Vec<usize>) {
        let ends = (0..self.roots.len()).filter(|&it| self.roots[it].attributed_to.is_none());
        let mut order: Vec<usize> = ends.collect();
        order.sort_by_key(|&it| {
            let root = &self.roots[it];
            (Reverse(root.cost), root.start, root.lane, it)
        });
        let mut place = vec![usize::MAX; self.roots.len()];
        for (at, &it) in order.iter().enumerate() {
            place[it] = at;
        }
        for (it, root) in self.roots.iter().enumerate() {
            if let Some(end) = root.attributed_to {
                place[it] = place[end.index()];
            }
        }
        let roots = order.iter().map(|&it| self.root_cause(it));
        (roots.collect(), place)
    }

    /// Returns the delays by lane; `place` maps each root to the index of the root that it is attributed to.
    pub(super) fn lane_delays(
        &self,
        released: &[Vec<Released>],
        waits: &[ChargedWait],
        place: &[usize],
    ) -> LaneDelays {
        let (trace, segments) = (self.trace, self.segments);
        LaneDelays::new(trace, segments, released, self.roots, waits, place)
    }

    /// Returns all wait states.
    pub(super) fn waits(&self, released: &[Vec<Released>]) -> Waits {
        let (segments, meetings) = (self.segments, self.meetings);
        let waits = wait_states(
            self.trace,
            self.clocks,
            segments,
            meetings,
            released,
            self.roots,
        );
        let lanes = self.trace.lanes.iter();
        let lanes = lanes.map(|it| (it.program, it.rank)).collect();
        Waits::new(waits, collectives(segments, meetings), lanes)
    }

    fn rank(&self, process: usize) -> RankId {
        self.segments.processes[process].1
    }

    /// Returns whether the clock of a root or of one of its victims is bounded from one side only.
    fn is_one_way(&self, root: &DelayRoot) -> bool {
        let victims = root.victims.keys();
        let lanes = victims.filter_map(|it| self.segments.first_thread(self.trace, *it));
        lanes
            .chain([root.lane])
            .any(|lane| self.clocks.is_one_way(lane))
    }

    fn root_cause(&self, index: usize) -> RootCause {
        let root = &self.roots[index];
        let lane = self.trace.lane(root.lane);
        let own = self.segments.lane(root.lane).process;
        let others = root.victims.keys().filter(|process| **process != own);
        let local = |time| self.clocks.local(root.lane, time);
        let is_clock_unsure = root.operation.is_some() && self.is_one_way(root);
        let of_hang = self.hangs.confidence_percent(index);
        let confidence_percent = of_hang.unwrap_or_else(|| confidence_percent(root, self.meetings));
        RootCause {
            kind: root.kind,
            lane: root.lane,
            rank: lane.rank,
            call: exec_ref(root.lane, root.call),
            func: lane.executions.func[root.call.index()],
            start: local(root.start),
            end: local(root.end),
            own_delay: root.amount,
            usual: root.usual,
            is_in_library: root.operation.is_some(),
            caused: root.cost,
            num_victims: u32::try_from(others.count()).unwrap_or(u32::MAX),
            is_clock_unsure,
            confidence_percent: if is_clock_unsure {
                confidence_percent.min(UNSURE_CLOCK_PERCENT)
            } else {
                confidence_percent
            },
            next_best: root.next_best.map(|process| self.rank(process)),
            late_sender: root.late_sender.map(|process| self.rank(process)),
        }
    }

    /// Returns the incidents, and the incident of each root.
    pub(super) fn incidents(
        &self,
        roots: &[RootCause],
        place: &[usize],
        clusters: &[Cluster],
        designed: &[DesignedWait],
        waits: &[ChargedWait],
    ) -> (Incidents, Vec<Option<usize>>) {
        // The calls that waited for each root, and the parts of each root.
        let mut calls: Vec<Vec<ExecRef>> = vec![Vec::new(); roots.len()];
        for wait in waits {
            if let Some(root) = wait.root {
                let operation = self.segments.operation(wait.operation);
                let call = exec_ref(wait.operation.lane, operation.call);
                calls[place[root.index()]].push(call);
            }
        }
        for (it, root) in self.roots.iter().enumerate() {
            calls[place[it]].push(exec_ref(root.lane, root.call));
        }
        let mut found: Vec<(Incident, Vec<usize>)> = clusters
            .iter()
            .map(|it| {
                let members = it.roots.iter().map(|&root| place[root]).collect();
                (self.incident(roots, place, it, &calls), members)
            })
            .collect();
        found.extend(designed.iter().map(|it| (self.designed(it), Vec::new())));
        let order = |it: &Incident| {
            let cost = Reverse(it.delay);
            let rank = match it.kind {
                CauseKind::NotEntered => 0,
                CauseKind::Unknown => 2,
                _ => 1,
            };
            (it.kind.is_by_design(), rank, cost, it.start, it.root.lane)
        };
        found.sort_by_key(|it| order(&it.0));
        let mut of_root = vec![None; roots.len()];
        for (index, (_, members)) in found.iter().enumerate() {
            for &root in members {
                of_root[root] = Some(index);
            }
        }
        let all = found.into_iter().map(|it| it.0).collect();
        let incidents = Incidents::new(all, |lane| self.clocks.host_of(lane));
        (incidents, of_root)
    }

    fn incident(
        &self,
        roots: &[RootCause],
        place: &[usize],
        cluster: &Cluster,
        calls: &[Vec<ExecRef>],
    ) -> Incident {
        let root = roots[place[cluster.roots[0]]];
        let local = |time| self.clocks.local(root.lane, time);
        let is_one = cluster.starts.is_empty();
        let shown = if is_one {
            &cluster.roots[..]
        } else {
            &cluster.roots[..1]
        };
        let members = shown.iter().flat_map(|&it| &calls[place[it]]).copied();
        Incident {
            start: local(cluster.start),
            end: local(cluster.end),
            kind: cluster.kind,
            call_path: call_path(self.trace, root.call),
            ranks: Vec::new(),
            members: members.collect(),
            delay: cluster.cost,
            lost_run_time: cluster.lost_run_time.filter(|_| is_likely(&root)),
            times: u32::try_from(cluster.starts.len())
                .unwrap_or(u32::MAX)
                .max(1),
            every: period(&cluster.starts),
            unentered: (self.hangs).unentered(self.trace, self.segments, cluster.roots[0]),
            similar_group: 0,
            root,
        }
        .with_sorted_members(self.trace)
    }

    fn designed(&self, it: &DesignedWait) -> Incident {
        let lane = self.trace.lane(it.lane);
        let call = exec_ref(it.lane, it.call);
        let local = |time| self.clocks.local(it.lane, time);
        let waiting = |it: &OperationRef| {
            let operation = self.segments.operation(*it);
            (operation, exec_ref(it.lane, operation.call))
        };
        let starts = it.waits.iter().map(|it| waiting(it).0.start);
        let ends = it.waits.iter().map(|it| waiting(it).0.end);
        let victims: BTreeSet<usize> = it
            .waits
            .iter()
            .map(|it| self.segments.lane(it.lane).process)
            .collect();
        let members = it.waits.iter().map(|it| waiting(it).1);
        Incident {
            start: local(starts.chain([it.start]).min().unwrap_or(it.start)),
            end: local(ends.chain([it.end]).max().unwrap_or(it.end)),
            kind: it.kind,
            root: RootCause {
                kind: it.kind,
                lane: it.lane,
                rank: lane.rank,
                call,
                func: lane.executions.func[it.call.index()],
                start: local(it.start),
                end: local(it.end),
                own_delay: DurationNs::ZERO,
                usual: it.end.since(it.start),
                is_in_library: false,
                caused: it.cost,
                num_victims: u32::try_from(victims.len()).unwrap_or(u32::MAX),
                is_clock_unsure: false,
                confidence_percent: DESIGNED_PERCENT,
                next_best: None,
                late_sender: None,
            },
            call_path: call_path(self.trace, call),
            members: members.chain([call]).collect(),
            ranks: Vec::new(),
            delay: it.cost,
            lost_run_time: None,
            times: u32::try_from(it.starts.len()).unwrap_or(u32::MAX),
            every: period(&it.starts),
            unentered: None,
            similar_group: 0,
        }
        .with_sorted_members(self.trace)
    }
}

/// Returns whether the rank of a root is likelier right than wrong. One stop whose rank is a guess can be two roots, each of
/// which explains only a part of what the run lost.
fn is_likely(root: &RootCause) -> bool {
    root.confidence_percent >= 50
}

fn exec_ref(lane: LaneIdx, exec: ExecIdx) -> ExecRef {
    ExecRef { lane, exec }
}
