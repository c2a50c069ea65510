//! The executions of a lane, in columns.

use std::ops::Range;

use crate::columns::keep_rows;
use crate::id::{ExecIdx, FuncId, NonMaxIdx, StepId};
use crate::open_calls::EndedCall;
use crate::time::{DurationNs, TimeNs};

/// The executions of one lane in order of entry (pre-order), so that a call stack tree is one contiguous range: the
/// execution itself, then all calls inside it. All columns have the same length.
#[derive(Clone, Debug, Default)]
pub struct Executions {
    /// Function.
    pub func: Vec<FuncId>,
    /// Time of entry.
    pub entry: Vec<TimeNs>,
    /// Exit − entry.
    pub inclusive: Vec<DurationNs>,
    /// Inclusive time less the inclusive times of the children.
    pub exclusive: Vec<DurationNs>,
    /// Caller; `None` at the bottom of the stack.
    pub parent: Vec<Option<NonMaxIdx>>,
    /// One past the last execution called inside this one, directly or indirectly.
    pub subtree_end: Vec<ExecIdx>,
    /// Number of callers on the stack.
    pub depth: Vec<u16>,
    /// I/O step of the entry.
    pub step: Vec<StepId>,
    /// Row of the entry in that step.
    pub row: Vec<u32>,
    /// True if the exit was seen; otherwise the reader closed the execution.
    pub closed: Vec<bool>,
}

/// Mutable columns of [`Executions`].
pub(crate) struct RowsMut<'a> {
    func: &'a mut [FuncId],
    entry: &'a mut [TimeNs],
    inclusive: &'a mut [DurationNs],
    exclusive: &'a mut [DurationNs],
    parent: &'a mut [Option<NonMaxIdx>],
    subtree_end: &'a mut [ExecIdx],
    depth: &'a mut [u16],
    row: &'a mut [u32],
    closed: &'a mut [bool],
}

impl RowsMut<'_> {
    /// Fills in a new row with a call that begins.
    #[inline]
    pub(crate) fn begin(&mut self, exec: ExecIdx, call: BegunCall) {
        let row = exec.index();
        self.func[row] = call.func;
        self.entry[row] = call.entry;
        self.parent[row] = call.caller;
        self.subtree_end[row] = exec;
        self.depth[row] = call.depth;
        self.row[row] = call.row;
    }

    /// Ends the open call of a row. The rows after it up to `next` are calls inside it.
    #[inline]
    pub(crate) fn end(&mut self, call: &EndedCall<ExecIdx>, next: ExecIdx) {
        let row = call.value.index();
        self.inclusive[row] = call.inclusive;
        self.exclusive[row] = call.exclusive;
        self.subtree_end[row] = next;
        self.closed[row] = call.closed;
    }
}

/// The data of a call when it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BegunCall {
    pub(crate) func: FuncId,
    pub(crate) entry: TimeNs,
    pub(crate) caller: Option<NonMaxIdx>,
    pub(crate) depth: u16,
    /// Row of the entry in its step.
    pub(crate) row: u32,
}

impl Executions {
    /// Returns the memory of rows that were reserved and are not used.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.func.shrink_to_fit();
        self.entry.shrink_to_fit();
        self.inclusive.shrink_to_fit();
        self.exclusive.shrink_to_fit();
        self.parent.shrink_to_fit();
        self.subtree_end.shrink_to_fit();
        self.depth.shrink_to_fit();
        self.step.shrink_to_fit();
        self.row.shrink_to_fit();
        self.closed.shrink_to_fit();
    }

    /// Returns the number of executions.
    pub fn len(&self) -> usize {
        self.func.len()
    }

    /// Returns whether there are no executions.
    pub fn is_empty(&self) -> bool {
        self.func.is_empty()
    }

    /// Returns the time of exit.
    pub fn exit(&self, exec: ExecIdx) -> TimeNs {
        self.entry[exec.index()] + self.inclusive[exec.index()]
    }

    /// Returns the caller.
    pub fn parent(&self, exec: ExecIdx) -> Option<ExecIdx> {
        self.parent[exec.index()].map(ExecIdx::from)
    }

    /// Returns the rows of the call stack tree rooted at `exec`, the root first.
    pub fn subtree(&self, exec: ExecIdx) -> Range<usize> {
        exec.index()..self.subtree_end[exec.index()].index()
    }

    /// Returns whether the execution is neither left nor closed by the reader so far.
    pub fn is_open(&self, exec: ExecIdx) -> bool {
        self.subtree_end[exec.index()] == exec
    }

    /// Adds rows for calls that begin in `step`, each to be filled in by [`RowsMut::begin`].
    pub(crate) fn add_rows(&mut self, num_rows: usize, step: StepId) {
        let end = self.len() + num_rows;
        self.func.resize(end, FuncId(0));
        self.entry.resize(end, TimeNs(0));
        self.inclusive.resize(end, DurationNs::ZERO);
        self.exclusive.resize(end, DurationNs::ZERO);
        self.parent.resize(end, None);
        self.subtree_end.resize(end, ExecIdx(0));
        self.depth.resize(end, 0);
        self.step.resize(end, step);
        self.row.resize(end, 0);
        self.closed.resize(end, false);
    }

    /// Returns the columns that change as calls begin and end.
    #[inline]
    pub(crate) fn rows_mut(&mut self) -> RowsMut<'_> {
        // Slices of one known length, so that the compiler checks the bounds of a row only once.
        let num_rows = self.len();
        RowsMut {
            func: &mut self.func[..num_rows],
            entry: &mut self.entry[..num_rows],
            inclusive: &mut self.inclusive[..num_rows],
            exclusive: &mut self.exclusive[..num_rows],
            parent: &mut self.parent[..num_rows],
            subtree_end: &mut self.subtree_end[..num_rows],
            depth: &mut self.depth[..num_rows],
            row: &mut self.row[..num_rows],
            closed: &mut self.closed[..num_rows],
        }
    }

    /// Keeps only the rows `kept`, which ascend; `new_row` returns the new row of an old one.
    pub(crate) fn keep(&mut self, kept: &[ExecIdx], new_row: impl Fn(ExecIdx) -> Option<ExecIdx>) {
        for (new, &old) in kept.iter().enumerate() {
            let parent = &mut self.parent[old.index()];
            *parent = parent
                .and_then(|caller| new_row(caller.into()))
                .map(NonMaxIdx::from);
            let end = self.subtree_end[old.index()];
            self.subtree_end[old.index()] = if end == old {
                ExecIdx::from_index(new)
            } else {
                ExecIdx::from_index(kept.partition_point(|&row| row < end))
            };
        }
        keep_rows(&mut self.func, kept);
        keep_rows(&mut self.entry, kept);
        keep_rows(&mut self.inclusive, kept);
        keep_rows(&mut self.exclusive, kept);
        keep_rows(&mut self.parent, kept);
        keep_rows(&mut self.subtree_end, kept);
        keep_rows(&mut self.depth, kept);
        keep_rows(&mut self.step, kept);
        keep_rows(&mut self.row, kept);
        keep_rows(&mut self.closed, kept);
    }

    /// Returns the rows `kept`, which ascend, without any other calls; the time of the others counts as exclusive time.
    pub(crate) fn only_rows(&self, kept: &[ExecIdx]) -> Self {
        let mut selected = Self::default();
        let mut open: Vec<(usize, ExecIdx)> = Vec::new();
        for (new, &old) in kept.iter().enumerate() {
            while let Some((left, _)) = open.pop_if(|(_, end)| *end <= old) {
                selected.subtree_end[left] = ExecIdx::from_index(new);
            }
            let row = old.index();
            let caller = open.last().map(|(caller, _)| *caller);
            if let Some(caller) = caller {
                let rest = selected.exclusive[caller]
                    .0
                    .wrapping_sub(self.inclusive[row].0);
                selected.exclusive[caller] = DurationNs(rest);
            }
            selected.func.push(self.func[row]);
            selected.entry.push(self.entry[row]);
            selected.inclusive.push(self.inclusive[row]);
            selected.exclusive.push(self.inclusive[row]);
            let caller = caller.map(|caller| ExecIdx::from_index(caller).into());
            selected.parent.push(caller);
            selected.subtree_end.push(ExecIdx::from_index(kept.len()));
            selected
                .depth
                .push(u16::try_from(open.len()).unwrap_or(u16::MAX));
            selected.step.push(self.step[row]);
            selected.row.push(self.row[row]);
            selected.closed.push(self.closed[row]);
            open.push((new, self.subtree_end[row]));
        }
        selected
    }

    /// Appends whole trees of another lane. `rows` are those of one execution with all calls inside it, or of several
    /// consecutive ones. Their callers are not copied.
    pub fn extend_with_trees(&mut self, from: &Self, rows: Range<usize>) {
        let (first, start) = (rows.start, self.len());
        let moved = |exec: ExecIdx| ExecIdx::from_index(exec.index() - first + start);
        let caller = |&caller: &Option<NonMaxIdx>| {
            let caller = caller.map(ExecIdx::from)?;
            (caller.index() >= first).then(|| moved(caller).into())
        };
        self.func.extend_from_slice(&from.func[rows.clone()]);
        self.entry.extend_from_slice(&from.entry[rows.clone()]);
        self.inclusive
            .extend_from_slice(&from.inclusive[rows.clone()]);
        self.exclusive
            .extend_from_slice(&from.exclusive[rows.clone()]);
        self.parent
            .extend(from.parent[rows.clone()].iter().map(caller));
        let ends = from.subtree_end[rows.clone()].iter();
        self.subtree_end.extend(ends.map(|&end| moved(end)));
        self.depth.extend_from_slice(&from.depth[rows.clone()]);
        self.step.extend_from_slice(&from.step[rows.clone()]);
        self.row.extend_from_slice(&from.row[rows.clone()]);
        self.closed.extend_from_slice(&from.closed[rows]);
    }

    /// Returns the first execution entered at or after `time`, or the length if all are earlier.
    pub fn first_entered_from(&self, time: TimeNs) -> usize {
        self.entry.partition_point(|&entry| entry < time)
    }
}
