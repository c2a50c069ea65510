//! Trends as table rows with fixed column names. Times are in microseconds.

use callgrove_model::{FuncId, FunctionName, Real, Trace};
use callgrove_trends::{Trend, TrendDoubt, TrendKind};
use serde::Serialize;

/// One persistent or slow change: a row of `callgrove trends`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TrendRow {
    /// Number, from 0, by descending cost.
    pub trend: usize,
    /// The kind: `slow`, `growth` or `change`.
    pub kind: &'static str,
    /// Ranks with the trend.
    pub ranks: Vec<u32>,
    /// Threads of these ranks with the trend; empty if all threads that call the function have it.
    pub threads: Vec<u32>,
    /// Host of the ranks, if the run has several hosts and all of them are on one.
    pub host: Option<String>,
    /// The function in which it costs most, without arguments.
    pub function: String,
    /// Other functions with the same trend.
    pub other_functions: Vec<String>,
    /// Usual exclusive time of a call: on these ranks, at the end, or after the change.
    pub own_us: f64,
    /// Value for comparison: that of the peers, at the start, or before the change.
    pub usual_us: f64,
    /// The ratio of the two; `None` if the latter is 0.
    pub factor: Option<f64>,
    /// Start of a change, microseconds since the epoch.
    pub start_us: Option<i64>,
    /// Other ranks that call the function.
    pub peers: Vec<u32>,
    /// Time lost on all its ranks and in all its functions.
    pub cost_us: i64,
    /// Difference as a multiple of the spread, or of its standard error.
    pub evidence: f64,
    /// Reason to doubt that it is a fault.
    pub doubt: Option<&'static str>,
    /// The trend as a sentence.
    pub words: String,
}

impl TrendRow {
    /// Returns the row of a trend in `trace`.
    pub(super) fn new(trace: &Trace, number: usize, trend: &Trend) -> Self {
        let name = |func: FuncId| FunctionName::parse(trace.names.name(func)).short.to_owned();
        let (own, usual) = trend.kind.times();
        let is_on_part = trend.peers.iter().any(|&peer| {
            let rank = trace.lane(peer).rank;
            trend.ranks.contains(&rank)
        });
        let threads = trend.lanes.iter().map(|&lane| trace.lane(lane).thread.0);
        let mut threads: Vec<u32> = threads.filter(|_| is_on_part).collect();
        threads.sort_unstable();
        threads.dedup();
        Self {
            trend: number,
            kind: trend.kind.name(),
            ranks: trend.ranks.iter().map(|rank| rank.0).collect(),
            threads,
            host: (!trend.host.is_empty()).then(|| trend.host.clone()),
            function: name(trend.func),
            other_functions: trend.other_funcs.iter().map(|&func| name(func)).collect(),
            own_us: own.0.real() / 1e3,
            usual_us: usual.0.real() / 1e3,
            factor: (usual.0 > 0).then(|| own.0.real() / usual.0.real()),
            start_us: match trend.kind {
                TrendKind::Change { at, .. } => Some(at.as_us()),
                TrendKind::Slow { .. }
                | TrendKind::SlowIterations { .. }
                | TrendKind::Growth { .. } => None,
            },
            peers: trend.peer_ranks.iter().map(|rank| rank.0).collect(),
            cost_us: trend.cost.as_us(),
            evidence: trend.evidence,
            doubt: trend.doubt.map(TrendDoubt::reason),
            words: trend.summary(trace),
        }
    }
}
