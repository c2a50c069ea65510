//! The description of a table.

use std::marker::PhantomData;

use serde::Serialize;

/// The forms of a table's rows, one for each kind of format.
pub trait ResultTable {
    /// A row.
    type Row;

    /// Returns the headings of the aligned text, one per cell.
    fn headings(&self) -> Vec<&str>;

    /// Returns a row for reading: rounded numbers, units and sentences.
    fn cells(&self, row: &Self::Row) -> Vec<String>;

    /// Returns a row as a structure with one plain value per column, for formats that cannot nest.
    fn record(&self, row: &Self::Row) -> impl Serialize;

    /// Returns the names of the columns if they are only known at run time. Records are then lists of text.
    fn record_header(&self) -> Option<Vec<&str>> {
        None
    }

    /// Returns a row with its lists, for formats that can nest.
    fn document(&self, row: &Self::Row) -> impl Serialize;

    /// Returns a document about the whole table, which precedes those of the rows.
    fn preface(&self) -> Option<impl Serialize> {
        None::<()>
    }
}

/// A table whose columns are only known at run time. A row is a document and its cells.
pub struct UntypedTable<'a, D> {
    columns: &'a [String],
    document: PhantomData<D>,
}

impl<'a, D> UntypedTable<'a, D> {
    /// Returns a table with these columns.
    pub fn new(columns: &'a [String]) -> Self {
        Self {
            columns,
            document: PhantomData,
        }
    }
}

impl<D: Serialize> ResultTable for UntypedTable<'_, D> {
    type Row = (D, Vec<String>);

    fn headings(&self) -> Vec<&str> {
        self.columns.iter().map(String::as_str).collect()
    }

    fn cells(&self, (_, cells): &Self::Row) -> Vec<String> {
        cells.clone()
    }

    fn record(&self, (_, cells): &Self::Row) -> impl Serialize {
        cells
    }

    fn record_header(&self) -> Option<Vec<&str>> {
        Some(self.headings())
    }

    fn document(&self, (document, _): &Self::Row) -> impl Serialize {
        document
    }
}
