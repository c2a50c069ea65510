//! Parquet files, whose columns have the types of the table's columns.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Result, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::cell::TableCell;
use crate::column::{ColumnType, TableColumn};
use crate::metadata::table_metadata;
use crate::record::cells_of;
use crate::sink::{RowSink, record_error};
use crate::table::ResultTable;

/// Maximum number of rows of a row group.
const ROWS_PER_GROUP: usize = 1 << 16;

/// Size of the values of a row group, in bytes, at which it is written.
const BYTES_PER_GROUP: usize = 16 << 20;

/// Version of the program that writes the file.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A Parquet file. Rows are kept until they fill a row group, so memory does not grow with their number.
///
/// The key-value metadata of the file has the table's name (`callgrove.table`), the version of its columns
/// (`callgrove.schema_version`), the program's version (`callgrove.version`) and the units of columns
/// (`callgrove.unit.COLUMN`).
pub struct ParquetSink<'a, T, W: Write + Send> {
    table: &'a T,
    columns: Vec<TableColumn>,
    writer: SerializedFileWriter<W>,
    /// The rows of the next row group, by column.
    values: Vec<ColumnValues>,
    num_rows: usize,
    num_bytes: usize,
    /// Number of rows in the previous row groups.
    num_written: usize,
}

/// The values of a column in one row group.
struct ColumnValues {
    values: TypedValues,
    /// 1 for each row with a value, 0 for the others, shape `[n_rows]`; empty if every row must have a value.
    definitions: Vec<i16>,
}

/// The values of the rows that have one.
enum TypedValues {
    Bool(Vec<bool>),
    /// Signed integers, and unsigned ones as their bits.
    Int(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl<'a, T: ResultTable, W: Write + Send> ParquetSink<'a, T, W> {
    /// Returns a sink without rows.
    ///
    /// # Errors
    /// Two columns have the same name; those of the output.
    pub fn new(table: &'a T, out: W) -> Result<Self> {
        let columns = table.columns();
        let mut names = BTreeSet::new();
        if let Some(twice) = columns.iter().find(|it| !names.insert(it.name())) {
            let text = format!(
                "two columns have the name {}, which Parquet does not allow: give one of them another name",
                twice.name()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let schema = schema(table.name(), &columns).map_err(output_error)?;
        let metadata = table_metadata(table).into_iter();
        let metadata = metadata
            .map(|(key, value)| KeyValue::new(key, value))
            .collect();
        let properties = WriterProperties::builder()
            .set_created_by(format!("callgrove version {VERSION}"))
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(metadata))
            .build();
        let writer =
            SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(output_error)?;
        Ok(Self {
            table,
            values: columns.iter().map(ColumnValues::new).collect(),
            columns,
            writer,
            num_rows: 0,
            num_bytes: 0,
            num_written: 0,
        })
    }

    /// Writes the collected rows as a row group.
    fn write_group(&mut self) -> Result<()> {
        write_group(&mut self.writer, &mut self.values).map_err(output_error)?;
        self.num_written += self.num_rows;
        self.num_rows = 0;
        self.num_bytes = 0;
        Ok(())
    }

    fn row_error(&self, cause: &dyn std::error::Error) -> Error {
        let row = self.num_written + self.num_rows + 1;
        record_error(&format!("{}, row {row},", self.table.name()), cause)
    }
}

impl<T: ResultTable, W: Write + Send> RowSink<T> for ParquetSink<'_, T, W> {
    fn write(&mut self, row: &T::Row) -> Result<()> {
        let record = self.table.record(row);
        let cells = cells_of(&record, &self.columns).map_err(|cause| self.row_error(&cause))?;
        let added = add_row(cells, &self.columns, &mut self.values);
        self.num_bytes += added.map_err(|cause| self.row_error(&cause))?;
        self.num_rows += 1;
        if self.num_rows >= ROWS_PER_GROUP || self.num_bytes >= BYTES_PER_GROUP {
            self.write_group()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.num_rows > 0 {
            self.write_group()?;
        }
        self.writer.close().map_err(output_error)?;
        Ok(())
    }
}

/// Appends a row, and returns its size in bytes. A row that does not fit may be added in part: the error ends the file.
fn add_row(
    cells: Vec<TableCell>,
    columns: &[TableColumn],
    values: &mut [ColumnValues],
) -> std::result::Result<usize, UnfitValue> {
    let mut num_bytes = 0;
    for ((cell, column), values) in cells.into_iter().zip(columns).zip(values) {
        num_bytes += values.push(cell, column)?;
    }
    Ok(num_bytes)
}

/// Writes the values of all columns as a row group, and clears them.
fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: &mut [ColumnValues],
) -> std::result::Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for values in columns {
        let Some(mut column) = group.next_column()? else {
            return Err(ParquetError::General("a column is missing".to_owned()));
        };
        values.write(column.untyped())?;
        column.close()?;
        values.clear();
    }
    group.close()?;
    Ok(())
}

/// A value that does not fit the type of its column.
#[derive(Debug)]
struct UnfitValue {
    column: String,
    kind: ColumnType,
    value: String,
}

impl std::fmt::Display for UnfitValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (column, kind, value) = (&self.column, self.kind, &self.value);
        let value = if value.is_empty() { "nothing" } else { value };
        write!(
            f,
            "the column {column} is {kind}, and this row has {value}; --format csv and json take it"
        )
    }
}

impl std::error::Error for UnfitValue {}

impl ColumnValues {
    fn new(column: &TableColumn) -> Self {
        Self {
            values: match column.kind() {
                ColumnType::Bool => TypedValues::Bool(Vec::new()),
                ColumnType::Int | ColumnType::UInt => TypedValues::Int(Vec::new()),
                ColumnType::Float => TypedValues::Float(Vec::new()),
                ColumnType::Text => TypedValues::Text(Vec::new()),
            },
            definitions: Vec::new(),
        }
    }

    /// Appends a value, and returns its size in bytes.
    fn push(
        &mut self,
        cell: TableCell,
        column: &TableColumn,
    ) -> std::result::Result<usize, UnfitValue> {
        let unfit = |cell: &TableCell| UnfitValue {
            column: column.name().to_owned(),
            kind: column.kind(),
            value: cell.to_string(),
        };
        if column.is_optional() {
            let is_defined = cell != TableCell::Null;
            self.definitions.push(i16::from(is_defined));
            if !is_defined {
                return Ok(size_of::<i16>());
            }
        }
        match &mut self.values {
            TypedValues::Bool(values) => match cell {
                TableCell::Bool(value) => values.push(value),
                other => return Err(unfit(&other)),
            },
            TypedValues::Int(values) => {
                let bits = match (&cell, column.kind()) {
                    (TableCell::Int(value), ColumnType::UInt) if *value < 0 => None,
                    (TableCell::Int(value), _) => Some(*value),
                    (TableCell::UInt(value), ColumnType::UInt) => Some(value.cast_signed()),
                    _ => None,
                };
                values.push(bits.ok_or_else(|| unfit(&cell))?);
            }
            TypedValues::Float(values) => match cell {
                TableCell::Float(value) => values.push(value),
                TableCell::Int(value) => values.push(float(value)),
                other => return Err(unfit(&other)),
            },
            TypedValues::Text(values) => {
                let text = match cell {
                    TableCell::Text(text) => text,
                    TableCell::Null => return Err(unfit(&cell)),
                    other => other.to_string(),
                };
                let num_bytes = text.len();
                values.push(ByteArray::from(text.into_bytes()));
                return Ok(num_bytes + size_of::<ByteArray>());
            }
        }
        Ok(size_of::<i64>())
    }

    fn write(&self, writer: &mut ColumnWriter<'_>) -> std::result::Result<(), ParquetError> {
        let definitions = (!self.definitions.is_empty()).then_some(&*self.definitions);
        match (&self.values, writer) {
            (TypedValues::Bool(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(values, definitions, None)?
            }
            (TypedValues::Int(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, definitions, None)?
            }
            (TypedValues::Float(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(values, definitions, None)?
            }
            (TypedValues::Text(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(values, definitions, None)?
            }
            _ => {
                let text = "a column has another type than its values";
                return Err(ParquetError::General(text.to_owned()));
            }
        };
        Ok(())
    }

    fn clear(&mut self) {
        self.definitions.clear();
        match &mut self.values {
            TypedValues::Bool(values) => values.clear(),
            TypedValues::Int(values) => values.clear(),
            TypedValues::Float(values) => values.clear(),
            TypedValues::Text(values) => values.clear(),
        }
    }
}

/// Returns the nearest floating-point number.
#[expect(
    clippy::cast_precision_loss,
    reason = "a column of floating-point numbers has 53 bits of precision"
)]
fn float(integer: i64) -> f64 {
    integer as f64
}

fn schema(name: &str, columns: &[TableColumn]) -> std::result::Result<TypePtr, ParquetError> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind() {
            ColumnType::Bool => (PhysicalType::BOOLEAN, None),
            ColumnType::Int => (PhysicalType::INT64, None),
            ColumnType::UInt => {
                let unsigned = LogicalType::Integer {
                    bit_width: 64,
                    is_signed: false,
                };
                (PhysicalType::INT64, Some(unsigned))
            }
            ColumnType::Float => (PhysicalType::DOUBLE, None),
            ColumnType::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if column.is_optional() {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let field = Type::primitive_type_builder(column.name(), physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    });
    let fields = fields.collect::<std::result::Result<Vec<_>, ParquetError>>()?;
    let schema = Type::group_type_builder(name).with_fields(fields).build()?;
    Ok(Arc::new(schema))
}

/// Returns an error of the output itself as it is, and any other error wrapped.
fn output_error(error: ParquetError) -> Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<Error>() {
            Ok(error) => *error,
            Err(cause) => Error::other(cause),
        },
        other => Error::other(other),
    }
}
