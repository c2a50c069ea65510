//! The calls of a run.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, UInt16Array, UInt32Array};
use arrow_schema::{ArrowError, DataType, Field};
use callgrove_model::{ExecIdx, FuncId, Trace};

use super::reader::{
    LaneFilter, ROWS_PER_BATCH, RunRows, column, function_names, place_of, text_column, texts_at,
};

/// The calls of a run, lane by lane, in order of entry.
pub(crate) struct CallRows {
    trace: Arc<Trace>,
    names: ArrayRef,
    filter: LaneFilter,
    /// The wanted functions, sorted; `None` for all.
    functions: Option<Vec<FuncId>>,
    lane: usize,
    row: usize,
}

/// The columns of one batch.
#[derive(Default)]
struct CallColumns {
    program: Vec<u32>,
    rank: Vec<u32>,
    thread: Vec<u32>,
    function: Vec<i32>,
    entry: Vec<i64>,
    exit: Vec<i64>,
    duration_ns: Vec<i64>,
    exclusive: Vec<i64>,
    depth: Vec<u16>,
    step: Vec<u32>,
    row: Vec<u32>,
    closed: Vec<bool>,
}

impl CallRows {
    /// Returns the calls of a run. `functions` are sorted.
    pub(crate) fn new(
        trace: Arc<Trace>,
        filter: LaneFilter,
        functions: Option<Vec<FuncId>>,
    ) -> Self {
        Self {
            names: function_names(&trace),
            trace,
            filter,
            functions,
            lane: 0,
            row: 0,
        }
    }

    /// Returns the number of rows.
    pub(crate) fn count(trace: &Trace, filter: LaneFilter, functions: Option<&[FuncId]>) -> usize {
        let lanes = trace.lanes.iter().filter(|lane| filter.takes(lane));
        let counts = lanes.map(|lane| match functions {
            None => lane.executions.len(),
            Some(wanted) => {
                let called = lane.executions.func.iter();
                called.filter(|it| wanted.binary_search(it).is_ok()).count()
            }
        });
        counts.sum()
    }

    /// Adds rows of the current lane until the batch is full.
    fn add_rows(&mut self, to: &mut CallColumns) {
        let Some(lane) = self.trace.lanes.get(self.lane) else {
            return;
        };
        let calls = &lane.executions;
        if !self.filter.takes(lane) {
            self.row = calls.len();
        }
        while self.row < calls.len() && to.entry.len() < ROWS_PER_BATCH {
            let row = self.row;
            self.row += 1;
            let func = calls.func[row];
            let is_wanted =
                (self.functions.as_ref()).is_none_or(|it| it.binary_search(&func).is_ok());
            if !is_wanted {
                continue;
            }
            to.program.push(lane.program.0);
            to.rank.push(lane.rank.0);
            to.thread.push(lane.thread.0);
            to.function.push(place_of(func));
            to.entry.push(calls.entry[row].0);
            to.exit.push(calls.exit(ExecIdx::from_index(row)).0);
            to.duration_ns.push(calls.inclusive[row].0);
            to.exclusive.push(calls.exclusive[row].0);
            to.depth.push(calls.depth[row]);
            to.step.push(calls.step[row].0);
            to.row.push(calls.row[row]);
            to.closed.push(calls.closed[row]);
        }
        if self.row >= calls.len() {
            self.lane += 1;
            self.row = 0;
        }
    }
}

impl RunRows for CallRows {
    fn schema() -> (&'static str, Vec<Field>) {
        let fields = vec![
            column("program", DataType::UInt32),
            column("rank", DataType::UInt32),
            column("thread", DataType::UInt32),
            text_column("function"),
            column("entry_ns", DataType::Int64),
            column("exit_ns", DataType::Int64),
            column("duration_ns", DataType::Int64),
            column("exclusive_ns", DataType::Int64),
            column("depth", DataType::UInt16),
            column("step", DataType::UInt32),
            column("row", DataType::UInt32),
            column("closed", DataType::Boolean),
        ];
        ("calls", fields)
    }

    fn next_columns(&mut self) -> Option<Result<Vec<ArrayRef>, ArrowError>> {
        let mut to = CallColumns::default();
        while self.lane < self.trace.lanes.len() && to.entry.len() < ROWS_PER_BATCH {
            self.add_rows(&mut to);
        }
        if to.entry.is_empty() {
            return None;
        }
        let function = texts_at(to.function, &self.names);
        Some(function.map(|function| {
            vec![
                Arc::new(UInt32Array::from(to.program)) as ArrayRef,
                Arc::new(UInt32Array::from(to.rank)),
                Arc::new(UInt32Array::from(to.thread)),
                function,
                Arc::new(Int64Array::from(to.entry)),
                Arc::new(Int64Array::from(to.exit)),
                Arc::new(Int64Array::from(to.duration_ns)),
                Arc::new(Int64Array::from(to.exclusive)),
                Arc::new(UInt16Array::from(to.depth)),
                Arc::new(UInt32Array::from(to.step)),
                Arc::new(UInt32Array::from(to.row)),
                Arc::new(BooleanArray::from(to.closed)),
            ]
        }))
    }
}
