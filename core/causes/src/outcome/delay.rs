//! The delay of one execution: its role, the kind of its cause, and the path to its root.

use std::fmt;

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecRef, FuncId, LaneIdx, RankId, TimeNs};

use super::wait::WaitKind;

/// The role of an execution in a delay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum DelayRole {
    /// Late by itself: no other rank made it wait.
    Root,
    /// Delayed by another rank, or by something outside the program.
    Victim,
    /// Late, but the trace does not show the cause.
    Undecided,
    /// No delay in it is unusual for the run.
    OnTime,
}

/// The kind of a cause of delay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// A rank was stopped, or computed in a function without calls in it: without events the trace cannot distinguish
    /// the two.
    #[serde(alias = "stood_still")]
    Stalled,
    /// A rank did its own work more slowly than usual, over several calls.
    #[serde(alias = "own_work")]
    Slow,
    /// Messages were sent in time and arrived late.
    Transfer,
    /// The tracer wrote its own data.
    TracerWrite,
    /// A rank did not enter a collective that other ranks of its group are in: they cannot go on.
    NotEntered,
    /// Several ranks of one host were late at once, each by itself.
    BusyHost,
    /// By design: one rank works while the others wait for it.
    Serial,
    /// By design: some ranks have more to do than others.
    Imbalance,
    /// Small delays that every rank has often, caused by the machine.
    Noise,
    /// The trace does not show the cause.
    #[serde(alias = "untold")]
    Unknown,
}

impl CauseKind {
    /// Returns whether the program does this by design in every run, or the machine always: it is not a fault.
    pub fn is_by_design(self) -> bool {
        matches!(self, Self::Serial | Self::Imbalance | Self::Noise)
    }

    /// Returns whether something went wrong that has a name: nothing by design, nothing of unknown cause, and not the
    /// tracer's own work.
    pub fn names_a_fault(self) -> bool {
        !self.is_by_design() && !matches!(self, Self::Unknown | Self::TracerWrite)
    }

    /// Returns whether one rank is the cause. The network, a host and the machine are not ranks.
    pub fn is_of_a_rank(self) -> bool {
        !matches!(self, Self::Transfer | Self::BusyHost | Self::Noise)
    }
}

impl fmt::Display for DelayRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root",
            Self::Victim => "victim",
            Self::Undecided => "undecided",
            Self::OnTime => "on_time",
        })
    }
}

impl fmt::Display for CauseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stalled => "stalled",
            Self::Slow => "slow",
            Self::Transfer => "transfer",
            Self::TracerWrite => "tracer_write",
            Self::NotEntered => "not_entered",
            Self::BusyHost => "busy_host",
            Self::Serial => "serial",
            Self::Imbalance => "imbalance",
            Self::Noise => "noise",
            Self::Unknown => "unknown",
        })
    }
}

/// The start of a delay, and its cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RootCause {
    /// The kind of cause.
    pub kind: CauseKind,
    /// The lane that was late by itself.
    pub lane: LaneIdx,
    /// Its rank.
    pub rank: RankId,
    /// The innermost call that the lane was in.
    pub call: ExecRef,
    /// The function of that call.
    pub func: FuncId,
    /// Start of the delay.
    pub start: TimeNs,
    /// End of the delay.
    pub end: TimeNs,
    /// Excess over the usual duration.
    pub own_delay: DurationNs,
    /// Usual duration at that place.
    pub usual: DurationNs,
    /// True if it was in a call of the communication library, of threads or of devices, and not in work of the
    /// program.
    pub is_in_library: bool,
    /// Total time that all other ranks waited because of it.
    pub caused: DurationNs,
    /// Number of ranks that waited because of it.
    pub num_victims: u32,
    /// True if the rank follows from the order of events on clocks that messages bound from one side only.
    pub is_clock_unsure: bool,
    /// Number of a hundred such cases in which the rank is the right one.
    pub confidence_percent: u8,
    /// The second most likely rank, if the trace allows a choice.
    pub next_best: Option<RankId>,
    /// A rank of another host from which the call received a message after the delay: the message was late in the
    /// network, or this rank was stopped. A trace of one receiver does not show which.
    pub late_sender: Option<RankId>,
}

/// One step of the path from a delayed execution to the root of its delay: a call that waited, and the call of its
/// peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The waiting call.
    pub call: ExecRef,
    /// The rank that waited.
    pub rank: RankId,
    /// The kind of wait.
    pub kind: WaitKind,
    /// The lane that it waited for.
    pub peer: LaneIdx,
    /// The rank of that lane.
    pub peer_rank: RankId,
    /// The call that the peer was in while it was waited for; `None` outside every function.
    pub peer_call: Option<ExecRef>,
    /// Start of the wait.
    pub start: TimeNs,
    /// End of the wait.
    pub end: TimeNs,
    /// Delay that the peer handed on: the part of the wait in which the peer itself was late.
    pub handed_on: DurationNs,
    /// Short-term costs (Böhme et al. 2010): the part of `handed_on` that the peer caused itself.
    pub short_term: DurationNs,
    /// Long-term costs: the part of `handed_on` that the peer had received, through the next hop.
    pub long_term: DurationNs,
}

/// The cause of one execution's delay: the result of [`crate::Causes::of`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelayCause {
    /// The role of the execution in the delay.
    pub role: DelayRole,
    /// The kind of the root; [`CauseKind::Unknown`] for an undecided execution and one on time.
    pub kind: CauseKind,
    /// The root, an index into [`crate::Causes::roots`]; `None` for an undecided execution and one on time.
    pub root: Option<usize>,
    /// The incident that the execution belongs to, an index into [`crate::Incidents::all`].
    pub incident: Option<usize>,
    /// Delay of the execution: its wait for others, or, for a root, its own delay. Never longer than the execution.
    pub waited: DurationNs,
    /// The path from the execution to the root; empty for a root, and if no lane waited for another.
    pub hops: Vec<Hop>,
}

impl DelayCause {
    /// The cause of an execution without delay.
    pub const ON_TIME: Self = Self {
        role: DelayRole::OnTime,
        kind: CauseKind::Unknown,
        root: None,
        incident: None,
        waited: DurationNs::ZERO,
        hops: Vec::new(),
    };
}
