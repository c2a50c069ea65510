//! Exports of Callgrove: tables of results as aligned text, comma-separated values, JSON lines and Parquet, and runs as
//! traces for other programs ([`write_perfetto`], [`write_chrome`]).
//!
//! ```text
//!                        ┌─ headings, cells ─── TextSink ───── aligned text
//!                        ├─ columns, record ─┬─ CsvSink ────── comma-separated values
//!  rows ── ResultTable ──┤                   └─ ParquetSink ── typed columns        [feature parquet]
//!                        └─ preface, document ─ JsonSink ───── one JSON object per line
//!                           forms of a row      RowSink
//! ```
//!
//! A command describes its rows once, as a [`ResultTable`], and passes them to any [`RowSink`]. A further format is one
//! more implementation of that trait. [`ResultTable::columns`] has the names and types of the columns, so that a table
//! without rows has the same schema as any other. The suffix of a name is the unit of its values (`_us`, `_percent`).
//! If the columns are only known at run time, the table is an [`UntypedTable`] of [`TableCell`]s.

mod cell;
mod column;
mod format;
mod junit;
mod markdown;
mod metadata;
#[cfg(feature = "parquet")]
mod parquet_file;
mod record;
mod sink;
mod table;
mod text;
mod trace;

pub use cell::TableCell;
pub use column::{ColumnType, TableColumn};
pub use format::SinkFormat;
pub use junit::{JunitCase, JunitOutcome, JunitSuite, write_junit};
pub use markdown::{markdown_text, write_markdown_table};
pub use metadata::table_metadata;
#[cfg(feature = "parquet")]
pub use parquet_file::ParquetSink;
pub use sink::{CsvSink, JsonSink, RowSink, TextSink, record_cells, write_json_line};
pub use table::{ResultTable, UntypedTable};
pub use text::{TextTable, printable, rounded};
pub use trace::{
    FindingValue, FoundIncident, TraceExportError, TraceFinding, TraceFindings, write_chrome,
    write_perfetto,
};
