//! The description of a table.

use std::marker::PhantomData;

use serde::Serialize;

use crate::cell::TableCell;
use crate::column::TableColumn;

/// The forms of a table's rows, one for each kind of format.
pub trait ResultTable {
    /// A row.
    type Row;

    /// Returns the name of the table, such as `incidents`. It is stored in formats that have a place for it.
    fn name(&self) -> &str;

    /// Returns the columns of the records, one per field, in the order of the fields. They do not depend on the rows,
    /// so that a table without rows has them, too.
    fn columns(&self) -> Vec<TableColumn>;

    /// Returns the version of the columns; it changes when a column changes its meaning or type, or disappears.
    fn schema_version(&self) -> u32 {
        1
    }

    /// Returns the headings of the aligned text, one per cell.
    fn headings(&self) -> Vec<&str>;

    /// Returns a row for reading: rounded numbers, units and sentences.
    fn cells(&self, row: &Self::Row) -> Vec<String>;

    /// Returns a row as a structure with one plain value per column, for formats that cannot nest; or as a list of
    /// [`TableCell`], if the columns are only known at run time.
    fn record(&self, row: &Self::Row) -> impl Serialize;

    /// Returns a row with its lists, for formats that can nest.
    fn document(&self, row: &Self::Row) -> impl Serialize;

    /// Returns a document about the whole table, which precedes those of the rows.
    fn preface(&self) -> Option<impl Serialize> {
        None::<()>
    }
}

/// A table whose columns are only known at run time. A row is a document and its cells.
pub struct UntypedTable<'a, D> {
    name: &'a str,
    columns: &'a [TableColumn],
    document: PhantomData<D>,
}

impl<'a, D> UntypedTable<'a, D> {
    /// Returns a table with this name and these columns.
    pub fn new(name: &'a str, columns: &'a [TableColumn]) -> Self {
        Self {
            name,
            columns,
            document: PhantomData,
        }
    }
}

impl<D: Serialize> ResultTable for UntypedTable<'_, D> {
    type Row = (D, Vec<TableCell>);

    fn name(&self) -> &str {
        self.name
    }

    fn columns(&self) -> Vec<TableColumn> {
        self.columns.to_vec()
    }

    fn headings(&self) -> Vec<&str> {
        self.columns.iter().map(TableColumn::name).collect()
    }

    fn cells(&self, (_, cells): &Self::Row) -> Vec<String> {
        cells.iter().map(TableCell::rounded).collect()
    }

    fn record(&self, (_, cells): &Self::Row) -> impl Serialize {
        cells
    }

    fn document(&self, (document, _): &Self::Row) -> impl Serialize {
        document
    }
}
