//! The verdicts on the executions of a step.

use super::{JudgedRows, LaneState, RankDetector};
use crate::compiled_model::CompiledModel;
use crate::found::FoundOutliers;
use crate::{AdOptions, OutlierStatistic};

impl RankDetector {
    /// Judges the executions that ended in the step taken in last: the functions that could be judged, and the
    /// outliers of those that have some or lack a normal execution beside one.
    pub(super) fn judge_executions(
        &mut self,
        compiled: &[Option<CompiledModel>],
        options: &AdOptions,
    ) -> (Vec<JudgedRows>, Vec<FoundOutliers>) {
        let mut functions = Vec::with_capacity(self.grouped.functions.len());
        let mut found: Vec<FoundOutliers> = Vec::new();
        let values = match options.statistic {
            OutlierStatistic::Exclusive => &self.grouped.exclusive_us,
            OutlierStatistic::Inclusive => &self.grouped.inclusive_us,
        };
        for (number, rows) in &self.grouped.functions {
            let Some(compiled) = compiled.get(*number as usize).and_then(Option::as_ref) else {
                // A frozen server that never saw the function: there is nothing to judge it by.
                continue;
            };
            let mut of_function = FoundOutliers::new(*number);
            let positions = &self.grouped.positions[rows.clone()];
            let callers = &self.grouped.callers[rows.clone()];
            for ((&value, &caller), &position) in
                values[rows.clone()].iter().zip(callers).zip(positions)
            {
                let verdict = compiled.judge.judge_in(caller, value);
                of_function.take(position, verdict);
            }
            functions.push((rows.clone(), *number));
            if !of_function.anomalies.is_empty() || self.wanted.contains(number) {
                found.push(of_function.sorted());
            }
        }
        let mut lanes: Vec<&mut LaneState> = self.lanes.values_mut().collect();
        for (position, _) in found.iter().flat_map(|of_function| &of_function.anomalies) {
            lanes[position.lane as usize].anomalies.push(position.exec);
        }
        for lane in lanes {
            lane.anomalies.sort_unstable();
        }
        (functions, found)
    }
}
