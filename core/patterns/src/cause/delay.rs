//! Words for one delayed execution: its role, what kind of cause it has, and the way to its root.

use std::fmt;

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecRef, FuncId, LaneIdx, RankId, TimeNs};

use super::WaitKind;

/// What an execution was in a delay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum DelayRole {
    /// Late by itself: no other rank made it wait.
    Root,
    /// Made late by another rank, or by something outside the program.
    Victim,
    /// Late, but the trace does not tell by whom.
    Undecided,
    /// No delay in it is unusual for the run.
    OnTime,
}

/// What kind of thing delayed the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// A rank was stopped, or computed in a function without calls in it: without events the trace cannot tell these apart.
    // Documents of version 1 have other names.
    #[serde(alias = "stood_still")]
    Stalled,
    /// A rank did its own work more slowly than usual, over several calls.
    #[serde(alias = "own_work")]
    Slow,
    /// Messages were sent in time and arrived late.
    Transfer,
    /// The tracer wrote its own data.
    TracerWrite,
    /// Several ranks of one host were late at once, each by itself.
    BusyHost,
    /// By design: one rank works while the others wait for it.
    Serial,
    /// By design: some ranks have more to do than others.
    Imbalance,
    /// Small delays that every rank has often: the machine's.
    Noise,
    /// The trace does not say.
    #[serde(alias = "untold")]
    Unknown,
}

impl CauseKind {
    /// Whether the program does it as it was written, run after run, or the machine always: nothing went wrong.
    pub fn is_by_design(self) -> bool {
        matches!(self, Self::Serial | Self::Imbalance | Self::Noise)
    }

    /// Whether one rank did it. The network, a host and the machine are no rank.
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
            Self::BusyHost => "busy_host",
            Self::Serial => "serial",
            Self::Imbalance => "imbalance",
            Self::Noise => "noise",
            Self::Unknown => "unknown",
        })
    }
}

/// Where a delay began, and what it cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RootCause {
    /// What kind of cause it is.
    pub kind: CauseKind,
    /// The lane that was late by itself.
    pub lane: LaneIdx,
    /// Its rank.
    pub rank: RankId,
    /// The innermost call that it was in.
    pub call: ExecRef,
    /// The function of that call.
    pub func: FuncId,
    /// From here it was late.
    pub start: TimeNs,
    /// To here.
    pub end: TimeNs,
    /// How much longer than usual it took.
    pub own_delay: DurationNs,
    /// How long it usually takes there.
    pub usual: DurationNs,
    /// Whether it was in a call of the communication library, or of threads or devices: not in work of the program.
    pub is_in_library: bool,
    /// How long all others together waited because of it.
    pub caused: DurationNs,
    /// Number of ranks that waited because of it.
    pub num_victims: u32,
    /// Whether the rank was found by the order of events on clocks that messages bound from one side only.
    pub is_clock_unsure: bool,
    /// In how many of a hundred such cases the rank is the right one.
    pub confidence_percent: u8,
    /// The rank that it is if it is not this one, where the trace leaves a choice.
    pub next_best: Option<RankId>,
}

/// One step of the way from a delayed execution to the root of its delay: a call that waited, and what the
/// one it waited for was in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The waiting call.
    pub call: ExecRef,
    /// The rank that waited.
    pub rank: RankId,
    /// How it waited.
    pub kind: WaitKind,
    /// The lane that it waited for.
    pub peer: LaneIdx,
    /// The rank of that lane.
    pub peer_rank: RankId,
    /// The call that the peer was in while it was waited for; `None` outside every function.
    pub peer_call: Option<ExecRef>,
    /// From here it waited.
    pub start: TimeNs,
    /// To here.
    pub end: TimeNs,
    /// How much delay the peer handed on: the part of the wait in which the peer itself was late.
    pub handed_on: DurationNs,
    /// Short-term costs (Böhme et al. 2010): the part of `handed_on` that the peer made itself.
    pub short_term: DurationNs,
    /// Long-term costs: the part of `handed_on` that the peer had been handed before, by the next hop.
    pub long_term: DurationNs,
}

/// Why one execution was late: the answer of [`super::Causes::of`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelayCause {
    /// What the execution was in the delay.
    pub role: DelayRole,
    /// The kind of the root; [`CauseKind::Unknown`] for an undecided execution and one on time.
    pub kind: CauseKind,
    /// The root, an index into [`super::Causes::roots`]; `None` for an undecided execution and one on time.
    pub root: Option<usize>,
    /// The incident that the execution belongs to, an index into [`super::Incidents::all`].
    pub incident: Option<usize>,
    /// How long it was delayed: by its wait for others, or, for a root, by itself. Never longer than the execution.
    pub waited: DurationNs,
    /// From the execution to the root; empty for a root, and where nobody waited for anybody.
    pub hops: Vec<Hop>,
}

impl DelayCause {
    /// Nothing in it was unusual.
    pub const ON_TIME: Self = Self {
        role: DelayRole::OnTime,
        kind: CauseKind::Unknown,
        root: None,
        incident: None,
        waited: DurationNs::ZERO,
        hops: Vec::new(),
    };
}
