//! One change between two runs, with its figures.

use callgrove_model::Real;

use super::paths::{CallStructure, NameId, PathId};

/// The subject of a change.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ChangeSubject {
    /// The iterations of the program.
    Iterations,
    /// A function, under all its callers.
    Function(NameId),
    /// A function under one path of callers.
    Path(PathId),
    /// The structure of calls.
    CallStructure(CallStructure),
    /// Incidents of a kind.
    Incidents(String),
}

/// The property that changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ChangeAspect {
    /// The typical duration of an iteration, or own time of a call.
    Duration,
    /// The number of calls per iteration and rank, or of incidents per iteration.
    Frequency,
    /// The own time of a waiting function per iteration and rank.
    Waiting,
    /// It occurs in the second run only.
    New,
    /// It occurs in the first run only.
    Vanished,
}

/// A change, and its significance.
#[derive(Clone, PartialEq, Debug)]
pub struct RunChange {
    /// The subject of the change.
    pub subject: ChangeSubject,
    /// The property that changed.
    pub aspect: ChangeAspect,
    /// The value before: nanoseconds, calls or incidents per iteration (and rank), or calls.
    pub before: f64,
    /// The value after.
    pub after: f64,
    /// The ratio of the two; `None` if the value before is 0.
    pub ratio: Option<f64>,
    /// Its 95 % confidence interval.
    pub interval: Option<(f64, f64)>,
    /// Time that the second run takes longer by it, summed over all ranks; negative if it takes less.
    pub cost_ns: f64,
    /// The share of the time of a side that its subject takes; 0 where a level is not what changed.
    pub share: f64,
    /// The p-value of the test.
    pub p_value: f64,
    /// The p-value, corrected for the number of tests.
    pub corrected_p: f64,
    /// True if the difference also exceeds those within one run; where runs are the unit, if it is significant before
    /// the correction.
    pub is_separate: bool,
    /// The ratio from which an increase would be found.
    pub smallest_visible: Option<f64>,
    /// Number of blocks with it in the run that has it, and of all blocks there: of something new or vanished.
    pub blocks: Option<(usize, usize)>,
}

/// Rate of false discoveries among the changes that are listed.
pub const FALSE_DISCOVERIES: f64 = 0.05;

impl RunChange {
    /// Returns whether it is a finding: improbable by chance, and larger than the differences within one run.
    pub fn is_sure(&self) -> bool {
        self.is_separate && self.corrected_p <= FALSE_DISCOVERIES
    }

    /// Returns the cost in whole nanoseconds.
    pub fn cost(&self) -> callgrove_model::DurationNs {
        callgrove_model::DurationNs::nearest(self.cost_ns)
    }
}

/// Returns a count as a double, for [`RunChange::before`] and [`RunChange::after`].
pub(crate) fn count(num: u64) -> f64 {
    num.real()
}
