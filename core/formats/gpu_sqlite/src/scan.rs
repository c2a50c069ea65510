//! The rows of a table or view, in chunks.
//!
//! A statement does not outlive a chunk: the next chunk begins after the last row number of the previous one. SQLite
//! finds it in its tree, so a chunk costs no more than its rows.

use std::borrow::Cow;
use std::cell::Cell;

use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement, StatementStatus};

use crate::database::{Database, Relation, quoted};

/// A table or view that is being read.
pub(crate) struct Scan {
    relation: String,
    sql: String,
    /// The rows have numbers by which they are read in chunks.
    is_keyed: bool,
    /// The number of the last row that was read.
    last_key: i64,
    /// The last row number of all; 1 if unknown.
    last_row: i64,
    num_rows: u64,
    text_bytes: Cell<u64>,
    max_text_bytes: u64,
}

/// The reason why a chunk ended.
pub(crate) enum ChunkEnd {
    /// More rows follow.
    More,
    /// All rows were read.
    End,
    /// The rows that follow cannot be read: the reason.
    Broken(String),
}

/// The values of a row, in the order of the columns that were asked for.
pub(crate) struct Cells<'a> {
    row: &'a Row<'a>,
    /// Number of bytes of texts that were looked at.
    text_bytes: &'a Cell<u64>,
}

impl Scan {
    /// Returns the scan of a table, if the file has it. Each column is given by its names in different versions, the
    /// preferred one first; one that the table lacks has no values.
    pub(crate) fn of_table(database: &Database, name: &str, columns: &[&[&str]]) -> Option<Self> {
        let is_table = database.relations.get(name) == Some(&Relation::Table);
        is_table.then(|| Self::new(database, name, columns, "rowid"))
    }

    /// Returns the scan of a view or table, if the file has it. Its rows are in the order of its column `id`.
    pub(crate) fn of_view(database: &Database, name: &str, columns: &[&[&str]]) -> Option<Self> {
        let is_known = database.relations.contains_key(name);
        is_known.then(|| Self::new(database, name, columns, "id"))
    }

    fn new(database: &Database, name: &str, columns: &[&[&str]], key: &str) -> Self {
        let known = database.columns(name);
        let find = |names: &&[&str]| {
            let is_same = |name: &&str| known.iter().find(|it| it.eq_ignore_ascii_case(name));
            let found = names.iter().find_map(is_same);
            found.map_or_else(|| "null".to_owned(), |it| quoted(it))
        };
        let list: Vec<String> = columns.iter().map(find).collect();
        let (list, table) = (list.join(", "), quoted(name));
        let keyed = format!("select {key}, {list} from {table} where {key} > ?1 order by {key}");
        let is_keyed = database.connection().prepare(&keyed).is_ok();
        let sql = if is_keyed {
            keyed
        } else {
            format!("select null, {list} from {table}")
        };
        let mut scan = Self {
            relation: name.to_owned(),
            sql,
            is_keyed,
            last_key: i64::MIN,
            last_row: 1,
            num_rows: 0,
            text_bytes: Cell::new(0),
            max_text_bytes: database.max_text_bytes(),
        };
        if is_keyed && key == "rowid" {
            let last = format!("select max(rowid) from {table}");
            let last = database.connection().query_row(&last, (), |row| row.get(0));
            scan.last_row = last.unwrap_or(1).max(1);
        }
        scan
    }

    /// Returns the name of the table or view.
    pub(crate) fn relation(&self) -> &str {
        &self.relation
    }

    /// Returns the number of rows so far.
    pub(crate) fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// Returns the share of the rows that were read, if they have numbers.
    pub(crate) fn position(&self) -> f32 {
        let done = self.last_key.clamp(0, self.last_row);
        callgrove_model::fraction(done.unsigned_abs(), self.last_row.unsigned_abs())
    }

    /// Reads some `chunk_rows` rows, and never more than `rows_left`.
    pub(crate) fn read(
        &mut self,
        database: &Database,
        chunk_rows: u64,
        rows_left: u64,
        mut take: impl FnMut(&Cells<'_>),
    ) -> ChunkEnd {
        if self.num_rows == 0 {
            database.begin_statement();
        }
        let mut statement = match database.connection().prepare(&self.sql) {
            Ok(statement) => statement,
            Err(error) => return ChunkEnd::Broken(error.to_string()),
        };
        let read = self.read_chunk(&mut statement, chunk_rows, rows_left, &mut take);
        read.unwrap_or_else(|error| ChunkEnd::Broken(reason(&error)))
    }

    fn read_chunk(
        &mut self,
        statement: &mut Statement<'_>,
        chunk_rows: u64,
        rows_left: u64,
        take: &mut impl FnMut(&Cells<'_>),
    ) -> rusqlite::Result<ChunkEnd> {
        let mut rows = if self.is_keyed {
            statement.query([self.last_key])?
        } else {
            statement.query(())?
        };
        let mut num = 0;
        while let Some(row) = rows.next()? {
            let key = row.get_ref(0)?.as_i64_or_null().ok().flatten();
            // Rows of one number belong together. A view that is sorted first would be sorted again for each chunk.
            if num >= chunk_rows
                && key.is_some_and(|key| key > self.last_key)
                && row.as_ref().get_status(StatementStatus::Sort) == 0
            {
                return Ok(ChunkEnd::More);
            }
            if num >= rows_left || self.text_bytes.get() > self.max_text_bytes {
                let reason = "it has more rows or texts than a file of this size can hold";
                return Ok(ChunkEnd::Broken(reason.to_owned()));
            }
            if self.is_keyed
                && let Some(key) = key
            {
                self.last_key = key;
            }
            num += 1;
            self.num_rows += 1;
            take(&Cells {
                row,
                text_bytes: &self.text_bytes,
            });
        }
        self.last_key = i64::MAX;
        Ok(ChunkEnd::End)
    }
}

/// Returns the reason of an error as text.
fn reason(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::OperationInterrupted) => {
            "it takes much longer than a file of this size should".to_owned()
        }
        _ => error.to_string(),
    }
}

impl Cells<'_> {
    fn value(&self, column: usize) -> ValueRef<'_> {
        // The first column is the row number.
        self.row.get_ref(column + 1).unwrap_or(ValueRef::Null)
    }

    /// Returns a whole number, even if it is stored as text or as a real number.
    #[inline]
    pub(crate) fn integer(&self, column: usize) -> Option<i64> {
        match self.value(column) {
            ValueRef::Integer(value) => Some(value),
            other => integer_of_other(other),
        }
    }

    /// Returns an id: the bits of a whole number, which may be a hexadecimal text.
    #[inline]
    pub(crate) fn id(&self, column: usize) -> Option<u64> {
        self.integer(column).map(i64::cast_unsigned)
    }

    /// Returns a text that is not empty, and whether it is valid UTF-8; otherwise its invalid bytes are replaced.
    pub(crate) fn text(&self, column: usize) -> Option<(Cow<'_, str>, bool)> {
        match self.value(column) {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) if !bytes.is_empty() => {
                let size_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                let sum = self.text_bytes.get().saturating_add(size_bytes);
                self.text_bytes.set(sum);
                let text = String::from_utf8_lossy(bytes);
                let is_valid = matches!(text, Cow::Borrowed(_));
                Some((text, is_valid))
            }
            ValueRef::Integer(value) => Some((Cow::Owned(value.to_string()), true)),
            _ => None,
        }
    }

    /// Returns whether a value is missing.
    pub(crate) fn is_null(&self, column: usize) -> bool {
        matches!(self.value(column), ValueRef::Null)
    }
}

fn integer_of_other(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Text(bytes) => {
            let text = std::str::from_utf8(bytes).ok()?.trim();
            match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok().map(u64::cast_signed),
                None => text.parse().ok(),
            }
        }
        // Written without an exponent, whatever its size.
        ValueRef::Real(value) if value.fract() == 0.0 => format!("{value:.0}").parse().ok(),
        _ => None,
    }
}
