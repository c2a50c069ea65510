//! Settings of an AD instance.

use std::str::FromStr;

use callgrove_detect::{Params, ValidParams};
use callgrove_model::ProgramId;

use crate::{AdError, FunctionRules, TreeOptions, Watchlist};

/// Which time of an execution is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutlierStatistic {
    /// Less the times of what it called.
    #[default]
    Exclusive,
    /// All of it.
    Inclusive,
}

impl FromStr for OutlierStatistic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "exclusive" => Ok(Self::Exclusive),
            "inclusive" => Ok(Self::Inclusive),
            _ => Err(format!(
                "{text} is no statistic; say exclusive or inclusive"
            )),
        }
    }
}

/// How streams are waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pacing {
    /// Recorded streams: the next step of every stream is judged together, so that the result does not depend
    /// on how fast each is read.
    Lockstep,
    /// Live streams: whatever has come is judged at once.
    Live,
}

/// Settings of an AD instance.
#[derive(Clone, Debug)]
pub struct AdOptions {
    /// Program of the workflow.
    pub program: ProgramId,
    /// The detector.
    pub params: ValidParams,
    /// The time that it judges.
    pub statistic: OutlierStatistic,
    /// Executions before and after an anomaly in its record.
    pub window: usize,
    /// Anomalies with less exclusive time, in µs, are counted but not recorded.
    pub min_severity_us: u64,
    /// Functions that are left alone or have a threshold of their own.
    pub rules: FunctionRules,
    /// Counters that tell the state of the node.
    pub watchlist: Watchlist,
    /// Which trees are grown.
    pub trees: TreeOptions,
    /// How streams are waited for.
    pub pacing: Pacing,
}

impl AdOptions {
    /// The defaults: exclusive times, 10 executions before and after.
    ///
    /// # Errors
    /// [`AdError::Detect`] if `params` are out of their bounds.
    pub fn new(params: Params, pacing: Pacing) -> Result<Self, AdError> {
        Ok(Self {
            program: ProgramId(0),
            params: params.check()?,
            statistic: OutlierStatistic::default(),
            window: 10,
            min_severity_us: 0,
            rules: FunctionRules::default(),
            watchlist: Watchlist::default(),
            trees: TreeOptions::default(),
            pacing,
        })
    }
}
