//! A delay as one path across ranks, from where it began to whom it reached.

use callgrove_model::{DurationNs, ExecRef, LaneIdx, TimeNs};
use callgrove_patterns::cause::{DelayCause, DelayRole, Incident, RootCause};

use super::RunCauses;
use crate::CallTimes;

/// A delay as the timeline draws it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cascade {
    /// Where it began: the innermost call of the root, and when it was late.
    pub root: RootCause,
    /// How it went on, from the root on.
    pub steps: Vec<CascadeStep>,
}

/// One rank made another late.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CascadeStep {
    /// When the one that was late let the other go on.
    pub time: TimeNs,
    /// Who was late.
    pub from: LaneIdx,
    /// Who waited.
    pub to: LaneIdx,
    /// The call that waited.
    pub call: ExecRef,
    /// Since when it waited.
    pub since: TimeNs,
    /// The delay that was handed on.
    pub delay: DurationNs,
}

impl RunCauses {
    /// How a delay reached an execution; `None` for one on time, or if nobody knows.
    pub fn cascade(&self, cause: &DelayCause) -> Option<Cascade> {
        let root = *self.roots().get(cause.root?)?;
        let mut steps = steps(cause);
        steps.reverse();
        Some(Cascade { root, steps })
    }

    /// How a delay reached all members of an incident, which ran at the times of `members`: each step once, the shortest
    /// way to each rank.
    pub fn cascade_of(&self, incident: &Incident, members: &[CallTimes]) -> Cascade {
        let members = members
            .iter()
            .map(|member| self.of_time(member.call.lane, member.from..member.to));
        let held_up = members.filter(|cause| cause.role == DelayRole::Victim);
        let mut steps: Vec<CascadeStep> = held_up.flat_map(|cause| steps(&cause)).collect();
        // One way in to each rank: where it was handed most.
        steps.sort_unstable_by_key(|step| (step.to, std::cmp::Reverse(step.delay), *step));
        steps.dedup_by_key(|step| step.to);
        steps.retain(|step| step.to != incident.root.lane);
        steps.sort_unstable();
        Cascade {
            root: incident.root,
            steps,
        }
    }
}

fn steps(cause: &DelayCause) -> Vec<CascadeStep> {
    let step = |hop: &callgrove_patterns::cause::Hop| CascadeStep {
        time: hop.end,
        from: hop.peer,
        to: hop.call.lane,
        call: hop.call,
        since: hop.start,
        delay: hop.handed_on,
    };
    cause.hops.iter().map(step).collect()
}
