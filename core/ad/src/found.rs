//! The outliers of a step by function, and what is told of them.

use callgrove_detect::Verdict;
use callgrove_pserver::AnomalySummary;

use crate::OutlierStatistic;
use crate::by_function::ExecPosition;
use crate::compiled_model::CompiledModel;
use crate::node_state::epoch_us;
use crate::record_builder::JudgedLane;

/// The outliers of one function.
#[derive(Debug)]
pub(crate) struct FoundOutliers {
    pub(crate) number: u32,
    pub(crate) anomalies: Vec<(ExecPosition, f64)>,
    /// The normal execution with the lowest score, the first of those.
    pub(crate) normal: Option<(ExecPosition, f64)>,
}

impl FoundOutliers {
    pub(crate) fn new(number: u32) -> Self {
        Self {
            number,
            anomalies: Vec::new(),
            normal: None,
        }
    }

    /// Takes note of the verdict on an execution.
    #[inline]
    pub(crate) fn take(&mut self, position: ExecPosition, verdict: Verdict) {
        let Verdict { score, is_outlier } = verdict;
        if is_outlier {
            self.anomalies.push((position, score));
        } else if self
            .normal
            .is_none_or(|(first, lowest)| score < lowest || (score <= lowest && position < first))
        {
            self.normal = Some((position, score));
        }
    }

    /// In order of lane and entry; they were taken in order of lane and end.
    pub(crate) fn sorted(mut self) -> Self {
        self.anomalies
            .sort_unstable_by_key(|&(position, _)| position);
        self
    }

    /// Scores, severities and times of all of them.
    pub(crate) fn summary(&self, lanes: &[JudgedLane<'_>]) -> AnomalySummary {
        let mut summary = AnomalySummary::default();
        for &(position, score) in &self.anomalies {
            let executions = lanes[position.lane as usize].stack.executions();
            let row = position.exec.index();
            let severity = executions.exclusive[row].as_us() as f64;
            summary.push(
                score,
                severity,
                epoch_us(executions.entry[row]),
                epoch_us(executions.exit(position.exec)),
            );
        }
        summary
    }
}

/// The anomalies that took longer than usual: others can have waited for none else. `compiled` is by number of the
/// function.
pub(crate) fn longer_than_usual(
    found: &[FoundOutliers],
    lanes: &[JudgedLane<'_>],
    compiled: &[Option<CompiledModel>],
    statistic: OutlierStatistic,
) -> Vec<ExecPosition> {
    let mut anomalies = Vec::new();
    for of_function in found {
        let Some(Some(compiled)) = compiled.get(of_function.number as usize) else {
            continue;
        };
        let mean_us = compiled.model.moments().mean();
        let positions = of_function.anomalies.iter().map(|&(position, _)| position);
        anomalies.extend(positions.filter(|position| {
            let lane = &lanes[position.lane as usize];
            lane.judged_us(position.exec, statistic) > mean_us
        }));
    }
    anomalies
}
