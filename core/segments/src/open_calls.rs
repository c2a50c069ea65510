//! The calls that are open at the end of a trace: a job that was killed or that hangs does not leave them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use callgrove_model::{
    DurationNs, ExecIdx, Executions, FuncId, LaneIdx, ProgramId, RankId, TimeNs, Trace,
};

use super::call_kind::CallKind;

/// The innermost call that ranks are in at the end of the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenCall {
    /// The function.
    pub func: FuncId,
    /// The number of the call among those of the function on each of the ranks, from 1; `None` if a rank cannot wait
    /// in it.
    pub number: Option<usize>,
    /// The program.
    pub program: ProgramId,
    /// The ranks, ascending.
    pub ranks: Vec<RankId>,
    /// Time from the first entry to the last event of the trace.
    pub since: DurationNs,
}

/// A call: program, function, and number.
type Key = (ProgramId, FuncId, Option<usize>);

/// Returns the innermost call that each rank is in at the end of the trace, ranks in the same call together: those of
/// most ranks first. Of a rank with several threads, the first thread with an open call counts. Cost: linear in the
/// calls of the ranks that are in a call which can wait.
pub fn open_calls(trace: &Trace) -> Vec<OpenCall> {
    let Some((_, end)) = trace.time_span() else {
        return Vec::new();
    };
    let kinds = CallKind::of_trace(trace);
    let mut of_rank: BTreeMap<(ProgramId, RankId), (LaneIdx, ExecIdx)> = BTreeMap::new();
    for (index, lane) in trace.lanes() {
        if let Some(call) = innermost_open(&lane.executions) {
            let rank = (lane.program, lane.rank);
            of_rank.entry(rank).or_insert((index, call));
        }
    }
    let mut found: BTreeMap<Key, (Vec<RankId>, TimeNs)> = BTreeMap::new();
    for ((program, rank), (lane, call)) in of_rank {
        let executions = &trace.lane(lane).executions;
        let func = executions.func[call.index()];
        let number =
            (kinds[func.index()].can_wait()).then(|| num_calls(trace, (program, rank), func));
        let entry = executions.entry[call.index()];
        let (ranks, first) = found
            .entry((program, func, number))
            .or_insert((Vec::new(), entry));
        ranks.push(rank);
        *first = entry.min(*first);
    }
    let calls = found.into_iter();
    let mut calls: Vec<OpenCall> = calls
        .map(|((program, func, number), (ranks, first))| OpenCall {
            func,
            number,
            program,
            ranks,
            since: end.since(first),
        })
        .collect();
    calls.sort_by_key(|it| {
        (
            Reverse(it.ranks.len()),
            it.program,
            it.ranks.first().copied(),
        )
    });
    calls
}

/// Returns the number of calls of a function on a rank.
fn num_calls(trace: &Trace, rank: (ProgramId, RankId), func: FuncId) -> usize {
    let lanes = trace.lanes.iter();
    let of_rank = lanes.filter(|it| (it.program, it.rank) == rank);
    let funcs = of_rank.flat_map(|it| &it.executions.func);
    funcs.filter(|it| **it == func).count()
}

/// Returns the innermost call of a lane that is open at its end.
pub fn innermost_open(executions: &Executions) -> Option<ExecIdx> {
    let last = ExecIdx::from_index(executions.len().checked_sub(1)?);
    let stack = std::iter::successors(Some(last), |it| executions.parent(*it));
    // A call without an exit within one that has an exit is damage: the reader closed it there.
    let mut innermost = None;
    for it in stack {
        if executions.closed[it.index()] {
            innermost = None;
        } else {
            innermost = innermost.or(Some(it));
        }
    }
    innermost
}

/// Returns whether a call is open at the end of its lane.
pub fn is_open_at_end(executions: &Executions, call: ExecIdx) -> bool {
    let Some(innermost) = innermost_open(executions) else {
        return false;
    };
    // Of the calls around the innermost open one, all are open.
    executions.subtree(call).contains(&innermost.index())
}
