//! The causes of delays: found once for a whole run, then queried for any execution.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use callgrove_model::{
    Cancelled, DurationNs, ExecIdx, ExecRef, LaneIdx, Progress, RankId, TimeNs, Trace,
};
use callgrove_segments::{Clocks, Meetings, OperationRef, Segments, segments_on_common_clock};

use super::by_design::{DesignedWait, designed};
use super::confidence::confidence_percent;
use super::delay_root::DelayRoot;
use super::grouping::{Cluster, group};
use super::lane_delays::LaneDelays;
use super::outcome::{
    CauseKind, DelayCause, DelayRole, Incident, Incidents, RootCause, Waits, period,
};
use super::release::{Dependences, Partners};
use super::replay::{ChargedWait, Replayed, replay};
use super::stall;
use super::unentered::Hangs;
use super::usual::ExcessSource;
use super::wait_states::{call_path, collectives, is_timed, wait_states};

/// Confidence of a cause by design, which shows in many waits: an assumption, not measured.
const DESIGNED_PERCENT: u8 = 95;

/// Maximum confidence in a rank that follows from clocks bounded by messages from one side only: an assumption.
const UNSURE_CLOCK_PERCENT: u8 = 50;

/// The causes of all delays of a run.
///
/// The serialised form leaves out the waits, which are many.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Causes {
    #[serde(skip)]
    waits: Waits,
    clocks: Clocks,
    #[serde(rename = "held")]
    delays: LaneDelays,
    incident_of_root: Vec<Option<usize>>,
    roots: Vec<RootCause>,
    incidents: Incidents,
    is_timed: bool,
}

impl Causes {
    /// Finds the wait states, causes and incidents of a run; none if the run is not [timed](Self::is_timed). Cost:
    /// O(n log n) in events and messages. The result is deterministic.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Trace, progress: Progress<'_>) -> Result<Self, Cancelled> {
        progress.at(0.0)?;
        if !is_timed(trace) {
            return Ok(Self::default());
        }
        Self::search(trace, ExcessSource::Usual, progress)
    }

    /// Finds the same in an excerpt of a run: the calls that stalled according to `is_stalled`, and the messages
    /// around them. An excerpt has no usual durations, so all the time of a call is a delay: its own work, or the
    /// time after its release. A lane that a stalled call waited for, and that did not stall itself, was slow in work
    /// that the excerpt does not show. Cost: that of [`Causes::find`].
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn of_stalls(
        trace: &Trace,
        is_stalled: impl Fn(ExecRef) -> bool,
        progress: Progress<'_>,
    ) -> Result<Self, Cancelled> {
        Self::search(trace, ExcessSource::Stalls(&is_stalled), progress)
    }

    fn search(
        trace: &Trace,
        source: ExcessSource<'_>,
        progress: Progress<'_>,
    ) -> Result<Self, Cancelled> {
        let is_excerpt = source.is_excerpt();
        let (segments, clocks) = segments_on_common_clock(trace, is_excerpt);
        progress.at(0.2)?;
        let partners = Partners::new(trace, &clocks, &segments);
        let meetings = if is_excerpt {
            Meetings::of_excerpt(&segments)
        } else {
            Meetings::find(trace, &clocks, &segments)
        };
        progress.at(0.3)?;
        let dependences = Dependences::new(&segments, &partners, &meetings);
        let mut released = dependences.releases();
        progress.at(0.4)?;
        let mut replayed = replay(&segments, &partners, &dependences, &released, source);
        progress.at(0.8)?;
        let Replayed { waits, roots, .. } = &mut replayed;
        stall::resolve(&segments, &partners, &clocks, waits, roots);
        // An excerpt lacks calls, so they cannot be counted.
        let hangs = if is_excerpt {
            Hangs::default()
        } else {
            Hangs::find(trace, &clocks, &segments, &mut replayed, &mut released)
        };
        let mut clusters = group(&segments, &clocks, &mut replayed.roots, is_excerpt);
        hangs.add(&mut replayed.roots, &mut clusters);
        // Recurrence shows in a whole run only.
        let designed = if is_excerpt {
            Vec::new()
        } else {
            designed(trace, &clocks, &segments, &released, &replayed.by_design)
        };
        progress.at(0.9)?;
        let facts = Found {
            trace,
            clocks: &clocks,
            segments: &segments,
            meetings: &meetings,
            roots: &replayed.roots,
            hangs: &hangs,
        };
        let (roots, place) = facts.root_causes();
        let delays = LaneDelays::new(
            trace,
            &segments,
            &released,
            &replayed.roots,
            &replayed.waits,
            &place,
        );
        let (incidents, incident_of_root) =
            facts.incidents(&roots, &place, &clusters, &designed, &replayed.waits);
        let waits = wait_states(
            trace,
            &clocks,
            &segments,
            &meetings,
            &released,
            &replayed.roots,
        );
        let lanes = trace.lanes.iter().map(|it| (it.program, it.rank)).collect();
        let waits = Waits::new(waits, collectives(&segments, &meetings), lanes);
        progress.at(1.0)?;
        Ok(Self {
            waits,
            clocks,
            delays,
            incident_of_root,
            roots,
            incidents,
            is_timed: true,
        })
    }

    /// Returns whether the trace records when calls began. If all calls begin with their callers, as in a forest
    /// file, the trace has only durations, and delays cannot be followed.
    pub fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Returns the cause of the delay of an execution of any function. `trace` is the one that the causes were found
    /// in.
    pub fn of(&self, trace: &Trace, exec: ExecRef) -> DelayCause {
        let executions = &trace.lane(exec.lane).executions;
        let entry = executions.entry[exec.exec.index()];
        self.of_time(trace, exec.lane, entry..executions.exit(exec.exec))
    }

    /// Returns the cause of the delay of a lane in a time range: the root that delayed it longest. Only the ranks of
    /// the lanes are read from `trace`.
    pub fn of_time(&self, trace: &Trace, lane: LaneIdx, time: Range<TimeNs>) -> DelayCause {
        let common = |time| self.clocks.common(lane, time);
        let time = common(time.start)..common(time.end);
        let by = self.delays.largest_delay(lane, &time);
        if by.role == DelayRole::OnTime {
            return DelayCause::ON_TIME;
        }
        let root = by.root.and_then(|it| Some((it, self.roots.get(it)?)));
        let kind = root.map_or(CauseKind::Unknown, |(_, root)| root.kind);
        let role = match by.role {
            _ if kind == CauseKind::Unknown => DelayRole::Undecided,
            DelayRole::Root if !kind.is_of_a_rank() => DelayRole::Victim,
            role => role,
        };
        let hops = root.filter(|_| by.role == DelayRole::Victim).map(|root| {
            let local = |lane, time| self.clocks.local(lane, time);
            let since = common_start(&self.clocks, root.1);
            self.delays
                .hops(trace, lane, &time, (root.0, root.1, since), local)
        });
        DelayCause {
            role,
            kind,
            root: root.filter(|_| role != DelayRole::Undecided).map(|it| it.0),
            incident: root.and_then(|it| self.incident_of(it.0)),
            waited: by.amount,
            hops: hops.unwrap_or_default(),
        }
    }

    /// Returns how much longer a lane took in a time range because of named delays: those of incidents that neither are
    /// by design nor have an unknown cause, nor are the tracer's.
    pub fn named_delay(&self, lane: LaneIdx, time: Range<TimeNs>) -> DurationNs {
        let common = |time| self.clocks.common(lane, time);
        let time = common(time.start)..common(time.end);
        let is_named = |root: usize| {
            let incident = self.incident_of(root);
            let kind = incident.map(|it| self.incidents.all()[it].kind);
            kind.is_some_and(CauseKind::names_a_fault)
        };
        let delays = self.delays.amounts(lane, &time).into_iter();
        let named = delays.filter(|((root, _), _)| root.is_some_and(is_named));
        named.map(|(_, amount)| amount).sum()
    }

    /// Returns the roots of delays, ordered by the delay that they caused, largest first.
    pub fn roots(&self) -> &[RootCause] {
        &self.roots
    }

    /// Returns the incident of a root, given by its index in [`Causes::roots`].
    pub fn incident_of(&self, root: usize) -> Option<usize> {
        self.incident_of_root.get(root).copied().flatten()
    }

    /// Returns the wait states.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Returns the incidents.
    pub fn incidents(&self) -> &Incidents {
        &self.incidents
    }

    /// Returns the clocks of the hosts, as estimated from messages.
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }
}

/// The results of the search, before they are converted for display.
struct Found<'a> {
    trace: &'a Trace,
    clocks: &'a Clocks,
    segments: &'a Segments,
    meetings: &'a Meetings,
    roots: &'a [DelayRoot],
    hangs: &'a Hangs,
}

impl Found<'_> {
    /// Returns the final roots, and for every root the index of its final root among them.
    fn root_causes(&self) -> (Vec<RootCause>, Vec<usize>) {
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
    fn incidents(
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
            times: u32::try_from(it.starts.len()).unwrap_or(u32::MAX),
            every: period(&it.starts),
            unentered: None,
            similar_group: 0,
        }
        .with_sorted_members(self.trace)
    }
}

/// Returns the start of a root on the common clock.
fn common_start(clocks: &Clocks, root: &RootCause) -> TimeNs {
    clocks.common(root.lane, root.start)
}

fn exec_ref(lane: LaneIdx, exec: ExecIdx) -> ExecRef {
    ExecRef { lane, exec }
}
