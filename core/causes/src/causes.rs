//! The causes of delays: found once for a whole run, then queried for any execution.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use callgrove_model::{Cancelled, DurationNs, ExecRef, LaneIdx, Progress, TimeNs, Trace};
use callgrove_segments::{Clocks, Meetings, segments_on_common_clock};

use super::by_design::designed;
use super::found::Found;
use super::grouping::group;
use super::lane_delays::LaneDelays;
use super::outcome::{CauseKind, DelayCause, DelayRole, Incidents, RootCause, Waits};
use super::release::{Dependences, Partners};
use super::replay::{Replayed, replay};
use super::run_time::ReplayedRun;
use super::stall;
use super::unentered::Hangs;
use super::usual::ExcessSource;
use super::wait_states::is_timed;

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
    lost_run_time: Option<DurationNs>,
    run_length: DurationNs,
    is_timed: bool,
}

/// What is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extent {
    /// All of a run.
    Run,
    /// The delays of a run only.
    Delays,
    /// All that an excerpt of a run shows.
    Excerpt,
}

impl Causes {
    /// Finds the wait states, causes and incidents of a run; none if the run is not [timed](Self::is_timed). Cost:
    /// O(n log n) in events and messages. The result is deterministic.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Trace, progress: Progress<'_>) -> Result<Self, Cancelled> {
        Self::find_in_run(trace, Extent::Run, progress)
    }

    /// Finds the delays only: no wait states, no causes by design, and not what incidents cost the run. That takes three
    /// quarters of the time.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find_delays(trace: &Trace, progress: Progress<'_>) -> Result<Self, Cancelled> {
        Self::find_in_run(trace, Extent::Delays, progress)
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
        let source = ExcessSource::Stalls(&is_stalled);
        Self::search(trace, source, Extent::Excerpt, progress)
    }

    fn find_in_run(
        trace: &Trace,
        extent: Extent,
        progress: Progress<'_>,
    ) -> Result<Self, Cancelled> {
        progress.at(0.0)?;
        if !is_timed(trace) {
            return Ok(Self::default());
        }
        Self::search(trace, ExcessSource::Usual, extent, progress)
    }

    fn search(
        trace: &Trace,
        source: ExcessSource<'_>,
        extent: Extent,
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
        let (dependences, mut released) = Dependences::find(&segments, &partners, &meetings);
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
        let designed = if extent == Extent::Run {
            designed(trace, &clocks, &segments, &released, &replayed.by_design)
        } else {
            Vec::new()
        };
        progress.at(0.85)?;
        let run = ReplayedRun {
            segments: &segments,
            dependences: &dependences,
            released: &released,
            work: &replayed.work,
            roots: &replayed.roots,
        };
        // An excerpt does not show how lanes catch up, nor a selection of executions all that they depend on.
        let shows_all = extent == Extent::Run && !trace.is_selection;
        let lost_run_time = shows_all.then(|| run.lost_run_time(&mut clusters));
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
        let delays = facts.lane_delays(&released, &replayed.waits, &place);
        let (incidents, incident_of_root) =
            facts.incidents(&roots, &place, &clusters, &designed, &replayed.waits);
        let waits = if extent == Extent::Delays {
            Waits::default()
        } else {
            facts.waits(&released)
        };
        progress.at(1.0)?;
        Ok(Self {
            waits,
            clocks,
            delays,
            incident_of_root,
            roots,
            incidents,
            lost_run_time: lost_run_time.flatten(),
            run_length: run_length(trace),
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

    /// Returns how much longer a lane took in a time range because of some roots, given by their indices in
    /// [`Causes::roots`].
    pub fn delay_by(
        &self,
        lane: LaneIdx,
        time: Range<TimeNs>,
        is_wanted: impl Fn(usize) -> bool,
    ) -> DurationNs {
        let common = |time| self.clocks.common(lane, time);
        let time = common(time.start)..common(time.end);
        let delays = self.delays.amounts(lane, &time).into_iter();
        let wanted = delays.filter(|((root, _), _)| root.is_some_and(&is_wanted));
        wanted.map(|(_, amount)| amount).sum()
    }

    /// Returns whether a root, given by its index in [`Causes::roots`], is a named delay: one of an incident that neither
    /// is by design nor has an unknown cause, nor is the tracer's.
    pub fn is_named(&self, root: usize) -> bool {
        let incident = self.incident_of(root);
        let kind = incident.map(|it| self.incidents.all()[it].kind);
        kind.is_some_and(CauseKind::names_a_fault)
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

    /// Returns how much earlier the run would have ended without all incidents that name a fault
    /// ([`CauseKind::names_a_fault`]); `None` without one, and if it is not known.
    pub fn lost_run_time(&self) -> Option<DurationNs> {
        self.lost_run_time
    }

    /// Returns the time from the first event of the run to the last one.
    pub fn run_length(&self) -> DurationNs {
        self.run_length
    }

    /// Returns the clocks of the hosts, as estimated from messages.
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }
}

fn run_length(trace: &Trace) -> DurationNs {
    let span = trace.time_span();
    span.map_or(DurationNs::ZERO, |(begin, end)| end.since(begin))
}

/// Returns the start of a root on the common clock.
fn common_start(clocks: &Clocks, root: &RootCause) -> TimeNs {
    clocks.common(root.lane, root.start)
}
