//! Judges executions by the model of their function.

use serde_json::{Value, json};

use crate::contexts::{CallerKey, EpochRange};
use crate::copod::Copod;
use crate::excess::{CallsInRow, Excess};
use crate::hbos::Hbos;
use crate::isolation::Surroundings;
use crate::model::{Distribution, FuncModel, histogram_json};
use crate::moments::Moments;
use crate::params::{Algorithm, ValidParams};
use crate::verdict::{USUAL_SCORE, Verdict};
use callgrove_model::Real;

/// Replaces a standard deviation of 0, so that scores remain finite.
const MIN_STDDEV: f64 = 1e-10;

/// The verdict for functions with too little data: all is normal.
const UNKNOWN: Verdict = Verdict {
    score: USUAL_SCORE,
    is_outlier: false,
};

/// A model compiled for judging many executions.
#[derive(Clone, Debug)]
pub struct Judge(Rule);

#[derive(Clone, Debug)]
enum Rule {
    Unknown,
    Excess(Excess),
    Sstd { mean: f64, stddev: f64, sigma: f64 },
    Hbos(Hbos),
    Copod(Copod),
}

impl Judge {
    /// Returns a judge by `model`, which includes the executions to judge, or is frozen.
    ///
    /// `threshold_override` replaces `excess_severe_us`, `hbos_thres` or `sstd_sigma` for this function;
    /// [`ValidParams::check_threshold`] checks its range. With less than 32 executions (excess), two (SSTD), or none
    /// (HBOS, COPOD, or a model of another detector), all is normal with score 0.
    pub fn new(model: &FuncModel, params: &ValidParams, threshold_override: Option<f64>) -> Self {
        Self::with_range(EpochRange::All, model, params, threshold_override)
    }

    /// Returns a judge for the current steps of a run in progress. With excess, only recent executions define what is
    /// usual.
    pub fn of_recent(
        model: &FuncModel,
        params: &ValidParams,
        threshold_override: Option<f64>,
    ) -> Self {
        Self::with_range(EpochRange::Recent, model, params, threshold_override)
    }

    fn with_range(
        range: EpochRange,
        model: &FuncModel,
        params: &ValidParams,
        threshold_override: Option<f64>,
    ) -> Self {
        let params = params.get();
        if params.algorithm == Algorithm::Sstd {
            let sigma = threshold_override.unwrap_or(params.sstd_sigma);
            return Self(sstd(model.moments(), sigma));
        }
        if let (Algorithm::Excess, Distribution::Contexts(contexts)) =
            (params.algorithm, model.distribution())
        {
            let severe_us = threshold_override.unwrap_or(params.severe_us);
            return Self(
                Excess::new(contexts, range, severe_us).map_or(Rule::Unknown, Rule::Excess),
            );
        }
        let Some(histogram) = model.histogram().filter(|all| !all.bins().is_empty()) else {
            return Self(Rule::Unknown);
        };
        let range_share = threshold_override.unwrap_or(params.hbos_threshold);
        let min_threshold = if params.use_global_threshold {
            model.internal_global_threshold()
        } else {
            0.0
        };
        let surroundings = Surroundings::new(histogram, 1.0 - range_share);
        Self(if params.algorithm == Algorithm::Hbos {
            Rule::Hbos(Hbos::new(surroundings, range_share, min_threshold))
        } else {
            let skewness = model.moments().skewness();
            Rule::Copod(Copod::new(
                histogram,
                skewness,
                surroundings,
                range_share,
                min_threshold,
            ))
        })
    }

    /// Returns whether an execution of this time in µs is no outlier for any caller and has the [`USUAL_SCORE`]. This
    /// is fast, and true for most executions.
    #[inline]
    pub fn is_usual(&self, value_us: u64) -> bool {
        match &self.0 {
            Rule::Unknown => true,
            Rule::Excess(excess) => excess.is_usual(value_us),
            Rule::Sstd { .. } | Rule::Hbos(_) | Rule::Copod(_) => false,
        }
    }

    /// Judges an execution without a caller by its time in µs.
    #[inline]
    pub fn judge(&self, value_us: u64) -> Verdict {
        self.judge_in(CallerKey::NONE, value_us)
    }

    /// Judges an execution by its caller and its time in µs.
    #[inline]
    pub fn judge_in(&self, caller: CallerKey, value_us: u64) -> Verdict {
        match &self.0 {
            Rule::Unknown => UNKNOWN,
            Rule::Excess(excess) => excess.judge(caller, value_us),
            Rule::Sstd {
                mean,
                stddev,
                sigma,
            } => {
                let score = (value_us.real() - mean).abs() / stddev;
                Verdict {
                    score,
                    is_outlier: score > *sigma,
                }
            }
            Rule::Hbos(hbos) => hbos.judge(value_us),
            Rule::Copod(copod) => copod.judge(value_us),
        }
    }

    /// Returns whether consecutive executions are also judged together.
    pub fn judges_rows(&self) -> bool {
        matches!(self.0, Rule::Excess(_))
    }

    /// Judges an execution among others in a row, which only excess takes into account.
    pub fn judge_in_row(&self, caller: CallerKey, value_us: u64, row: CallsInRow) -> Verdict {
        match &self.0 {
            Rule::Excess(excess) => excess.judge_in_row(caller, value_us, row),
            _ => self.judge_in(caller, value_us),
        }
    }

    /// Returns the time in µs by which an execution exceeds the median of its caller; `None` if it is usual there, and
    /// for all detectors but excess.
    pub fn excess_us(&self, caller: CallerKey, value_us: u64) -> Option<u64> {
        match &self.0 {
            Rule::Excess(excess) => excess.excess_us(caller, value_us),
            _ => None,
        }
    }

    /// Judges executions by their times in µs, and appends the verdicts in the same order.
    pub fn judge_all(&self, values_us: &[u64], verdicts: &mut Vec<Verdict>) {
        verdicts.extend(values_us.iter().map(|&value| self.judge(value)));
    }

    /// Returns the score from which an isolated execution is an outlier; with SSTD, the number of standard deviations
    /// above which any execution is. Returns 0 if the function has too little data, and with excess, whose threshold is
    /// a time.
    pub fn threshold(&self) -> f64 {
        match &self.0 {
            Rule::Unknown | Rule::Excess(_) => 0.0,
            Rule::Sstd { sigma, .. } => *sigma,
            Rule::Hbos(hbos) => hbos.threshold(),
            Rule::Copod(copod) => copod.threshold(),
        }
    }

    /// Returns the context by which an execution is judged; 0 is that of all callers.
    pub fn context(&self, caller: CallerKey) -> usize {
        match &self.0 {
            Rule::Excess(excess) => excess.index(caller).unwrap_or(0),
            _ => 0,
        }
    }

    /// Returns the number of contexts.
    pub fn num_contexts(&self) -> usize {
        match &self.0 {
            Rule::Excess(excess) => excess.thresholds().len(),
            _ => 1,
        }
    }

    /// Returns the `algo_params` object of the schemas for a context. `model` is the model of this judge.
    pub fn algo_params(&self, model: &FuncModel, context: usize) -> Value {
        let threshold = match &self.0 {
            Rule::Excess(excess) => excess.thresholds().get(context),
            _ => None,
        };
        let Some(threshold) = threshold else {
            return model.to_json();
        };
        let outlier_us = threshold.outlier_us();
        let mut json = histogram_json(threshold.histogram(), threshold.judge(outlier_us).score);
        // The stored name of the threshold.
        json["border_us"] = json!(outlier_us);
        json
    }
}

fn sstd(moments: &Moments, sigma: f64) -> Rule {
    if moments.count() < 2 {
        return Rule::Unknown;
    }
    Rule::Sstd {
        mean: moments.mean(),
        stddev: moments.stddev().max(MIN_STDDEV),
        sigma,
    }
}
