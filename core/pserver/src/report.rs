//! The report of an AD instance on one I/O step: the profile of its functions, their anomalies, and its counters.

use callgrove_detect::Moments;
use callgrove_incidents::StallSummary;
use callgrove_model::{FuncId, ProgramId, RankId, StepId};
use serde::{Deserialize, Serialize};

use crate::tree_p_values::TreePValues;

/// The report on one I/O step of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// Program of the workflow.
    pub program: ProgramId,
    /// Rank.
    pub rank: RankId,
    /// I/O step.
    pub step: StepId,
    /// The functions with executions that ended in the step, each at most once, in any order.
    pub functions: Vec<FunctionReport>,
    /// The counters with values in the step, each at most once, in any order.
    pub counters: Vec<CounterReport>,
    /// Its stalls, for incidents.
    pub stall_summary: StallSummary,
    /// The p-values of the rank's last trees, including those of this step, for each tree model that judged trees of
    /// the step.
    pub tree_p_values: TreePValues,
}

/// One function in one I/O step of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionReport {
    /// Global index, as returned by [`crate::ModelExchange::functions`].
    pub fid: FuncId,
    /// Exclusive runtimes in microseconds.
    pub exclusive: Moments,
    /// Inclusive runtimes in microseconds.
    pub inclusive: Moments,
    /// Anomalies among the executions; empty without one.
    pub anomalies: AnomalySummary,
}

/// The anomalies among some executions. The count of `score` is their number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnomalySummary {
    /// Outlier scores.
    pub score: Moments,
    /// Outlier severities, in microseconds.
    pub severity: Moments,
    /// Entry of the earliest anomaly, in microseconds since the epoch; 0 without one.
    pub min_timestamp_us: u64,
    /// Exit of the latest anomaly, in microseconds since the epoch; 0 without one.
    pub max_timestamp_us: u64,
}

/// One counter in one I/O step of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterReport {
    /// Name.
    pub name: String,
    /// Values, in the counter's own unit.
    pub values: Moments,
}

impl AnomalySummary {
    /// Returns the number of anomalies.
    pub fn count(&self) -> u64 {
        self.score.count()
    }

    /// Adds one anomaly: its score, its severity, and its times of entry and exit (all but the score in microseconds).
    pub fn push(&mut self, score: f64, severity_us: f64, entry_us: u64, exit_us: u64) {
        self.min_timestamp_us = match self.count() {
            0 => entry_us,
            _ => self.min_timestamp_us.min(entry_us),
        };
        self.max_timestamp_us = self.max_timestamp_us.max(exit_us);
        self.score.push(score);
        self.severity.push(severity_us);
    }

    /// Adds the anomalies of another summary.
    pub fn merge(&mut self, other: &Self) {
        if other.count() == 0 {
            return;
        }
        self.min_timestamp_us = match self.count() {
            0 => other.min_timestamp_us,
            _ => self.min_timestamp_us.min(other.min_timestamp_us),
        };
        self.max_timestamp_us = self.max_timestamp_us.max(other.max_timestamp_us);
        self.score.merge(&other.score);
        self.severity.merge(&other.severity);
    }
}
