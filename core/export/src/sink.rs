//! The writers of tables, one per format.

use std::io::{Error, Result, Write};

use serde::Serialize;

use crate::{ResultTable, TextTable};

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

/// Comma-separated values with a header. The header is that of the first record, unless the table has its own.
pub struct CsvSink<'a, T, W: Write> {
    table: &'a T,
    csv: csv::Writer<W>,
}

impl<'a, T: ResultTable, W: Write> CsvSink<'a, T, W> {
    /// Writes the table's own header, if it has one.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(table: &'a T, out: W) -> Result<Self> {
        let header = table.record_header();
        let mut csv = csv::WriterBuilder::new()
            .has_headers(header.is_none())
            .from_writer(out);
        if let Some(header) = header {
            csv.write_record(header).map_err(output_error)?;
        }
        Ok(Self { table, csv })
    }
}

impl<T: ResultTable, W: Write> RowSink<T> for CsvSink<'_, T, W> {
    fn write(&mut self, row: &T::Row) -> Result<()> {
        let record = self.table.record(row);
        self.csv.serialize(record).map_err(output_error)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.csv.flush()
    }
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
