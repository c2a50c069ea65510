//! Executions whose times vary throughout a run, by design or because of the machine.

use callgrove_model::{DurationNs, thousands};
use serde::{Deserialize, Serialize};

/// Executions that a model calls abnormal throughout a run, so that their times are usual there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VariedTimes {
    /// Their number.
    pub num_trees: usize,
    /// The shortest and the longest of them, without the extreme tenths.
    pub durations: (DurationNs, DurationNs),
}

impl VariedTimes {
    /// Returns a sentence about them, without its full stop; `num_trees` is the number of all executions.
    pub fn sentence(&self, num_trees: usize) -> String {
        let (shortest, longest) = self.durations;
        format!(
            "{} of {} executions take {shortest} to {longest} throughout the run: times vary too much here for an \
             execution to be called abnormal for its time alone",
            thousands(self.num_trees),
            thousands(num_trees),
        )
    }
}
