//! A recurring pattern: its definition and its occurrences.

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecIdx, FuncId, LaneIdx, TimeNs};

use super::reference_curve::ReferenceCurve;

/// A pattern of one trace: its place in [`super::Patterns::all`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PatternId(pub u32);

impl PatternId {
    /// The id as an index into the list of patterns.
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// What an item of a definition stands for.
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

/// How often an item follows itself: the fewest and the most times over all occurrences. They differ only for
/// long runs of equal calls, of which the number is no part of a pattern (see the module's documentation).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Times {
    /// Fewest times.
    pub least: u32,
    /// Most times.
    pub most: u32,
}

impl Times {
    /// Exactly once.
    pub const ONCE: Self = Self { least: 1, most: 1 };

    /// Whether the item is no loop.
    pub fn is_once(self) -> bool {
        self == Self::ONCE
    }
}

/// One item of a definition: an event, a call, a pattern, or a loop of one of the last two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PatternItem {
    /// What.
    pub symbol: PatternSymbol,
    /// How many times in a row.
    pub times: Times,
}

/// One time that a pattern was run through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Occurrence {
    /// Where.
    pub lane: LaneIdx,
    /// Its first execution.
    pub first: ExecIdx,
    /// Number of executions, which follow the first one in the lane's columns.
    pub num_calls: u32,
    /// Entry of its first execution.
    pub start: TimeNs,
    /// From there to the exit of its last one.
    pub duration: DurationNs,
}

impl Occurrence {
    /// When it ended.
    pub fn end(&self) -> TimeNs {
        self.start + self.duration
    }

    /// Its rows in the lane's executions.
    pub fn rows(&self) -> std::ops::Range<usize> {
        let num_calls = usize::try_from(self.num_calls).unwrap_or(usize::MAX);
        self.first.index()..self.first.index().saturating_add(num_calls)
    }
}

/// A sequence of events that occurs at least twice.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Which one it is in this trace.
    pub id: PatternId,
    /// What it is in every trace: a hash of the function names and the structure.
    pub content: u64,
    /// The function whose calls are this pattern; `None` if it is a sequence of several calls of one caller.
    pub function: Option<FuncId>,
    /// What it consists of, in order. A pattern of one function begins with its `Enter`, ends with its `Leave`.
    pub items: Vec<PatternItem>,
    /// All occurrences, by lane and time.
    pub occurrences: Vec<Occurrence>,
    /// Number of events of one occurrence: fewest and most.
    pub num_events: Times,
    /// Time of all occurrences together; those inside another one of the same pattern count twice.
    pub total: DurationNs,
}

impl Pattern {
    /// The curve of its durations; its places are those of [`Self::occurrences`].
    pub fn curve(&self) -> ReferenceCurve {
        let durations: Vec<DurationNs> = self.occurrences.iter().map(|it| it.duration).collect();
        ReferenceCurve::new(&durations)
    }

    /// Occurrences that last longer than `s` times the reference duration at share `q`, by lane and time.
    pub fn anomalous(&self, q: f64, s: f64) -> Vec<Occurrence> {
        let limit = self.curve().limit(q, s);
        let is_beyond = |it: &&Occurrence| it.duration > limit;
        self.occurrences.iter().filter(is_beyond).copied().collect()
    }

    /// The occurrences on a lane, by time.
    pub fn on_lane(&self, lane: LaneIdx) -> &[Occurrence] {
        let from = self.occurrences.partition_point(|it| it.lane < lane);
        let to = self.occurrences.partition_point(|it| it.lane <= lane);
        self.occurrences.get(from..to).unwrap_or_default()
    }

    /// Whether it recurs on a lane; else it only occurs on several lanes, once on each.
    pub fn recurs(&self) -> bool {
        self.occurrences
            .windows(2)
            .any(|pair| pair[0].lane == pair[1].lane)
    }
}
