//! The events of a run in the columns of Pipit, so that analyses made for it go on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray, UInt32Array};
use arrow_schema::{ArrowError, DataType, Field};
use callgrove_model::{ExecIdx, Executions, FuncId, Trace};

use super::reader::{
    LaneFilter, ROWS_PER_BATCH, RunRows, column, function_names, place_of, text_column, texts_at,
};

/// Pipit's types of events.
const TYPES: [&str; 2] = ["Enter", "Leave"];

/// The enters and leaves of all lanes, in order of time.
pub(crate) struct Events {
    trace: Arc<Trace>,
    names: ArrayRef,
    types: ArrayRef,
    /// Shape `[n_lanes]`.
    cursors: Vec<LaneCursor>,
    /// The next event of each lane that has one: its time and the lane.
    next: BinaryHeap<Reverse<(i64, usize)>>,
}

/// The place in a lane's events.
#[derive(Clone, Debug, Default)]
struct LaneCursor {
    /// The next call to enter.
    row: usize,
    /// The calls that are entered.
    stack: Vec<ExecIdx>,
}

impl LaneCursor {
    /// Returns the time of the next event, and the call that it leaves; `None` for that which it enters. A call whose
    /// exit was not recorded has no leave.
    fn peek(&mut self, calls: &Executions) -> Option<(i64, Option<ExecIdx>)> {
        while let Some(&top) = self.stack.last() {
            if self.row < calls.subtree(top).end {
                break;
            }
            if calls.closed[top.index()] {
                return Some((calls.exit(top).0, Some(top)));
            }
            self.stack.pop();
        }
        let entry = calls.entry.get(self.row)?;
        Some((entry.0, None))
    }

    /// Takes the next event: its type and its function.
    fn take(&mut self, calls: &Executions) -> Option<(i32, FuncId)> {
        let (_, left) = self.peek(calls)?;
        if let Some(left) = left {
            self.stack.pop();
            return Some((1, calls.func[left.index()]));
        }
        let row = self.row;
        self.stack.push(ExecIdx::from_index(row));
        self.row += 1;
        Some((0, calls.func[row]))
    }
}

impl Events {
    /// Returns the events of a run.
    pub(crate) fn new(trace: Arc<Trace>, filter: LaneFilter) -> Self {
        let mut cursors = vec![LaneCursor::default(); trace.lanes.len()];
        let lanes = trace.lanes.iter().zip(&mut cursors).enumerate();
        let lanes = lanes.filter(|(_, (lane, _))| filter.takes(lane));
        let next = lanes.filter_map(|(at, (lane, cursor))| {
            let (time, _) = cursor.peek(&lane.executions)?;
            Some(Reverse((time, at)))
        });
        let next = next.collect();
        Self {
            names: function_names(&trace),
            types: Arc::new(StringArray::from_iter_values(TYPES)),
            trace,
            cursors,
            next,
        }
    }

    /// Returns the number of events.
    pub(crate) fn count(trace: &Trace, filter: LaneFilter) -> usize {
        let lanes = trace.lanes.iter().filter(|lane| filter.takes(lane));
        let counts = lanes.map(|lane| {
            let calls = &lane.executions;
            calls.len() + calls.closed.iter().filter(|it| **it).count()
        });
        counts.sum()
    }
}

impl RunRows for Events {
    fn schema() -> (&'static str, Vec<Field>) {
        let fields = vec![
            column("Timestamp (ns)", DataType::Int64),
            text_column("Event Type"),
            text_column("Name"),
            column("Thread", DataType::UInt32),
            column("Process", DataType::UInt32),
            column("Program", DataType::UInt32),
        ];
        ("events", fields)
    }

    fn next_columns(&mut self) -> Option<Result<Vec<ArrayRef>, ArrowError>> {
        let (mut times, mut types, mut names) = (Vec::new(), Vec::new(), Vec::new());
        let (mut threads, mut processes, mut programs) = (Vec::new(), Vec::new(), Vec::new());
        while times.len() < ROWS_PER_BATCH
            && let Some(Reverse((time, at))) = self.next.pop()
        {
            let (lane, cursor) = (&self.trace.lanes[at], &mut self.cursors[at]);
            let (kind, func) = cursor.take(&lane.executions)?;
            times.push(time);
            types.push(kind);
            names.push(place_of(func));
            threads.push(lane.thread.0);
            processes.push(lane.rank.0);
            programs.push(lane.program.0);
            if let Some((time, _)) = cursor.peek(&lane.executions) {
                self.next.push(Reverse((time, at)));
            }
        }
        if times.is_empty() {
            return None;
        }
        let columns = || {
            Ok(vec![
                Arc::new(Int64Array::from(times)) as ArrayRef,
                texts_at(types, &self.types)?,
                texts_at(names, &self.names)?,
                Arc::new(UInt32Array::from(threads)),
                Arc::new(UInt32Array::from(processes)),
                Arc::new(UInt32Array::from(programs)),
            ])
        };
        Some(columns())
    }
}
