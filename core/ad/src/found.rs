//! The outliers of a step by function, and what is told of them.

use callgrove_detect::{Judge, USUAL_SCORE, Verdict};
use callgrove_pserver::AnomalySummary;

use crate::OutlierStatistic;
use crate::by_function::{EndedExecution, ExecPosition, JudgedFunctions};
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
    /// Those among the executions of a function, in order of lane and entry: none if there are none, unless the normal
    /// execution `is_wanted` at least.
    pub(crate) fn among(
        executions: &[EndedExecution],
        (number, judge): (u32, &Judge),
        functions: &JudgedFunctions,
        statistic: OutlierStatistic,
        is_wanted: bool,
    ) -> Option<Self> {
        let mut found = Self {
            number,
            anomalies: Vec::new(),
            normal: None,
        };
        let is_usual = |it: &&EndedExecution| judge.is_usual(it.judged_us(statistic));
        for execution in executions.iter().filter(|it| !is_usual(it)) {
            let time_us = execution.judged_us(statistic);
            let Verdict { score, is_outlier } =
                judge.judge_in(execution.caller(functions), time_us);
            if is_outlier {
                found.anomalies.push((execution.position, score));
            } else {
                found.note_normal(execution.position, score);
            }
        }
        if found.anomalies.is_empty() && !is_wanted {
            return None;
        }
        for execution in executions.iter().filter(is_usual) {
            found.note_normal(execution.position, USUAL_SCORE);
        }
        let anomalies = &mut found.anomalies;
        anomalies.sort_unstable_by_key(|&(position, _)| position);
        Some(found)
    }

    fn note_normal(&mut self, position: ExecPosition, score: f64) {
        if self
            .normal
            .is_none_or(|(first, lowest)| score < lowest || (score <= lowest && position < first))
        {
            self.normal = Some((position, score));
        }
    }

    /// Scores, severities and times of all of them.
    pub(crate) fn summary(&self, lanes: &[JudgedLane<'_>]) -> AnomalySummary {
        let mut summary = AnomalySummary::default();
        for &(position, score) in &self.anomalies {
            let lane = &lanes[position.lane as usize];
            let executions = lane.stack.executions();
            let severity = lane.judged_us(position.exec, OutlierStatistic::Exclusive);
            summary.push(
                score,
                severity,
                epoch_us(executions.entry[position.exec.index()]),
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
