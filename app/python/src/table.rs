//! A table for Python's libraries of tables.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use callgrove_export::{TextTable, rounded};
use callgrove_model::{FuncId, Trace, thousands};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::errors::{exception, table_error};
use crate::rows::{CallRows, Events, LaneFilter, Messages, reader};

/// Number of rows that a table shows of itself.
const ROWS_SHOWN: usize = 10;

/// The rows of a table.
pub(crate) enum TableRows {
    /// All of them.
    Batch(RecordBatch),
    /// The calls on some lanes, of some functions (sorted) or of all.
    Calls(Arc<Trace>, LaneFilter, Option<Vec<FuncId>>),
    /// The messages of a run.
    Messages(Arc<Trace>),
    /// The events on some lanes.
    Events(Arc<Trace>, LaneFilter),
}

/// A table of results or of a run's contents.
///
/// `pandas`, `polars`, `duckdb` and `pyarrow` take it as it is: `polars.DataFrame(ranked)`, `pyarrow.table(ranked)`,
/// `duckdb.sql("from ranked")`. `to_pandas()` and its like are shortcuts. Tables of calls, messages and events are made
/// while they are read, in batches of at most 65,536 rows.
#[pyclass(frozen, name = "Table", module = "callgrove")]
pub(crate) struct PyTable(pub(crate) TableRows);

impl PyTable {
    /// Returns a new reader of all rows.
    fn reader(&self) -> Box<dyn RecordBatchReader + Send> {
        match &self.0 {
            TableRows::Batch(batch) => {
                let schema = batch.schema();
                let batches = [Ok::<_, ArrowError>(batch.clone())];
                Box::new(RecordBatchIterator::new(batches, schema))
            }
            TableRows::Calls(trace, filter, functions) => {
                reader(CallRows::new(Arc::clone(trace), *filter, functions.clone()))
            }
            TableRows::Messages(trace) => reader(Messages::new(Arc::clone(trace))),
            TableRows::Events(trace, filter) => reader(Events::new(Arc::clone(trace), *filter)),
        }
    }

    fn schema(&self) -> SchemaRef {
        self.reader().schema()
    }

    fn num_rows(&self) -> usize {
        match &self.0 {
            TableRows::Batch(batch) => batch.num_rows(),
            TableRows::Calls(trace, filter, functions) => {
                CallRows::count(trace, *filter, functions.as_deref())
            }
            TableRows::Messages(trace) => trace.messages.len(),
            TableRows::Events(trace, filter) => Events::count(trace, *filter),
        }
    }

    /// Returns the first rows as text, shape `[n_rows][n_columns]`.
    fn first_rows(&self) -> PyResult<Vec<Vec<String>>> {
        let Some(first) = self.reader().next() else {
            return Ok(Vec::new());
        };
        let batch = first.map_err(table_error)?;
        let rows = 0..batch.num_rows().min(ROWS_SHOWN);
        let row = |row| batch.columns().iter().map(|it| cell(it, row)).collect();
        Ok(rows.map(row).collect())
    }

    /// Returns the name and the number of rows and columns.
    fn summary(&self) -> String {
        let schema = self.schema();
        let name = schema.metadata().get("callgrove.table");
        format!(
            "{}: {} rows, {} columns",
            name.map_or("table", String::as_str),
            thousands(self.num_rows()),
            schema.fields().len()
        )
    }
}

#[pymethods]
impl PyTable {
    /// Returns the rows as a stream of Arrow's C interface, without a copy.
    ///
    /// A requested schema is ignored, as the interface allows: the columns keep their types.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = FFI_ArrowArrayStream::new(self.reader());
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The name of the table.
    #[getter]
    fn name(&self) -> Option<String> {
        self.schema().metadata().get("callgrove.table").cloned()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let schema = self.schema();
        schema.fields().iter().map(|it| it.name().clone()).collect()
    }

    /// The units of the columns that have one, by name.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let units = PyDict::new(py);
        for field in self.schema().fields() {
            if let Some(unit) = field.metadata().get("unit") {
                units.set_item(field.name(), unit)?;
            }
        }
        Ok(units)
    }

    /// Returns the table as a `pyarrow.Table`. Needs pyarrow.
    fn to_arrow(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// Returns the table as a `pandas.DataFrame`. Needs pandas and pyarrow.
    fn to_pandas(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        Self::to_arrow(slf)?.call_method0("to_pandas")
    }

    /// Returns the table as a `polars.DataFrame`. Needs polars.
    fn to_polars(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.num_rows())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let columns = self.columns();
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let mut table = TextTable::new(&columns);
            for row in self.first_rows()? {
                table.push(row);
            }
            let mut text = format!("{}\n", self.summary()).into_bytes();
            table.print(&mut text, 0).map_err(exception)?;
            Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
        })
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let line = |tag: &str, cells: &[String]| {
                let cells = cells
                    .iter()
                    .map(|it| format!("<{tag}>{}</{tag}>", escaped(it)));
                format!("<tr>{}</tr>", cells.collect::<String>())
            };
            let head = line("th", &self.columns());
            let rows = self.first_rows()?;
            let rows: String = rows.iter().map(|row| line("td", row)).collect();
            let summary = escaped(&self.summary());
            Ok(format!(
                "<table><caption>{summary}</caption>{head}{rows}</table>"
            ))
        })
    }
}

/// Returns a text of HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Returns a value as text.
fn cell(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt16 => column.as_primitive::<UInt16Type>().value(row).to_string(),
        DataType::Float64 => rounded(column.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::Dictionary(..) => {
            let texts = column.as_dictionary::<Int32Type>();
            texts
                .key(row)
                .map_or_else(String::new, |key| cell(texts.values(), key))
        }
        _ => String::new(),
    }
}
