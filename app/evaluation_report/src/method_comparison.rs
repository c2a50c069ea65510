//! The comparison of methods with a known truth, and the effect of labels on those that learn.

use anyhow::{Context, Result};
use callgrove_evaluate::baselines::BaselineParams;
use callgrove_evaluate::evaluate::{
    Alarms, CurveParams, Method, Quality, Truth, ValidCurveParams, Workbench,
};
use callgrove_judge::active::QueryStrategy;
use callgrove_judge::detector::DetectorParams;
use callgrove_model::Forest;
use callgrove_trees::{MlError, Progress};

use crate::comparison_report::{ComparisonReport, CurveReport, MethodReport};

/// The methods and settings to compare.
pub struct MethodComparison {
    methods: Vec<Method>,
    strategies: Vec<QueryStrategy>,
    /// The numbers of labels at which to measure; `None` if no labels are given.
    curve: Option<ValidCurveParams>,
    seed: u64,
}

/// Is informed of the stages of long work.
pub trait StageMonitor {
    /// Carries out a stage and shows its progress.
    fn stage<T>(&self, stage: &str, work: impl FnOnce(Progress<'_>) -> T) -> T;

    /// A named part of the work has ended.
    fn lap(&mut self, part: &str);

    /// Something was left out.
    fn warn(&self, text: &str);
}

impl MethodComparison {
    /// Returns a comparison of `methods`. Those that learn are also measured with the numbers of labels in `checkpoints`
    /// and with `max_labels`, which a simulated user gives by each of `strategies`; with `max_labels` 0 there are no labels.
    ///
    /// # Errors
    /// The checkpoints are invalid.
    pub fn new(
        methods: &[Method],
        strategies: &[QueryStrategy],
        checkpoints: &[usize],
        max_labels: usize,
        seed: u64,
    ) -> Result<Self> {
        Ok(Self {
            methods: methods.to_vec(),
            strategies: strategies.to_vec(),
            curve: curve_params(checkpoints, max_labels)?,
            seed,
        })
    }

    /// Compares the methods on a forest.
    ///
    /// # Errors
    /// A method fails; one that does not work on this truth is left out with a warning.
    pub fn run<'a>(
        &self,
        forest: &Forest,
        function: &'a str,
        truth: &'a Truth,
        monitor: &mut impl StageMonitor,
    ) -> Result<ComparisonReport<'a>> {
        let ours = DetectorParams::default();
        let baselines = BaselineParams::default().check()?;
        let mut workbench = Workbench::new(forest, truth, ours, baselines, self.seed)?;
        let mut methods = Vec::new();
        let mut curves = Vec::new();
        for &method in &self.methods {
            methods.extend(rate(&mut workbench, truth, method, monitor)?);
            monitor.lap(&method.to_string());
            if let Some(params) = &self.curve
                && method.learns()
            {
                for &strategy in &self.strategies {
                    curves.extend(learn(&mut workbench, method, strategy, params, monitor)?);
                }
                monitor.lap(&format!("{method} with labels"));
            }
        }
        Ok(ComparisonReport {
            function,
            truth,
            methods,
            curves,
        })
    }
}

/// Returns the numbers of labels at which to measure; `None` if no labels are given.
fn curve_params(checkpoints: &[usize], max_labels: usize) -> Result<Option<ValidCurveParams>> {
    if max_labels == 0 {
        return Ok(None);
    }
    let mut checkpoints = checkpoints.to_vec();
    checkpoints.retain(|&checkpoint| checkpoint < max_labels);
    checkpoints.push(max_labels);
    checkpoints.sort_unstable();
    checkpoints.dedup();
    Ok(Some(CurveParams { checkpoints }.check()?))
}

/// Rates a method without labels. A baseline that does not work on this truth is reported and left out.
fn rate(
    workbench: &mut Workbench<'_>,
    truth: &Truth,
    method: Method,
    monitor: &impl StageMonitor,
) -> Result<Option<MethodReport>> {
    let work = |progress: Progress<'_>| workbench.scores(method, progress);
    let scores = match monitor.stage(&format!("Scoring by {method}"), work) {
        Ok(scores) => scores,
        Err(error @ (MlError::TooFewExamples { .. } | MlError::PeerFailed(_))) => {
            monitor.warn(&format!("{method} is left out: {error}"));
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| format!("{method} failed")),
    };
    let kinds = 0..truth.kinds().len();
    Ok(Some(MethodReport {
        method,
        alarms: method.learns().then(|| Alarms::of(truth, &scores)),
        all: Quality::of_all(truth, &scores),
        by_kind: kinds
            .map(|kind| Quality::of_kind(truth, &scores, kind))
            .collect(),
    }))
}

fn learn(
    workbench: &mut Workbench<'_>,
    method: Method,
    query: QueryStrategy,
    params: &ValidCurveParams,
    monitor: &impl StageMonitor,
) -> Result<Option<CurveReport>> {
    let work = |progress: Progress<'_>| workbench.curve(method, params, query, progress);
    let points = monitor
        .stage(&format!("Labelling for {method}"), work)
        .with_context(|| format!("{method} failed with labels"))?;
    Ok(points.map(|points| CurveReport {
        method,
        query,
        points,
    }))
}
