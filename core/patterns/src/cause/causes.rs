//! Who made whom late: found once for a whole run, then asked for any execution.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use callgrove_model::{Cancelled, DurationNs, ExecRef, LaneIdx, Progress, TimeNs, Trace};

use super::call_kind::CallKind;
use super::clock::Clocks;
use super::cluster::clusters;
use super::collectives::collectives;
use super::delay::{CauseKind, DelayCause, DelayRole, Hop, RootCause};
use super::evidence::Facts;
use super::incidents::Incidents;
use super::links::{StallLink, earliest, links};
use super::origin::{Origins, origins};
use super::roots::Roots;
use super::stall::Stalls;
use super::wait::Waits;
use super::wait_states::wait_states;

/// Causes of every delay of a run.
///
/// Its serialised form is without the waits, which are many.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Causes {
    #[serde(skip)]
    waits: Waits,
    clocks: Clocks,
    stalls: Stalls,
    links: Vec<Vec<StallLink>>,
    origins: Origins,
    root_of_stall: Vec<usize>,
    incident_of_root: Vec<Option<usize>>,
    roots: Vec<RootCause>,
    incidents: Incidents,
    cycles: Vec<WaitCycle>,
}

/// Ranks that all wait for one another, so that the way to a root runs in a circle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitCycle {
    /// The calls in the circle; each waits for the next, the last for the first.
    pub calls: Vec<ExecRef>,
    /// When all of them waited: from here.
    pub start: TimeNs,
    /// To here.
    pub end: TimeNs,
}

impl Causes {
    /// Finds the wait states, causes and incidents of a run. Linear in events and messages; deterministic.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Trace, progress: Progress<'_>) -> Result<Self, Cancelled> {
        progress.at(0.0)?;
        let kinds = CallKind::of_all(&trace.names);
        let clocks = Clocks::estimate(trace);
        progress.at(0.1)?;
        let collectives = collectives(trace, &kinds, &clocks);
        progress.at(0.2)?;
        let mut stalls = Stalls::find(trace, &clocks, &kinds);
        progress.at(0.5)?;
        let facts = Facts::new(trace, &clocks, &kinds, &collectives);
        stalls.settle_due(|stall| facts.due(stall));
        let links = links(&facts, &stalls);
        let origins = origins(&stalls, &links);
        let mut roots = Roots::find(&facts, &stalls, &links, &origins);
        progress.at(0.7)?;
        let waits = wait_states(&facts, &stalls, &links, &origins);
        progress.at(0.9)?;
        let clusters = clusters(trace, &clocks, &stalls, &mut roots);
        let cycles = cycles(&clocks, &stalls, &links, &origins);
        let lanes = trace.lanes.iter().map(|it| (it.program, it.rank)).collect();
        progress.at(1.0)?;
        Ok(Self {
            waits: Waits::new(waits, collectives, lanes),
            clocks,
            stalls,
            links,
            origins,
            root_of_stall: roots.of_stall,
            incident_of_root: clusters.of_root,
            roots: roots.all,
            incidents: Incidents::new(clusters.incidents),
            cycles,
        })
    }

    /// Why an execution, of whatever function, was late; `trace` is the one that the causes were found in.
    pub fn of(&self, trace: &Trace, exec: ExecRef) -> DelayCause {
        let executions = &trace.lane(exec.lane).executions;
        let entry = executions.entry[exec.exec.index()];
        self.of_time(trace, exec.lane, entry..executions.exit(exec.exec))
    }

    /// The same of what a lane did in a time. The stalls inside it decide: of the roots, the one that held it up
    /// longest. Of `trace` only the ranks of its lanes are asked.
    pub fn of_time(&self, trace: &Trace, lane: LaneIdx, time: Range<TimeNs>) -> DelayCause {
        let (from, to) = (
            self.clocks.common(lane, time.start),
            self.clocks.common(lane, time.end),
        );
        let mut held: BTreeMap<usize, (DurationNs, usize)> = BTreeMap::new();
        for index in self.stalls.within(lane, from, to) {
            let stall = &self.stalls.all()[index];
            let length = stall.end.min(to).since(stall.start.max(from));
            let of_root = held
                .entry(self.root_of_stall[index])
                .or_insert((DurationNs::ZERO, index));
            of_root.0 += length;
            let longest = &self.stalls.all()[of_root.1];
            if stall.duration() > longest.duration() {
                of_root.1 = index;
            }
        }
        let longest = held
            .into_iter()
            .max_by_key(|&(root, (length, _))| (length, std::cmp::Reverse(root)));
        let Some((root, (waited, stall))) = longest else {
            return DelayCause::ON_TIME;
        };
        let held = &self.roots[root];
        let role = match held.kind {
            CauseKind::Untold => DelayRole::Undecided,
            // Nobody's own doing.
            CauseKind::BusyHost => DelayRole::Victim,
            _ if held.lane == lane => DelayRole::Root,
            _ => DelayRole::Victim,
        };
        DelayCause {
            role,
            kind: held.kind,
            root: Some(root).filter(|_| role != DelayRole::Undecided),
            incident: self.incident_of_root[root],
            waited,
            hops: self.hops(trace, stall),
        }
    }

    /// The way from a stall to its root.
    fn hops(&self, trace: &Trace, from: usize) -> Vec<Hop> {
        let mut hops = Vec::new();
        let mut at = from;
        while let Some(link) = self.origins.by[at].and_then(|by| self.links[at].get(by)) {
            let stall = &self.stalls.all()[at];
            let local = |time| self.clocks.local(stall.lane(), time);
            let Some(to) = link.to else { break };
            let peer = &self.stalls.all()[to];
            let handed_on = stall.overlap(peer);
            let next = self.origins.by[to].and_then(|by| self.links[to].get(by)?.to);
            let before = next.map_or(DurationNs::ZERO, |it| self.stalls.all()[it].overlap(peer));
            let short_term = handed_on.min(peer.duration() - before);
            hops.push(Hop {
                call: stall.call,
                rank: trace.lane(stall.lane()).rank,
                kind: link.kind,
                peer: link.peer,
                peer_rank: trace.lane(link.peer).rank,
                peer_call: Some(peer.call),
                start: local(stall.start),
                end: local(stall.end),
                handed_on,
                short_term,
                long_term: handed_on - short_term,
            });
            at = to;
        }
        hops
    }

    /// What delays began with, ordered by the delay that they caused, largest first.
    pub fn roots(&self) -> &[RootCause] {
        &self.roots
    }

    /// The incident that a root, by its place among [`Causes::roots`], belongs to.
    pub fn incident_of(&self, root: usize) -> Option<usize> {
        self.incident_of_root.get(root).copied().flatten()
    }

    /// The wait states.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// The incidents.
    pub fn incidents(&self) -> &Incidents {
        &self.incidents
    }

    /// What messages tell of the clocks of the hosts.
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// Circles of ranks that waited for one another, in order of time.
    pub fn cycles(&self) -> &[WaitCycle] {
        &self.cycles
    }
}

/// One way round of each circle, from its earliest stall.
fn cycles(
    clocks: &Clocks,
    stalls: &Stalls,
    links: &[Vec<StallLink>],
    origins: &Origins,
) -> Vec<WaitCycle> {
    let mut cycles = Vec::new();
    for members in &origins.cycles {
        let Some(first) = earliest(stalls, members.iter().copied()) else {
            continue;
        };
        let next = |at: usize| {
            let mut targets = links[at].iter().filter_map(|link| link.to);
            targets.find(|to| members.binary_search(to).is_ok())
        };
        let mut way = vec![first];
        while let Some(to) = way.last().and_then(|&at| next(at)) {
            if let Some(from) = way.iter().position(|&it| it == to) {
                way.drain(..from);
                break;
            }
            way.push(to);
        }
        let of_way = || way.iter().map(|&it| &stalls.all()[it]);
        let lane = stalls.all()[first].lane();
        let start = of_way().map(|it| it.start).max();
        let end = of_way().map(|it| it.end).min();
        if let (Some(start), Some(end)) = (start, end) {
            cycles.push(WaitCycle {
                calls: of_way().map(|it| it.call).collect(),
                start: clocks.local(lane, start),
                end: clocks.local(lane, end),
            });
        }
    }
    cycles.sort_by(|one, other| (one.start, &one.calls).cmp(&(other.start, &other.calls)));
    cycles
}
