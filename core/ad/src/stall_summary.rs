//! The stall summary of a step for the parameter server: what stalled in it, and the messages around the stalls.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use callgrove_incidents::{GapTracker, MessageEntry, MessageNumbers, StallEntry, StallSummary};
use callgrove_model::{ExecIdx, ExecLabel, FuncEvents, FuncId, RankId, StepId, ThreadId, TimeNs};
use callgrove_records::{ExecPosition, JudgedLane, NamedFunction, epoch_us};

/// Number of messages reported before a stall. The stalled call can have waited for them.
const MESSAGES_BEFORE: usize = 16;
/// Number of messages reported from the end of a stall on. The stall can have delayed them.
const MESSAGES_SINCE: usize = 48;
/// Largest number of reported executions of a step; the longest stalls are kept.
const MAX_STALLS: usize = 1024;
/// Largest number of reported messages of a step; the first ones are kept.
const MAX_MESSAGES: usize = 4096;

/// A time range without events: start and end.
type Gap = (TimeNs, TimeNs);

/// Finds the stalls of a rank, step by step.
#[derive(Debug, Default)]
pub(crate) struct StallTracker {
    gaps: GapTracker,
    lanes: BTreeMap<ThreadId, LaneStalls>,
}

#[derive(Debug, Default)]
struct LaneStalls {
    /// The longest long gap so far of each execution that is still open.
    open: BTreeMap<ExecLabel, Gap>,
    /// The time of the last message known, and the number of messages after it that are still to be reported.
    wanted: Option<(TimeNs, usize)>,
}

/// The calls of a rank in a judged step.
pub(crate) struct JudgedStep<'a> {
    pub(crate) rank: RankId,
    pub(crate) step: StepId,
    pub(crate) lanes: &'a [JudgedLane<'a>],
    /// Indexed by the rank's own function ids.
    pub(crate) functions: &'a [NamedFunction],
    pub(crate) numbers: &'a MessageNumbers,
}

impl StallTracker {
    /// Processes the events of the next step.
    pub(crate) fn begin_step(&mut self, funcs: &FuncEvents) {
        self.gaps.begin_step(funcs);
    }

    /// Returns the stall summary of a judged step: its `anomalies`, and all other executions that ended in it and
    /// stalled unusually long. A stopped rank makes many others stall, so that neither its stalls nor theirs may be
    /// rare enough for the detector.
    pub(crate) fn summary(
        &mut self,
        of: &JudgedStep<'_>,
        anomalies: &[ExecPosition],
    ) -> StallSummary {
        let mut summary = StallSummary::default();
        let mut stalled: Vec<(usize, ExecIdx, Gap)> = Vec::new();
        for (at, lane) in of.lanes.iter().enumerate() {
            let mut stalls = self.long_gaps(of, *lane);
            for position in anomalies.iter().filter(|it| it.lane as usize == at) {
                let exec = position.exec;
                stalls
                    .entry(exec)
                    .or_insert_with(|| self.longest_gap(*lane, exec, of.step));
            }
            stalled.extend(stalls.into_iter().map(|(exec, gap)| (at, exec, gap)));
        }
        stalled.sort_by_key(|&(at, exec, (from, to))| (Reverse(to.since(from)), at, exec));
        stalled.truncate(MAX_STALLS);
        stalled.sort_by_key(|&(at, exec, _)| (at, exec));
        for (at, lane) in of.lanes.iter().enumerate() {
            let of_lane = || stalled.iter().filter(move |it| it.0 == at);
            summary
                .stalls
                .extend(of_lane().map(|&(_, exec, gap)| stall(of, *lane, exec, gap)));
            let gaps: Vec<Gap> = of_lane().map(|it| it.2).collect();
            let mut numbers = of.numbers.of_thread(lane.thread, lane.stack.comms());
            for row in self.rows_to_report(*lane, &gaps) {
                if summary.messages.len() < MAX_MESSAGES {
                    let message = numbers
                        .number(row)
                        .map(|number| message(of, *lane, row, number));
                    summary.messages.extend(message);
                }
            }
        }
        summary
    }

    /// Returns the longest long gap of each execution that ended in the step, and remembers those of executions that
    /// are still open.
    fn long_gaps(&mut self, of: &JudgedStep<'_>, lane: JudgedLane<'_>) -> BTreeMap<ExecIdx, Gap> {
        let executions = lane.stack.executions();
        let open = &mut self.lanes.entry(lane.thread).or_default().open;
        let mut stalls: BTreeMap<ExecIdx, Gap> = BTreeMap::new();
        let mut take = |exec: ExecIdx, gap: Gap| {
            let known = stalls.entry(exec).or_insert(gap);
            *known = longer(*known, gap);
        };
        for (label, gap) in std::mem::take(open) {
            let steps = &executions.step;
            let first = steps.partition_point(|&step| step < label.step);
            let end = steps.partition_point(|&step| step <= label.step);
            // Of earlier steps, only the open executions and a few more are kept.
            if let Some(row) = (first..end).find(|&row| executions.row[row] == label.row) {
                take(ExecIdx::from_index(row), gap);
            }
        }
        let long = self.gaps.of(lane.thread).map_or(&[][..], |it| &it.long);
        for &(from, to) in long {
            let last = executions.entry.partition_point(|&entry| entry <= from);
            let innermost = last.checked_sub(1).map(ExecIdx::from_index);
            let mut stack = std::iter::successors(innermost, |&exec| executions.parent(exec));
            let is_on_top =
                |&exec: &ExecIdx| executions.is_open(exec) || executions.exit(exec) > from;
            if let Some(exec) = stack.find(is_on_top) {
                take(exec, (from, to));
            }
        }
        stalls.retain(|&exec, gap| {
            if executions.is_open(exec) {
                open.insert(lane.label(of.rank, exec), *gap);
                return false;
            }
            executions.closed[exec.index()]
        });
        stalls
    }

    /// Returns the longest gap while an execution, which has ended, was on top of the stack. If it was entered before
    /// the step and called others, only the gaps since the step before are known.
    fn longest_gap(&self, lane: JudgedLane<'_>, exec: ExecIdx, step: StepId) -> Gap {
        let executions = lane.stack.executions();
        let (entry, exit) = (executions.entry[exec.index()], executions.exit(exec));
        let row = exec.index();
        if executions.exclusive[row] == executions.inclusive[row] {
            return (entry, exit);
        }
        let mut last = entry;
        if executions.step[row] < step {
            let before = self.gaps.of(lane.thread).and_then(|it| it.last_before);
            last = last.max(before.unwrap_or(entry));
        }
        let mut longest = (last, last);
        let end = executions.subtree_end[row].index();
        let mut child = row + 1;
        while child < end {
            longest = longer(longest, (last, executions.entry[child]));
            last = last.max(executions.exit(ExecIdx::from_index(child)));
            child = executions.subtree_end[child].index().max(child + 1);
        }
        longer(longest, (last, exit))
    }

    /// Returns the rows of the messages around the stalls of a lane, and of those that earlier steps still wanted.
    fn rows_to_report(
        &mut self,
        lane: JudgedLane<'_>,
        gaps: &[Gap],
    ) -> impl Iterator<Item = usize> + use<> {
        let state = self.lanes.entry(lane.thread).or_default();
        let times = &lane.stack.comms().time;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut wanted: Option<(TimeNs, usize)> = None;
        let mut report = |range: Range<usize>, since: TimeNs| {
            let num_missing = range.end.saturating_sub(times.len());
            let last = times.last().copied().unwrap_or(since);
            ranges.push(range.start..range.end.min(times.len()));
            if num_missing > 0 && wanted.is_none_or(|(_, most)| most < num_missing) {
                wanted = Some((last.max(since), num_missing));
            }
        };
        if let Some((since, num_wanted)) = state.wanted {
            let from = times.partition_point(|&time| time <= since);
            report(from..from + num_wanted, since);
        }
        for &(from, to) in gaps {
            let first = times.partition_point(|&time| time < from);
            let end = times.partition_point(|&time| time < to);
            let before = first.saturating_sub(MESSAGES_BEFORE);
            report(before..end + MESSAGES_SINCE, to);
        }
        state.wanted = wanted;
        ranges.sort_unstable_by_key(|rows| rows.start);
        let mut next = 0;
        ranges.into_iter().flat_map(move |rows| {
            // Ranges can overlap; each row is reported once.
            let each_once = rows.start.max(next)..rows.end;
            next = next.max(rows.end);
            each_once
        })
    }
}

/// Returns the longer of two gaps, and the first of two that are equally long.
fn longer(one: Gap, other: Gap) -> Gap {
    if other.1.since(other.0) > one.1.since(one.0) {
        other
    } else {
        one
    }
}

fn stall(of: &JudgedStep<'_>, lane: JudgedLane<'_>, exec: ExecIdx, (from, to): Gap) -> StallEntry {
    let func = lane.stack.executions().func[exec.index()];
    let fid = of.functions.get(func.index()).map_or(0, |it| it.fid);
    let (entry_us, exit_us) = lane.times_us(exec);
    StallEntry {
        label: lane.label(of.rank, exec),
        fid: FuncId(fid),
        thread: lane.thread,
        from_us: epoch_us(from),
        to_us: epoch_us(to),
        is_anomaly: lane.is_anomaly(exec),
        entry_us,
        exit_us,
    }
}

fn message(of: &JudgedStep<'_>, lane: JudgedLane<'_>, row: usize, number: u64) -> MessageEntry {
    let comms = lane.stack.comms();
    let time_us = epoch_us(comms.time[row]);
    let call: Option<ExecIdx> = comms.exec[row].map(ExecIdx::from);
    MessageEntry {
        kind: comms.kind[row],
        partner: comms.partner[row],
        tag: comms.tag[row],
        number,
        time_us,
        call: call.map(|exec| lane.label(of.rank, exec)),
        called_us: call.map_or(time_us, |exec| lane.times_us(exec).0),
        thread: lane.thread,
    }
}
