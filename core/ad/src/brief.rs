//! The brief of a step for the parameter server: its anomalies one by one, and the messages around them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use callgrove_model::{ExecIdx, ExecLabel, FuncEvents, FuncId, RankId, StepId, ThreadId, TimeNs};
use callgrove_pserver::{AnomalyBrief, MessageBrief, StepBrief};

use crate::by_function::ExecPosition;
use crate::message_numbers::MessageNumbers;
use crate::node_state::epoch_us;
use crate::record_builder::JudgedLane;

/// Messages told of before an anomaly stood: those that it can have been waiting for.
const MESSAGES_BEFORE: usize = 16;
/// And since then: those that it held up.
const MESSAGES_SINCE: usize = 48;
/// Most anomalies of a step, the most severe ones.
const MAX_ANOMALIES: usize = 1024;
/// Most messages of a step, the first ones.
const MAX_MESSAGES: usize = 4096;

/// What briefs need to know of the steps before.
#[derive(Debug, Default)]
pub(crate) struct BriefState {
    lanes: BTreeMap<ThreadId, BriefedLane>,
}

#[derive(Debug, Default)]
struct BriefedLane {
    /// The last function event of the present step, and of those before.
    last: Option<TimeNs>,
    last_before: Option<TimeNs>,
    /// Messages after the one at this time are to be told still, so many.
    wanted: Option<(TimeNs, usize)>,
}

/// An anomaly to be told of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundAnomaly {
    /// Global index of its function.
    pub(crate) fid: FuncId,
    pub(crate) position: ExecPosition,
}

impl BriefState {
    /// Looks at the events of the next step.
    pub(crate) fn begin_step(&mut self, funcs: &FuncEvents) {
        for lane in self.lanes.values_mut() {
            lane.last_before = lane.last;
        }
        for (&thread, &time) in funcs.thread.iter().zip(&funcs.time) {
            let last = &mut self.lanes.entry(thread).or_default().last;
            *last = (*last).max(Some(time));
        }
    }

    /// The brief of a judged step.
    pub(crate) fn brief(
        &mut self,
        rank: RankId,
        step: StepId,
        lanes: &[JudgedLane<'_>],
        found: &[FoundAnomaly],
        numbers: &MessageNumbers,
    ) -> StepBrief {
        let mut told: Vec<(u32, AnomalyBrief, (TimeNs, TimeNs))> = Vec::new();
        for anomaly in found {
            let Some(lane) = lanes.get(anomaly.position.lane as usize) else {
                continue;
            };
            let exec = anomaly.position.exec;
            let before = self.lanes.get(&lane.thread).and_then(|it| it.last_before);
            let (from, to) = longest_gap(*lane, exec, step, before);
            let severity = lane.stack.executions().exclusive[exec.index()].as_us();
            let (entry_us, exit_us) = lane.times_us(exec);
            let brief = AnomalyBrief {
                label: lane.label(rank, exec),
                fid: anomaly.fid,
                thread: lane.thread,
                entry_us,
                exit_us,
                severity_us: u64::try_from(severity).unwrap_or(0),
                stood_from_us: epoch_us(from),
                stood_to_us: epoch_us(to),
            };
            told.push((anomaly.position.lane, brief, (from, to)));
        }
        told.sort_by_key(|(_, brief, _)| (Reverse(brief.severity_us), brief.label));
        told.truncate(MAX_ANOMALIES);
        told.sort_by_key(|(_, brief, _)| brief.label);
        let mut messages = Vec::new();
        for (position, lane) in lanes.iter().enumerate() {
            let of_lane = told.iter().filter(|it| it.0 as usize == position);
            let gaps: Vec<(TimeNs, TimeNs)> = of_lane.map(|it| it.2).collect();
            for row in self.rows_to_tell(*lane, &gaps) {
                if messages.len() < MAX_MESSAGES {
                    messages.extend(message(rank, *lane, row, numbers));
                }
            }
        }
        StepBrief {
            anomalies: told.into_iter().map(|(_, brief, _)| brief).collect(),
            messages,
        }
    }

    /// The rows of the messages around the times in which a lane stood, and those that steps before asked for.
    fn rows_to_tell(&mut self, lane: JudgedLane<'_>, gaps: &[(TimeNs, TimeNs)]) -> BTreeSet<usize> {
        let state = self.lanes.entry(lane.thread).or_default();
        let times = &lane.stack.comms().time;
        let mut rows = BTreeSet::new();
        let mut wanted = None;
        let mut tell = |range: Range<usize>, since: TimeNs| {
            let num_missing = range.end.saturating_sub(times.len());
            let last = times.last().copied().unwrap_or(since);
            rows.extend(range.start..range.end.min(times.len()));
            if num_missing > 0 && wanted.is_none_or(|(_, most)| most < num_missing) {
                wanted = Some((last.max(since), num_missing));
            }
        };
        if let Some((since, num_wanted)) = state.wanted {
            let from = times.partition_point(|&time| time <= since);
            tell(from..from + num_wanted, since);
        }
        for &(from, to) in gaps {
            let first = times.partition_point(|&time| time < from);
            let end = times.partition_point(|&time| time < to);
            // What came within the gap tells as much as what follows it.
            let since = first.max(end.saturating_sub(MESSAGES_SINCE));
            let before = first.saturating_sub(MESSAGES_BEFORE);
            tell(before..since + MESSAGES_SINCE, to);
        }
        state.wanted = wanted;
        rows
    }
}

fn message(
    rank: RankId,
    lane: JudgedLane<'_>,
    row: usize,
    numbers: &MessageNumbers,
) -> Option<MessageBrief> {
    let comms = lane.stack.comms();
    let number = numbers.number(lane.thread, comms, row)?;
    let time_us = epoch_us(comms.time[row]);
    let call: Option<ExecIdx> = comms.exec[row].map(ExecIdx::from);
    let label: Option<ExecLabel> = call.map(|exec| lane.label(rank, exec));
    Some(MessageBrief {
        kind: comms.kind[row],
        partner: comms.partner[row],
        tag: comms.tag[row],
        number,
        time_us,
        call: label,
        called_us: call.map_or(time_us, |exec| lane.times_us(exec).0),
    })
}

/// The longest time in which an execution that has ended was on top of the stack and nothing happened. Of one that was
/// entered before the step and called others, only what came since `before`, the last event before the step, is known.
fn longest_gap(
    lane: JudgedLane<'_>,
    exec: ExecIdx,
    step: StepId,
    before: Option<TimeNs>,
) -> (TimeNs, TimeNs) {
    let executions = lane.stack.executions();
    let (entry, exit) = (executions.entry[exec.index()], executions.exit(exec));
    let row = exec.index();
    if executions.exclusive[row] == executions.inclusive[row] {
        return (entry, exit);
    }
    let mut last = entry;
    if executions.step[row] < step {
        last = last.max(before.unwrap_or(entry));
    }
    let mut longest = (last, last);
    let mut take = |from: TimeNs, to: TimeNs| {
        if to.since(from) > longest.1.since(longest.0) {
            longest = (from, to);
        }
    };
    let end = executions.subtree_end[row];
    let mut child = exec.index() + 1;
    while child < end.index() {
        let called = ExecIdx::from_index(child);
        take(last, executions.entry[child]);
        last = last.max(executions.exit(called));
        child = executions.subtree_end[child].index().max(child + 1);
    }
    take(last, exit);
    longest
}
