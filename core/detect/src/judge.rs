//! Judges executions by the model of their function.

use serde_json::{Value, json};

use crate::contexts::Since;
use crate::copod::Copod;
use crate::excess::{CallsInRow, Excess};
use crate::hbos::Hbos;
use crate::isolation::Surroundings;
use crate::model::stated;
use crate::verdict::USUAL_SCORE;
use crate::{Algorithm, CallerKey, Distribution, FuncModel, Moments, ValidParams, Verdict};
use callgrove_model::Real;

/// Stands in for a standard deviation of 0, so that scores stay finite.
const LEAST_STDDEV: f64 = 1e-10;

/// Nothing is known about the function, so all is normal.
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
    /// A judge by `model`, which contains the executions to judge, or is frozen.
    ///
    /// `threshold_override` takes the place, for this function, of `excess_severe_us`, `hbos_thres` or `sstd_sigma`;
    /// [`ValidParams::check_threshold`] has its bounds. With less than 32 executions (excess), two (SSTD), or none
    /// (HBOS, COPOD, or a model of another detector), all is normal with score 0.
    pub fn new(model: &FuncModel, params: &ValidParams, threshold_override: Option<f64>) -> Self {
        Self::since(Since::Ever, model, params, threshold_override)
    }

    /// The same for the present steps of a run that goes on: with excess, what was usual long before does not count.
    pub fn of_late(
        model: &FuncModel,
        params: &ValidParams,
        threshold_override: Option<f64>,
    ) -> Self {
        Self::since(Since::Late, model, params, threshold_override)
    }

    fn since(
        since: Since,
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
                Excess::new(contexts, since, severe_us).map_or(Rule::Unknown, Rule::Excess),
            );
        }
        let Some(histogram) = model.histogram().filter(|all| !all.bins().is_empty()) else {
            return Self(Rule::Unknown);
        };
        let range_share = threshold_override.unwrap_or(params.hbos_threshold);
        let least_threshold = if params.use_global_threshold {
            model.internal_global_threshold()
        } else {
            0.0
        };
        let surroundings = Surroundings::new(histogram, 1.0 - range_share);
        Self(if params.algorithm == Algorithm::Hbos {
            Rule::Hbos(Hbos::new(surroundings, range_share, least_threshold))
        } else {
            let skewness = model.moments().skewness();
            Rule::Copod(Copod::new(
                histogram,
                skewness,
                surroundings,
                range_share,
                least_threshold,
            ))
        })
    }

    /// Whether an execution of this time in microseconds is no outlier, whoever called it, and has the
    /// [`USUAL_SCORE`]: most are, and this is known at once.
    #[inline]
    pub fn is_usual(&self, value_us: u64) -> bool {
        match &self.0 {
            Rule::Unknown => true,
            Rule::Excess(excess) => excess.is_usual(value_us),
            Rule::Sstd { .. } | Rule::Hbos(_) | Rule::Copod(_) => false,
        }
    }

    /// Judges an execution that nothing called by its time in microseconds.
    #[inline]
    pub fn judge(&self, value_us: u64) -> Verdict {
        self.judge_in(CallerKey::NONE, value_us)
    }

    /// Judges an execution by who called it and its time in microseconds.
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

    /// Whether it judges executions by those that follow one another, too.
    pub fn judges_rows(&self) -> bool {
        matches!(self.0, Rule::Excess(_))
    }

    /// Judges an execution among others in a row. Only excess judges by them.
    pub fn judge_in_row(&self, caller: CallerKey, value_us: u64, row: CallsInRow) -> Verdict {
        match &self.0 {
            Rule::Excess(excess) => excess.judge_in_row(caller, value_us, row),
            _ => self.judge_in(caller, value_us),
        }
    }

    /// How many microseconds an execution took longer than the median of its caller; `None` for one that is usual there, and for all
    /// detectors but excess.
    pub fn excess_us(&self, caller: CallerKey, value_us: u64) -> Option<u64> {
        match &self.0 {
            Rule::Excess(excess) => excess.excess_us(caller, value_us),
            _ => None,
        }
    }

    /// Judges executions by their times in microseconds; the verdicts are appended in their order.
    pub fn judge_all(&self, values_us: &[u64], verdicts: &mut Vec<Verdict>) {
        verdicts.extend(values_us.iter().map(|&value| self.judge(value)));
    }

    /// The score from which on an execution that stands alone is an outlier; with SSTD, the number of
    /// standard deviations above which any is; 0 if nothing is known about the function, and with excess, whose
    /// border is a time.
    pub fn threshold(&self) -> f64 {
        match &self.0 {
            Rule::Unknown | Rule::Excess(_) => 0.0,
            Rule::Sstd { sigma, .. } => *sigma,
            Rule::Hbos(hbos) => hbos.threshold(),
            Rule::Copod(copod) => copod.threshold(),
        }
    }

    /// Which of the models of a function an execution is judged by: 0 is that of all callers.
    pub fn context(&self, caller: CallerKey) -> usize {
        match &self.0 {
            Rule::Excess(excess) => excess.place(caller).unwrap_or(0),
            _ => 0,
        }
    }

    /// How many there are.
    pub fn num_contexts(&self) -> usize {
        match &self.0 {
            Rule::Excess(excess) => excess.borders().len(),
            _ => 1,
        }
    }

    /// One of them as `algo_params`: the object of the schemas. `model` is what the judge was made of.
    pub fn stated(&self, model: &FuncModel, context: usize) -> Value {
        let border = match &self.0 {
            Rule::Excess(excess) => excess.borders().get(context),
            _ => None,
        };
        let Some(border) = border else {
            return model.to_json();
        };
        let outlier_us = border.outlier_us();
        let mut stated = stated(border.histogram(), border.judge(outlier_us).score);
        stated["border_us"] = json!(outlier_us);
        stated
    }
}

fn sstd(moments: &Moments, sigma: f64) -> Rule {
    if moments.count() < 2 {
        return Rule::Unknown;
    }
    Rule::Sstd {
        mean: moments.mean(),
        stddev: moments.stddev().max(LEAST_STDDEV),
        sigma,
    }
}
