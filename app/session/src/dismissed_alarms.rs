//! Executions that a model calls abnormal, and that are not reported because their times are usual in the run.

use callgrove_model::{DurationNs, thousands};
use callgrove_query::Incident;
use serde::{Deserialize, Serialize};

/// What is not reported.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct DismissedAlarms {
    /// Executions whose times vary throughout the run.
    pub varied: Option<VariedTimes>,
    /// Number of executions that short delays lengthened, such as half of the ranks have.
    pub num_short: usize,
}

/// Executions that a model calls abnormal throughout a run, by design or because of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VariedTimes {
    /// Their number.
    pub num_trees: usize,
    /// The shortest and the longest of them, without the extreme tenths.
    pub durations: (DurationNs, DurationNs),
}

impl DismissedAlarms {
    /// Returns sentences about them, without their full stops; `num_trees` is the number of all executions.
    pub fn sentences(&self, num_trees: usize) -> impl Iterator<Item = String> {
        let varied = self.varied.map(|it| it.sentence(num_trees));
        let short = (self.num_short > 0).then(|| {
            let executions = match self.num_short {
                1 => "1 execution is".to_owned(),
                num => format!("{} executions are", thousands(num)),
            };
            format!(
                "{executions} longer only because of delays below {}, such as half of the ranks have: not reported as \
                 alarms",
                Incident::MIN_DELAY
            )
        });
        varied.into_iter().chain(short)
    }
}

impl VariedTimes {
    fn sentence(&self, num_trees: usize) -> String {
        let (shortest, longest) = self.durations;
        format!(
            "{} of {} executions take {shortest} to {longest} throughout the run: times vary too much here for an \
             execution to be called abnormal for its time alone",
            thousands(self.num_trees),
            thousands(num_trees),
        )
    }
}
