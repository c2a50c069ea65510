//! Who made whom late: found once for a whole run, then asked for any execution.

use std::collections::BTreeMap;

use callgrove_model::{
    Cancelled, DurationNs, ExecIdx, ExecRef, FuncId, LaneIdx, Progress, RankId, TimeNs, Trace,
};

use super::gap::for_each_gap;
use super::{
    CauseKind, Clocks, DelayCause, DelayRole, Hop, Incident, Incidents, RootCause, WaitKind, Waits,
};

/// Causes of every delay of a run.
#[derive(Clone, Default, Debug)]
pub struct Causes {
    waits: Waits,
    clocks: Clocks,
    roots: Vec<RootCause>,
    incidents: Incidents,
    cycles: Vec<WaitCycle>,
    delays: Vec<Delay>,
}

/// Ranks that all wait for one another, so that the way to a root runs in a circle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitCycle {
    /// The calls in the circle; each waits for the next, the last for the first.
    pub calls: Vec<ExecRef>,
    /// When all of them waited: from here.
    pub start: TimeNs,
    /// To here.
    pub end: TimeNs,
}

/// A time in which a lane was held up.
#[derive(Clone, Copy, Debug)]
struct Delay {
    call: ExecRef,
    start: TimeNs,
    end: TimeNs,
    root: Option<usize>,
}

impl Causes {
    /// Finds the wait states, causes and incidents of a run. Linear in events and messages; deterministic.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Trace, progress: Progress<'_>) -> Result<Self, Cancelled> {
        progress.at(0.0)?;
        let clocks = Clocks::estimate(trace);
        progress.at(0.2)?;
        let mut delays = silences(trace);
        progress.at(0.8)?;
        let (roots, incidents) = standstills(trace, &clocks, &mut delays);
        let lanes = trace.lanes.iter().map(|it| (it.program, it.rank)).collect();
        progress.at(1.0)?;
        Ok(Self {
            waits: Waits::new(Vec::new(), Vec::new(), lanes),
            clocks,
            roots,
            incidents,
            cycles: Vec::new(),
            delays,
        })
    }

    /// Why an execution, of whatever function, was late. The calls inside it that waited decide, the longest delay
    /// first; `trace` is the one that the causes were found in.
    pub fn of(&self, trace: &Trace, exec: ExecRef) -> DelayCause {
        let executions = &trace.lane(exec.lane).executions;
        let (entry, exit) = (
            executions.entry[exec.exec.index()],
            executions.exit(exec.exec),
        );
        let within =
            |it: &&Delay| it.call.lane == exec.lane && it.start.max(entry) < it.end.min(exit);
        let length = |it: &Delay| it.end.min(exit).since(it.start.max(entry));
        let Some(longest) = self
            .delays
            .iter()
            .filter(within)
            .max_by_key(|it| length(it))
        else {
            return DelayCause::ON_TIME;
        };
        let Some(root) = longest.root else {
            return DelayCause {
                role: DelayRole::Undecided,
                waited: length(longest),
                ..DelayCause::ON_TIME
            };
        };
        let held = self.roots[root];
        let is_root = held.lane == exec.lane;
        let hop = Hop {
            call: longest.call,
            rank: trace.lane(exec.lane).rank,
            kind: WaitKind::LateSender,
            peer: held.lane,
            peer_rank: held.rank,
            peer_call: Some(held.call),
            start: longest.start,
            end: longest.end,
            handed_on: length(longest),
            short_term: length(longest),
            long_term: DurationNs::ZERO,
        };
        DelayCause {
            role: if is_root {
                DelayRole::Root
            } else {
                DelayRole::Victim
            },
            kind: held.kind,
            root: Some(root),
            incident: Some(root).filter(|&it| it < self.incidents.all().len()),
            waited: length(longest),
            hops: if is_root { Vec::new() } else { vec![hop] },
        }
    }

    /// What delays began with, ordered by the delay that they caused, largest first.
    pub fn roots(&self) -> &[RootCause] {
        &self.roots
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

/// Gaps more than this many times as long as nearly all others are silences.
const UNUSUAL: i64 = 4;

fn silences(trace: &Trace) -> Vec<Delay> {
    let mut histogram: BTreeMap<u32, u64> = BTreeMap::new();
    let log = |it: DurationNs| it.0.max(1).ilog2();
    for lane in &trace.lanes {
        for_each_gap(&lane.executions, |gap| {
            *histogram.entry(log(gap.end.since(gap.start))).or_default() += 1;
        });
    }
    let total: u64 = histogram.values().sum();
    let mut above = total;
    let mut least = i64::MAX;
    for (&bin, &count) in &histogram {
        above -= count;
        if above <= total / 1_000 {
            least = (1_i64 << bin.min(60)).saturating_mul(UNUSUAL);
            break;
        }
    }
    let mut delays = Vec::new();
    for (index, lane) in trace.lanes() {
        for_each_gap(&lane.executions, |gap| {
            if gap.end.since(gap.start).0 > least {
                delays.push(Delay {
                    call: ExecRef {
                        lane: index,
                        exec: gap.call,
                    },
                    start: gap.start,
                    end: gap.end,
                    root: None,
                });
            }
        });
    }
    delays
}

fn standstills(
    trace: &Trace,
    clocks: &Clocks,
    delays: &mut [Delay],
) -> (Vec<RootCause>, Incidents) {
    let mut order: Vec<usize> = (0..delays.len()).collect();
    let common = |it: &Delay| clocks.common(it.call.lane, it.start);
    order.sort_by_key(|&it| (common(&delays[it]), delays[it].call));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut until = TimeNs(i64::MIN);
    for index in order {
        let delay = delays[index];
        let end = clocks.common(delay.call.lane, delay.end);
        match groups.last_mut() {
            Some(group) if common(&delay) < until => group.push(index),
            _ => groups.push(vec![index]),
        }
        until = until.max(end);
    }
    groups.sort_by_key(|group| {
        let total: DurationNs = group
            .iter()
            .map(|&it| delays[it].end.since(delays[it].start))
            .sum();
        (std::cmp::Reverse(total), group.first().copied())
    });
    let (mut roots, mut incidents) = (Vec::new(), Vec::new());
    for (number, group) in groups.iter().enumerate() {
        // Who fell silent first.
        let Some(&first) = group.first() else {
            continue;
        };
        let root = delays[first];
        let lane = trace.lane(root.call.lane);
        let length = |it: usize| delays[it].end.since(delays[it].start);
        let total: DurationNs = group.iter().map(|&it| length(it)).sum();
        let held = RootCause {
            kind: CauseKind::StoodStill,
            lane: root.call.lane,
            rank: lane.rank,
            call: root.call,
            func: lane.executions.func[root.call.exec.index()],
            start: root.start,
            end: root.end,
            own_delay: root.end.since(root.start),
            caused: total - root.end.since(root.start),
            num_victims: u32::try_from(group.len()).unwrap_or(u32::MAX) - 1,
        };
        let mut members: Vec<ExecRef> = group.iter().map(|&it| delays[it].call).collect();
        members.sort_unstable();
        members.dedup();
        let mut ranks: Vec<RankId> = members.iter().map(|it| trace.lane(it.lane).rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let ends = group.iter().map(|&it| delays[it].end);
        incidents.push(Incident {
            start: root.start,
            end: ends.max().unwrap_or(root.end),
            kind: held.kind,
            root: held,
            call_path: call_path(trace, root.call.lane, root.call.exec),
            members,
            ranks,
            delay: total,
            like: 0,
        });
        for &it in group {
            delays[it].root = Some(number);
        }
        roots.push(held);
    }
    (roots, Incidents::new(incidents))
}

fn call_path(trace: &Trace, lane: LaneIdx, call: ExecIdx) -> Vec<FuncId> {
    let executions = &trace.lane(lane).executions;
    let stack = std::iter::successors(Some(call), |&it| executions.parent(it));
    let mut path: Vec<FuncId> = stack.map(|it| executions.func[it.index()]).collect();
    path.reverse();
    path
}
