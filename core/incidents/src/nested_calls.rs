//! The known calls of one lane, nested by their times.

use std::cmp::Reverse;

use callgrove_model::{DurationNs, ExecIdx, ExecLabel, Executions, FuncId, StepId, TimeNs};

use crate::stall_summary::StallEntry;

/// Time by which the enclosing program call begins before its first known call, and ends after its last one.
const PROGRAM_MARGIN: DurationNs = DurationNs(1);

/// A stall, and the step in which it was reported.
#[derive(Clone, Copy)]
pub(crate) struct ReportedStall<'a> {
    pub(crate) step: StepId,
    pub(crate) entry: &'a StallEntry,
}

/// A call of a lane.
pub(crate) struct KnownCall<'a> {
    pub(crate) start: TimeNs,
    pub(crate) end: TimeNs,
    pub(crate) func: FuncId,
    pub(crate) can_wait: bool,
    pub(crate) label: Option<ExecLabel>,
    pub(crate) stall: Option<ReportedStall<'a>>,
}

/// The calls of one lane as executions.
#[derive(Default)]
pub(crate) struct NestedCalls<'a> {
    pub(crate) executions: Executions,
    /// By execution.
    pub(crate) stalls: Vec<Option<ReportedStall<'a>>>,
    /// True if the execution, or a library call within it, stalled; by execution.
    pub(crate) is_stalled: Vec<bool>,
}

impl<'a> NestedCalls<'a> {
    /// Nests calls given in any order; a call that begins in another one is cut off at its end. With `around`, one call
    /// of that function encloses all of them.
    pub(crate) fn new(mut spans: Vec<KnownCall<'a>>, around: Option<FuncId>) -> Self {
        // A call of length zero ended before the calls that begin at the same time.
        spans.sort_unstable_by_key(|it| (it.start, it.start < it.end, Reverse(it.end), it.label));
        let mut found = Self::default();
        let mut open: Vec<(usize, TimeNs)> = Vec::new();
        let first = spans.iter().map(|it| it.start).min();
        let last = spans.iter().map(|it| it.end).max();
        if let (Some(func), Some(first), Some(last)) = (around, first, last) {
            let (start, end) = (first + DurationNs(-PROGRAM_MARGIN.0), last + PROGRAM_MARGIN);
            found.begin(&[], func, (start, end), None, None);
            open.push((0, end));
        }
        let mut can_wait = vec![false; found.stalls.len()];
        for span in spans {
            while let Some((row, _)) = open.pop_if(|(_, end)| *end <= span.start) {
                found.end(row);
            }
            let most = open.last().map_or(span.end, |it| it.1);
            let end = span.end.min(most);
            let time = (span.start, end);
            let row = found.begin(&open, span.func, time, span.label, span.stall);
            can_wait.push(span.can_wait);
            open.push((row, end));
        }
        for (row, _) in open {
            found.end(row);
        }
        for row in (0..found.is_stalled.len()).rev() {
            let caller = found.executions.parent(ExecIdx::from_index(row));
            let caller = caller.map(ExecIdx::index).filter(|it| can_wait[*it]);
            if let Some(caller) = caller.filter(|_| found.is_stalled[row]) {
                found.is_stalled[caller] = true;
            }
        }
        found
    }

    fn begin(
        &mut self,
        open: &[(usize, TimeNs)],
        func: FuncId,
        (start, end): (TimeNs, TimeNs),
        label: Option<ExecLabel>,
        stall: Option<ReportedStall<'a>>,
    ) -> usize {
        let caller = open.last().map(|it| it.0);
        let length = end.since(start);
        let executions = &mut self.executions;
        if let Some(caller) = caller {
            executions.exclusive[caller] = executions.exclusive[caller] - length;
        }
        let row = executions.len();
        executions.func.push(func);
        executions.entry.push(start);
        executions.inclusive.push(length);
        executions.exclusive.push(length);
        let caller = caller.map(|caller| ExecIdx::from_index(caller).into());
        executions.parent.push(caller);
        executions.subtree_end.push(ExecIdx::from_index(row + 1));
        let depth = u16::try_from(open.len()).unwrap_or(u16::MAX);
        executions.depth.push(depth);
        executions
            .step
            .push(label.map(|it| it.step).unwrap_or_default());
        executions
            .row
            .push(label.map(|it| it.row).unwrap_or_default());
        executions.closed.push(true);
        self.stalls.push(stall);
        self.is_stalled.push(stall.is_some());
        row
    }

    fn end(&mut self, row: usize) {
        self.executions.subtree_end[row] = ExecIdx::from_index(self.executions.len());
    }
}
