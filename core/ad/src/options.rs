//! Settings of an AD instance.

use std::str::FromStr;

use callgrove_detect::{Params, ValidParams};
use callgrove_model::ProgramId;
use callgrove_records::DocumentBudget;

use crate::error::AdError;
use crate::rules::{FunctionRules, Watchlist};
use crate::tree_models::TreeOptions;

/// The time of an execution that is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutlierStatistic {
    /// The time without callees.
    #[default]
    Exclusive,
    /// The time including callees.
    Inclusive,
}

impl FromStr for OutlierStatistic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "exclusive" => Ok(Self::Exclusive),
            "inclusive" => Ok(Self::Inclusive),
            _ => Err(format!(
                "{text} is not a statistic; use exclusive or inclusive"
            )),
        }
    }
}

/// How the instance waits for streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pacing {
    /// For recorded streams: the next steps of all streams are judged together, so that the result does not depend on
    /// how fast each stream is read.
    Lockstep,
    /// For live streams: steps are judged as they arrive.
    Live,
}

/// Settings of an AD instance.
#[derive(Clone, Debug)]
pub struct AdOptions {
    /// The program of the workflow.
    pub program: ProgramId,
    /// The parameters of the detector.
    pub params: ValidParams,
    /// The time that is judged.
    pub statistic: OutlierStatistic,
    /// Number of executions before and after an anomaly in its record.
    pub window: usize,
    /// Anomalies with less exclusive time, in µs, are counted but not recorded.
    pub min_severity_us: u64,
    /// The budget for documents; `None` records everything.
    pub budget: Option<DocumentBudget>,
    /// Rules for functions that are ignored or have their own threshold.
    pub rules: FunctionRules,
    /// Counters that report the state of the node.
    pub watchlist: Watchlist,
    /// Options for the judgement of call stack trees.
    pub trees: TreeOptions,
    /// How the instance waits for streams.
    pub pacing: Pacing,
}

impl AdOptions {
    /// Returns the defaults: exclusive times, 10 executions before and after.
    ///
    /// # Errors
    /// [`AdError::Detect`] if `params` are out of range.
    pub fn new(params: Params, pacing: Pacing) -> Result<Self, AdError> {
        Ok(Self {
            program: ProgramId(0),
            params: params.check()?,
            statistic: OutlierStatistic::default(),
            window: 10,
            min_severity_us: 0,
            budget: None,
            rules: FunctionRules::default(),
            watchlist: Watchlist::default(),
            trees: TreeOptions::default(),
            pacing,
        })
    }
}
