//! The rows of result tables as one batch of columns in Arrow's memory layout.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use callgrove_export::{
    ColumnType, ResultTable, TableCell, TableColumn, record_cells, table_metadata,
};
use pyo3::PyResult;

use crate::errors::{exception, table_error};

/// Returns the rows of a table. The schema has the metadata that Parquet files have: the name of the table, its version,
/// and the units of columns; those are also in the metadata of each column.
///
/// # Errors
/// A row does not fit the columns of its table.
pub(crate) fn batch_of<T: ResultTable>(
    table: &T,
    rows: impl IntoIterator<Item = T::Row>,
) -> PyResult<RecordBatch> {
    let columns = table.columns();
    let mut cells: Vec<Vec<TableCell>> = columns.iter().map(|_| Vec::new()).collect();
    for row in rows {
        let row = record_cells(table, &row).map_err(exception)?;
        for (column, cell) in cells.iter_mut().zip(row) {
            column.push(cell);
        }
    }
    let arrays = columns.iter().zip(cells);
    let arrays = arrays.map(|(column, cells)| array(column.kind(), cells));
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let metadata: HashMap<String, String> = table_metadata(table).into_iter().collect();
    let schema = Schema::new(fields).with_metadata(metadata);
    RecordBatch::try_new(Arc::new(schema), arrays.collect()).map_err(table_error)
}

fn field(column: &TableColumn) -> Field {
    let kind = match column.kind() {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Int => DataType::Int64,
        ColumnType::UInt => DataType::UInt64,
        ColumnType::Float => DataType::Float64,
        ColumnType::Text => DataType::Utf8,
    };
    let field = Field::new(column.name(), kind, column.is_optional());
    with_unit(field, column.unit())
}

/// Returns a field with the unit of its values, if they have one.
pub(crate) fn with_unit(field: Field, unit: Option<&str>) -> Field {
    match unit {
        Some(unit) => field.with_metadata([("unit".to_owned(), unit.to_owned())].into()),
        None => field,
    }
}

/// Returns a column. Values that do not fit its type are missing, which a column that needs values refuses.
fn array(kind: ColumnType, cells: Vec<TableCell>) -> ArrayRef {
    let cells = cells.into_iter();
    match kind {
        ColumnType::Bool => Arc::new(
            cells
                .map(|cell| match cell {
                    TableCell::Bool(value) => Some(value),
                    _ => None,
                })
                .collect::<BooleanArray>(),
        ),
        ColumnType::Int => Arc::new(
            cells
                .map(|cell| match cell {
                    TableCell::Int(value) => Some(value),
                    _ => None,
                })
                .collect::<Int64Array>(),
        ),
        ColumnType::UInt => Arc::new(
            cells
                .map(|cell| match cell {
                    TableCell::UInt(value) => Some(value),
                    TableCell::Int(value) => u64::try_from(value).ok(),
                    _ => None,
                })
                .collect::<UInt64Array>(),
        ),
        ColumnType::Float => Arc::new(
            cells
                .map(|cell| match cell {
                    TableCell::Float(value) => Some(value),
                    TableCell::Int(value) => Some(value as f64),
                    _ => None,
                })
                .collect::<Float64Array>(),
        ),
        ColumnType::Text => Arc::new(
            cells
                .map(|cell| match cell {
                    TableCell::Null => None,
                    TableCell::Text(text) => Some(text),
                    other => Some(other.to_string()),
                })
                .collect::<StringArray>(),
        ),
    }
}
