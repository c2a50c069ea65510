//! Common parts of the tables of calls, messages and events.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchReader, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use callgrove_model::{FuncId, Lane, ProgramId, RankId, Trace};

use crate::batch::with_unit;

/// Number of rows of a batch. Memory is bounded by this, whatever the number of rows.
pub(crate) const ROWS_PER_BATCH: usize = 1 << 16;

/// The lanes whose rows are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LaneFilter {
    pub(crate) program: Option<u32>,
    pub(crate) rank: Option<u32>,
}

/// Makes the rows of one table, batch by batch.
pub(crate) trait RunRows: Send + 'static {
    /// Returns the table's name and its fields.
    fn schema() -> (&'static str, Vec<Field>);

    /// Returns the columns of the next rows; `None` after the last. Shape of each `[n_rows]`, at most
    /// [`ROWS_PER_BATCH`].
    fn next_columns(&mut self) -> Option<Result<Vec<ArrayRef>, ArrowError>>;
}

/// Reads the batches of a table.
struct RowReader<R> {
    schema: SchemaRef,
    rows: R,
}

/// Returns the reader of a table.
pub(crate) fn reader<R: RunRows>(rows: R) -> Box<dyn RecordBatchReader + Send> {
    let (name, fields) = R::schema();
    let metadata: HashMap<String, String> = [
        ("callgrove.table".to_owned(), name.to_owned()),
        ("callgrove.schema_version".to_owned(), "1".to_owned()),
        (
            "callgrove.version".to_owned(),
            env!("CARGO_PKG_VERSION").to_owned(),
        ),
    ]
    .into();
    let schema = Arc::new(Schema::new(fields).with_metadata(metadata));
    Box::new(RowReader { schema, rows })
}

impl<R: RunRows> Iterator for RowReader<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let columns = self.rows.next_columns()?;
        Some(columns.and_then(|it| RecordBatch::try_new(Arc::clone(&self.schema), it)))
    }
}

impl<R: RunRows> RecordBatchReader for RowReader<R> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl LaneFilter {
    /// Returns whether the rows of a lane are wanted.
    pub(crate) fn takes(self, lane: &Lane) -> bool {
        self.program.is_none_or(|it| lane.program == ProgramId(it))
            && self.rank.is_none_or(|it| lane.rank == RankId(it))
    }
}

/// Returns a column that always has values, with the unit that its name states.
pub(crate) fn column(name: &str, kind: DataType) -> Field {
    let unit = if name.ends_with("_ns") || name.ends_with("(ns)") {
        Some("ns")
    } else if name.ends_with("_bytes") {
        Some("bytes")
    } else {
        None
    };
    with_unit(Field::new(name, kind, false), unit)
}

/// Returns a column of few different texts.
pub(crate) fn text_column(name: &str) -> Field {
    let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    Field::new(name, kind, false)
}

/// Returns the names of all functions, shape `[n_functions]`.
pub(crate) fn function_names(trace: &Trace) -> ArrayRef {
    let names = trace.names.iter().map(|(_, name)| name);
    Arc::new(StringArray::from_iter_values(names))
}

/// Returns a column of texts as their places in `texts`.
pub(crate) fn texts_at(places: Vec<i32>, texts: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let places = Int32Array::from(places);
    let column = DictionaryArray::<Int32Type>::try_new(places, Arc::clone(texts))?;
    Ok(Arc::new(column))
}

/// Returns the place of a function in [`function_names`].
pub(crate) fn place_of(func: FuncId) -> i32 {
    i32::try_from(func.index()).unwrap_or(i32::MAX)
}
