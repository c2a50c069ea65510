//! The writers of tables, one per format.

use std::io::{Error, ErrorKind, Result, Write};

use serde::Serialize;

use crate::cell::TableCell;
use crate::column::TableColumn;
use crate::record::cells_of;
use crate::table::ResultTable;
use crate::text::TextTable;

/// Returns the cells of a row's record, shape `[n_columns]`.
///
/// # Errors
/// The record has other fields than the columns of the table, or a value that has no form in a cell.
pub fn record_cells<T: ResultTable>(table: &T, row: &T::Row) -> Result<Vec<TableCell>> {
    cells_of(&table.record(row), &table.columns())
        .map_err(|cause| record_error(table.name(), &cause))
}

/// A format that the rows of a table are written in.
pub trait RowSink<T: ResultTable> {
    /// Writes a row.
    ///
    /// # Errors
    /// Those of the output.
    fn write(&mut self, row: &T::Row) -> Result<()>;

    /// Writes what is left after the last row.
    ///
    /// # Errors
    /// Those of the output.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Aligned text. It is written at the end, because each row can widen a column.
pub struct TextSink<'a, T, W> {
    table: &'a T,
    text: TextTable,
    out: W,
}

impl<'a, T: ResultTable, W: Write> TextSink<'a, T, W> {
    /// Returns a sink without rows.
    pub fn new(table: &'a T, out: W) -> Self {
        Self {
            table,
            text: TextTable::new(&table.headings()),
            out,
        }
    }
}

impl<T: ResultTable, W: Write> RowSink<T> for TextSink<'_, T, W> {
    fn write(&mut self, row: &T::Row) -> Result<()> {
        self.text.push(self.table.cells(row));
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.text.print(&mut self.out, 0)
    }
}

/// Comma-separated values with a header. Numbers have all their digits.
pub struct CsvSink<'a, T, W: Write> {
    table: &'a T,
    columns: Vec<TableColumn>,
    csv: csv::Writer<W>,
}

impl<'a, T: ResultTable, W: Write> CsvSink<'a, T, W> {
    /// Writes the header.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(table: &'a T, out: W) -> Result<Self> {
        let columns = table.columns();
        let mut csv = csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(out);
        let names = columns.iter().map(TableColumn::name);
        csv.write_record(names).map_err(output_error)?;
        Ok(Self {
            table,
            columns,
            csv,
        })
    }
}

impl<T: ResultTable, W: Write> RowSink<T> for CsvSink<'_, T, W> {
    fn write(&mut self, row: &T::Row) -> Result<()> {
        let record = self.table.record(row);
        let cells = cells_of(&record, &self.columns)
            .map_err(|cause| record_error(self.table.name(), &cause))?;
        self.csv.serialize(cells).map_err(output_error)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.csv.flush()
    }
}

/// Returns the error of a record that does not fit its table.
pub(crate) fn record_error(table: &str, cause: &dyn std::error::Error) -> Error {
    let text = format!("a row of the table {table} cannot be written: {cause}");
    Error::new(ErrorKind::InvalidData, text)
}

/// Returns the error of the output itself, whose kind says that the reader has closed the pipe.
fn output_error(error: csv::Error) -> Error {
    let text = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        _ => Error::other(text),
    }
}

/// One JSON object per line.
pub struct JsonSink<'a, T, W> {
    table: &'a T,
    out: W,
}

impl<'a, T: ResultTable, W: Write> JsonSink<'a, T, W> {
    /// Writes the document about the whole table, if there is one.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(table: &'a T, mut out: W) -> Result<Self> {
        if let Some(preface) = table.preface() {
            write_json_line(&mut out, &preface)?;
        }
        Ok(Self { table, out })
    }
}

impl<T: ResultTable, W: Write> RowSink<T> for JsonSink<'_, T, W> {
    fn write(&mut self, row: &T::Row) -> Result<()> {
        write_json_line(&mut self.out, &self.table.document(row))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.out.flush()
    }
}

/// Writes a JSON object on a line of its own.
///
/// # Errors
/// Those of the output.
pub fn write_json_line<W: Write + ?Sized>(out: &mut W, object: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *out, object)?;
    out.write_all(b"\n")
}
