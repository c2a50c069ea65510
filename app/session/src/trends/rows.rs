//! Findings as tables have them, with fixed names. Times in microseconds.

use callgrove_model::{FuncId, FunctionName, Real, Trace};
use callgrove_patterns::trend::{Trend, TrendDoubt, TrendKind};
use serde::Serialize;

/// One persistent or slow change: a row of `callgrove trends`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TrendRow {
    /// Number, from 0: the costliest first.
    pub trend: usize,
    /// The kind: `slow`, `growth` or `change`.
    pub kind: &'static str,
    /// Ranks that it is on.
    pub ranks: Vec<u32>,
    /// The threads of these ranks that it is on, where it is not on all that call the function; empty otherwise.
    pub threads: Vec<u32>,
    /// Their host, where the run has several hosts and all are on one.
    pub host: Option<String>,
    /// The function in which it costs most, without arguments.
    pub function: String,
    /// Other functions with the same finding.
    pub other_functions: Vec<String>,
    /// The usual own time of a call: on these ranks, at the end, or afterwards.
    pub own_us: f64,
    /// What it is compared with: that of the peers, at the start, or before.
    pub usual_us: f64,
    /// The ratio of the two; `None` if the latter is 0.
    pub factor: Option<f64>,
    /// When a change began, microseconds since the epoch.
    pub start_us: Option<i64>,
    /// Ranks that call the function too.
    pub peers: Vec<u32>,
    /// The time that it costs on all its ranks and in all its functions.
    pub cost_us: i64,
    /// How many times larger than the spread, or its standard error, the difference is.
    pub evidence: f64,
    /// Why it may be no fault.
    pub doubt: Option<&'static str>,
    /// The finding as a sentence.
    pub words: String,
}

impl TrendRow {
    /// The row of a finding in `trace`.
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
                TrendKind::Slow { .. } | TrendKind::Growth { .. } => None,
            },
            peers: trend.peer_ranks.iter().map(|rank| rank.0).collect(),
            cost_us: trend.cost.as_us(),
            evidence: trend.evidence,
            doubt: trend.doubt.map(TrendDoubt::reason),
            words: trend.summary(trace),
        }
    }
}
