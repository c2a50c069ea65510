//! A delay as one path across ranks, from its root to the ranks that it reached.

use callgrove_causes::{DelayCause, DelayRole, Incident, RootCause};
use callgrove_model::{DurationNs, ExecRef, LaneIdx, TimeNs};

use super::RunCauses;
use crate::timeline::CallTimes;

/// A delay as drawn on the timeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cascade {
    /// The root: its innermost call, and the time of the delay.
    pub root: RootCause,
    /// Its propagation, starting at the root.
    pub steps: Vec<CascadeStep>,
}

/// A delay handed on from one rank to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CascadeStep {
    /// Time when the late rank let the waiting one continue.
    pub time: TimeNs,
    /// Lane of the late rank.
    pub from: LaneIdx,
    /// Lane of the waiting rank.
    pub to: LaneIdx,
    /// The call that waited.
    pub call: ExecRef,
    /// Start of the wait.
    pub since: TimeNs,
    /// The delay that was handed on.
    pub delay: DurationNs,
}

impl RunCauses {
    /// Returns how a delay reached an execution; `None` if it was on time, or if the root is unknown.
    pub fn cascade(&self, cause: &DelayCause) -> Option<Cascade> {
        let root = *self.roots().get(cause.root?)?;
        let mut steps = steps(cause);
        steps.reverse();
        Some(Cascade { root, steps })
    }

    /// Returns how a delay reached all members of an incident, which ran at the times of `members`. Each rank has
    /// one step, the one that handed on the longest delay.
    pub fn cascade_of(&self, incident: &Incident, members: &[CallTimes]) -> Cascade {
        let members = members
            .iter()
            .map(|member| self.of_time(member.call.lane, member.from..member.to));
        let held_up = members.filter(|cause| cause.role == DelayRole::Victim);
        let mut steps: Vec<CascadeStep> = held_up.flat_map(|cause| steps(&cause)).collect();
        // Keep one step into each rank: the one with the longest delay.
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
    let step = |hop: &callgrove_causes::Hop| CascadeStep {
        time: hop.end,
        from: hop.peer,
        to: hop.call.lane,
        call: hop.call,
        since: hop.start,
        delay: hop.handed_on,
    };
    cause.hops.iter().map(step).collect()
}
