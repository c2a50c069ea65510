//! A recurring pattern: its definition and its occurrences.

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecIdx, FuncId, LaneIdx, TimeNs};

use super::reference_curve::ReferenceCurve;

/// Identifies a pattern of one trace: its index in [`super::Patterns::all`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PatternId(pub u32);

impl PatternId {
    /// Returns the id as an index into the list of patterns.
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// The meaning of an item of a definition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PatternSymbol {
    /// A function is entered; what follows, up to its `Leave`, is called inside it.
    Enter(FuncId),
    /// That function is left.
    Leave(FuncId),
    /// A call inside which nothing was recorded: entered and left at once.
    Call(FuncId),
    /// A pattern.
    Pattern(PatternId),
}

/// The repeat count of an item: the minimum and maximum over all occurrences. They differ only for long runs of equal
/// calls, whose count is not part of a pattern (see the module's documentation).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Times {
    /// Minimum count.
    pub min: u32,
    /// Maximum count.
    pub max: u32,
}

impl Times {
    /// Exactly once.
    pub const ONCE: Self = Self { min: 1, max: 1 };

    /// Returns whether the item is not a loop.
    pub fn is_once(self) -> bool {
        self == Self::ONCE
    }
}

/// One item of a definition: an event, a call, a pattern, or a loop of one of the last two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PatternItem {
    /// The event, call or pattern.
    pub symbol: PatternSymbol,
    /// Number of times in a row.
    pub times: Times,
}

/// One occurrence of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Occurrence {
    /// The lane.
    pub lane: LaneIdx,
    /// Its first execution.
    pub first: ExecIdx,
    /// Number of executions, which follow the first one in the lane's columns.
    pub num_calls: u32,
    /// Entry of its first execution.
    pub start: TimeNs,
    /// Time from there to the exit of its last execution.
    pub duration: DurationNs,
}

impl Occurrence {
    /// Returns the end of the occurrence.
    pub fn end(&self) -> TimeNs {
        self.start + self.duration
    }

    /// Returns its rows in the lane's executions.
    pub fn rows(&self) -> std::ops::Range<usize> {
        let num_calls = usize::try_from(self.num_calls).unwrap_or(usize::MAX);
        self.first.index()..self.first.index().saturating_add(num_calls)
    }
}

/// A sequence of events that occurs at least twice.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The pattern's id in this trace.
    pub id: PatternId,
    /// The pattern's identity in every trace: a hash of the function names and the structure.
    pub content: u64,
    /// The function whose calls are this pattern; `None` if it is a sequence of several calls of one caller.
    pub function: Option<FuncId>,
    /// The items, in order. A pattern of one function begins with its `Enter` and ends with its `Leave`.
    pub items: Vec<PatternItem>,
    /// All occurrences, by lane and time.
    pub occurrences: Vec<Occurrence>,
    /// Number of events of one occurrence: minimum and maximum.
    pub num_events: Times,
    /// Total time of all occurrences; those inside another one of the same pattern count twice.
    pub total: DurationNs,
}

impl Pattern {
    /// Returns the curve of its durations; indices on it are those of [`Self::occurrences`].
    pub fn curve(&self) -> ReferenceCurve {
        let durations: Vec<DurationNs> = self.occurrences.iter().map(|it| it.duration).collect();
        ReferenceCurve::new(&durations)
    }

    /// Returns the occurrences that last longer than `s` times the reference duration at share `q`, by lane and time.
    pub fn anomalous(&self, q: f64, s: f64) -> Vec<Occurrence> {
        let limit = self.curve().limit(q, s);
        let is_beyond = |it: &&Occurrence| it.duration > limit;
        self.occurrences.iter().filter(is_beyond).copied().collect()
    }

    /// Returns the occurrences on a lane, by time.
    pub fn on_lane(&self, lane: LaneIdx) -> &[Occurrence] {
        let from = self.occurrences.partition_point(|it| it.lane < lane);
        let to = self.occurrences.partition_point(|it| it.lane <= lane);
        self.occurrences.get(from..to).unwrap_or_default()
    }

    /// Returns whether it recurs on one lane; otherwise it occurs once on each of several lanes.
    pub fn recurs(&self) -> bool {
        self.occurrences
            .windows(2)
            .any(|pair| pair[0].lane == pair[1].lane)
    }
}
