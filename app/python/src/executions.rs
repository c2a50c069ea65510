//! The table of a function's executions.

use arrow_array::RecordBatch;
use callgrove_export::{TableCell, TableColumn, UntypedTable};
use callgrove_model::{Forest, TreeIdx};
use callgrove_tables::execution_columns;
use pyo3::PyResult;

use crate::batch::batch_of;

/// Returns the executions of a forest, in its order.
pub(crate) fn executions(forest: &Forest) -> PyResult<RecordBatch> {
    let mut columns = execution_columns();
    columns.extend(["entry_ns", "exit_ns", "duration_ns", "num_calls"].map(TableColumn::int));
    let rows = (0..forest.len()).map(TreeIdx::from_index).map(|tree| {
        let (code, lane, cstree) = (forest.code(tree), forest.lane_of(tree), forest.tree(tree));
        let cells = vec![
            TableCell::Text(code.to_string()),
            TableCell::Text(forest.label(tree).to_string()),
            TableCell::Int(lane.program.0.into()),
            TableCell::Int(code.rank.0.into()),
            TableCell::Int(lane.thread.0.into()),
            TableCell::Int(code.index.into()),
            TableCell::Int(cstree.entry().first().map_or(0, |it| it.0)),
            TableCell::Int(cstree.exit().0),
            TableCell::Int(cstree.duration().0),
            TableCell::Int(i64::try_from(cstree.len()).unwrap_or(i64::MAX)),
        ];
        ((), cells)
    });
    batch_of(&UntypedTable::new("executions", &columns), rows)
}
