//! Roots: what the stalls come from, how it looks, and what it cost.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, ExecIdx, ExecRef, LaneIdx, TimeNs};

use super::delay::{CauseKind, RootCause};
use super::evidence::Facts;
use super::links::StallLink;
use super::origin::Origins;
use super::stall::{Stall, Stalls};

/// The roots, and the root of each stall.
#[derive(Default)]
pub(super) struct Roots {
    /// Ordered by the delay that they caused, largest first. Times are on the clock of the root's own lane.
    pub(super) all: Vec<RootCause>,
    /// The root of each stall, an index into `all`.
    pub(super) of_stall: Vec<usize>,
}

/// What all stalls with one origin come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// A stall that waited for none.
    Stall(usize),
    /// Work of a lane that did not stall, in a call, until the stall with this index could go on.
    Work(ExecRef, usize),
}

impl Roots {
    /// Finds them. Cost: O(n log n) in stalls.
    pub(super) fn find(
        facts: &Facts<'_>,
        stalls: &Stalls,
        links: &[Vec<StallLink>],
        origins: &Origins,
    ) -> Self {
        let sources = origins.of.iter();
        let sources: Vec<Source> = sources
            .map(|&origin| source(facts, stalls, links, origin))
            .collect();
        let mut members: BTreeMap<Source, Vec<usize>> = BTreeMap::new();
        for (stall, &source) in sources.iter().enumerate() {
            members.entry(source).or_default().push(stall);
        }
        let mut found: Vec<(RootCause, Vec<usize>)> = members
            .into_iter()
            .map(|(source, members)| (root(facts, stalls, links, source, &members), members))
            .collect();
        found.sort_by_key(|(root, _)| (Reverse(root.caused), root.start, root.call));
        let mut of_stall = vec![0; stalls.all().len()];
        for (index, (_, members)) in found.iter().enumerate() {
            for &stall in members {
                of_stall[stall] = index;
            }
        }
        let all = found.into_iter().map(|(root, _)| root).collect();
        Self { all, of_stall }
    }
}

fn source(facts: &Facts<'_>, stalls: &Stalls, links: &[Vec<StallLink>], origin: usize) -> Source {
    let late_worker = links[origin].iter().find(|link| link.to.is_none());
    let worked = late_worker.and_then(|link| {
        let stall = &stalls.all()[origin];
        let until = link.came?;
        Some(Source::Work(
            busiest(facts, link.peer, stall.start, until)?,
            origin,
        ))
    });
    worked.unwrap_or(Source::Stall(origin))
}

/// The innermost call that a lane was in for most of the time between two others.
fn busiest(facts: &Facts<'_>, lane: LaneIdx, start: TimeNs, end: TimeNs) -> Option<ExecRef> {
    let executions = &facts.trace.lane(lane).executions;
    let (from, to) = (
        facts.clocks.local(lane, start),
        facts.clocks.local(lane, end),
    );
    let middle = TimeNs(from.0.midpoint(to.0));
    let last = executions.first_entered_from(middle).checked_sub(1)?;
    let share = |exec: ExecIdx| {
        let (entry, exit) = (executions.entry[exec.index()], executions.exit(exec));
        exit.min(to).since(entry.max(from))
    };
    let half = DurationNs(to.since(from).0 / 2);
    let stack = std::iter::successors(Some(ExecIdx::from_index(last)), |&exec| {
        executions.parent(exec)
    });
    let exec = stack.into_iter().find(|&exec| share(exec) >= half)?;
    Some(ExecRef { lane, exec })
}

fn root(
    facts: &Facts<'_>,
    stalls: &Stalls,
    links: &[Vec<StallLink>],
    source: Source,
    members: &[usize],
) -> RootCause {
    let (kind, call, start, end) = match source {
        Source::Stall(stall) => {
            let it = &stalls.all()[stall];
            (kind(facts, it, &links[stall]), it.call, it.start, it.end)
        }
        Source::Work(call, waiter) => {
            let it = &stalls.all()[waiter];
            let came = links[waiter].iter().find_map(|link| link.came);
            (CauseKind::OwnWork, call, it.start, came.unwrap_or(it.end))
        }
    };
    let lane = facts.trace.lane(call.lane);
    let victims = members.iter().map(|&it| &stalls.all()[it]);
    let victims: Vec<&Stall> = victims.filter(|it| it.lane() != call.lane).collect();
    let lanes: BTreeSet<LaneIdx> = victims.iter().map(|it| it.lane()).collect();
    let local = |time| facts.clocks.local(call.lane, time);
    RootCause {
        kind,
        lane: call.lane,
        rank: lane.rank,
        call,
        func: lane.executions.func[call.exec.index()],
        start: local(start),
        end: local(end),
        own_delay: end.since(start),
        caused: victims.iter().map(|it| it.duration()).sum(),
        num_victims: u32::try_from(lanes.len()).unwrap_or(u32::MAX),
    }
}

fn kind(facts: &Facts<'_>, stall: &Stall, links: &[StallLink]) -> CauseKind {
    let written = written(facts, stall);
    if written.0.saturating_mul(2) >= stall.duration().0 {
        return CauseKind::TracerWrite;
    }
    let waits = facts.kind(stall.call).can_wait();
    let is_known = facts.complete_collective(stall).is_some() || !facts.of(stall).is_empty();
    if waits && links.is_empty() && !is_known {
        return CauseKind::Untold;
    }
    CauseKind::StoodStill
}

/// How long the tracer wrote in a stall.
fn written(facts: &Facts<'_>, stall: &Stall) -> DurationNs {
    let (start, end) = (
        facts.clocks.local(stall.lane(), stall.start),
        facts.clocks.local(stall.lane(), stall.end),
    );
    let writes = facts.trace.writes_on(stall.lane());
    let from = writes.partition_point(|write| write.end <= start);
    let within = writes[from..].iter().take_while(|write| write.start < end);
    within
        .map(|write| write.end.min(end).since(write.start.max(start)))
        .sum()
}
