//! The outliers of a step by function, and the statistics reported of them.

use callgrove_detect::{CallerKey, CallsInRow, Judge, USUAL_SCORE, Verdict};
use callgrove_model::{ExecIdx, Executions, LaneIdx};
use callgrove_pserver::AnomalySummary;
use callgrove_records::{ExecPosition, JudgedLane, epoch_us};

use crate::by_function::{EndedExecution, JudgedFunctions};
use crate::compiled_model::CompiledModel;
use crate::options::OutlierStatistic;

/// The outliers of one function.
#[derive(Debug)]
pub(crate) struct FunctionOutliers {
    pub(crate) number: u32,
    pub(crate) anomalies: Vec<(ExecPosition, f64)>,
    /// The normal execution with the lowest score; of equal scores, the first.
    pub(crate) normal: Option<(ExecPosition, f64)>,
}

/// The calls of a step, as needed to judge them.
pub(crate) struct StepCalls<'a> {
    pub(crate) functions: &'a JudgedFunctions,
    pub(crate) statistic: OutlierStatistic,
    /// The calls by lane index.
    pub(crate) lanes: Vec<JudgedCalls<'a>>,
}

/// The calls of a lane, and the time in µs that the tracer may have spent writing in each.
pub(crate) struct JudgedCalls<'a> {
    pub(crate) executions: &'a Executions,
    pub(crate) writes: &'a [(ExecIdx, u64)],
}

/// An execution that is not obviously usual.
struct Candidate<'a> {
    /// Its index among the executions of its function.
    at: usize,
    execution: &'a EndedExecution,
    caller: CallerKey,
    /// Its judged time without the tracer's writes.
    time_us: u64,
    excess_us: Option<u64>,
}

impl StepCalls<'_> {
    /// Returns the caller's execution.
    fn parent(&self, position: ExecPosition) -> Option<ExecIdx> {
        self.lanes
            .get(LaneIdx(position.lane).index())?
            .executions
            .parent(position.exec)
    }

    /// Returns the judged time without the tracer's writes.
    fn time_us(&self, execution: &EndedExecution) -> u64 {
        let ExecPosition { lane, exec } = execution.position;
        let writes = self
            .lanes
            .get(lane as usize)
            .map_or(&[][..], |it| it.writes);
        let in_it = writes.iter().filter(|write| write.0 == exec);
        let written_us: u64 = in_it.map(|write| write.1).sum();
        let time_us = execution.judged_us(self.statistic);
        time_us.saturating_sub(written_us)
    }

    fn candidate<'a>(
        &self,
        judge: &Judge,
        at: usize,
        execution: &'a EndedExecution,
    ) -> Candidate<'a> {
        let (caller, time_us) = (execution.caller(self.functions), self.time_us(execution));
        Candidate {
            at,
            execution,
            caller,
            time_us,
            excess_us: judge.excess_us(caller, time_us),
        }
    }

    /// Returns whether the same execution called both, the second right after the first.
    fn are_in_row(&self, one: &Candidate<'_>, next: &Candidate<'_>) -> bool {
        let [first, second] = [one.execution.position, next.execution.position];
        let are_beyond = one.excess_us.is_some() && next.excess_us.is_some();
        are_beyond
            && one.at + 1 == next.at
            && first.lane == second.lane
            && self.parent(first).is_some()
            && self.parent(first) == self.parent(second)
    }
}

impl FunctionOutliers {
    /// Finds the outliers among the executions of a function, in order of lane and entry. Returns `None` if there are
    /// none, unless `is_wanted` asks for the lowest normal execution.
    pub(crate) fn find(
        executions: &[EndedExecution],
        (number, judge): (u32, &Judge),
        calls: &StepCalls<'_>,
        is_wanted: bool,
    ) -> Option<Self> {
        let mut found = Self {
            number,
            anomalies: Vec::new(),
            normal: None,
        };
        let is_usual = |it: &&EndedExecution| judge.is_usual(it.judged_us(calls.statistic));
        if judge.judges_rows() {
            found.judge_rows(executions, judge, calls);
        } else {
            for execution in executions.iter().filter(|it| !is_usual(it)) {
                let time_us = execution.judged_us(calls.statistic);
                let caller = execution.caller(calls.functions);
                found.add(execution.position, judge.judge_in(caller, time_us));
            }
        }
        if found.anomalies.is_empty() && !is_wanted {
            return None;
        }
        for execution in executions.iter().filter(is_usual) {
            found.add_normal(execution.position, USUAL_SCORE);
        }
        let anomalies = &mut found.anomalies;
        anomalies.sort_unstable_by_key(|&(position, _)| position);
        Some(found)
    }

    /// Judges executions together with those that directly follow one another, without the time in which the tracer
    /// wrote.
    fn judge_rows(&mut self, executions: &[EndedExecution], judge: &Judge, calls: &StepCalls<'_>) {
        let numbered = executions.iter().enumerate();
        let candidates: Vec<Candidate<'_>> = numbered
            .filter(|(_, it)| !judge.is_usual(it.judged_us(calls.statistic)))
            .map(|(at, execution)| calls.candidate(judge, at, execution))
            .collect();
        for row in candidates.chunk_by(|one, next| calls.are_in_row(one, next)) {
            let in_row = CallsInRow {
                num_calls: u32::try_from(row.len()).unwrap_or(u32::MAX),
                excess_us: row.iter().filter_map(|it| it.excess_us).sum(),
            };
            for it in row {
                let verdict = judge.judge_in_row(it.caller, it.time_us, in_row);
                self.add(it.execution.position, verdict);
            }
        }
    }

    fn add(&mut self, position: ExecPosition, verdict: Verdict) {
        if verdict.is_outlier {
            self.anomalies.push((position, verdict.score));
        } else {
            self.add_normal(position, verdict.score);
        }
    }

    fn add_normal(&mut self, position: ExecPosition, score: f64) {
        if self
            .normal
            .is_none_or(|(first, lowest)| score < lowest || (score <= lowest && position < first))
        {
            self.normal = Some((position, score));
        }
    }

    /// Returns the scores, severities and times of all outliers.
    pub(crate) fn summary(&self, lanes: &[JudgedLane<'_>]) -> AnomalySummary {
        let mut summary = AnomalySummary::default();
        for &(position, score) in &self.anomalies {
            let lane = &lanes[position.lane as usize];
            let executions = lane.stack.executions();
            let severity = ended_us(lane, position.exec, OutlierStatistic::Exclusive);
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

/// Returns the anomalies that took longer than usual; only for these can other executions have waited. `compiled` is
/// indexed by function number.
pub(crate) fn longer_than_usual(
    found: &[FunctionOutliers],
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
            ended_us(lane, position.exec, statistic) > mean_us
        }));
    }
    anomalies
}

/// Returns the time of an execution that is judged, in µs.
#[expect(
    clippy::cast_precision_loss,
    reason = "beyond 2⁵³ µs, 285 years, it is rounded"
)]
fn ended_us(lane: &JudgedLane<'_>, exec: ExecIdx, statistic: OutlierStatistic) -> f64 {
    let executions = lane.stack.executions();
    let column = match statistic {
        OutlierStatistic::Exclusive => &executions.exclusive,
        OutlierStatistic::Inclusive => &executions.inclusive,
    };
    column[exec.index()].as_us() as f64
}
