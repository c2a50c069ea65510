//! Tables of results as aligned text, comma-separated values and JSON lines.
//!
//! ```text
//!                        ┌─ headings, cells ─── TextSink ── aligned text
//!  rows ── ResultTable ──┼─ record ──────────── CsvSink ─── comma-separated values
//!                        └─ preface, document ─ JsonSink ── one JSON object per line
//!                           forms of a row      RowSink
//! ```
//!
//! A command describes its rows once, as a [`ResultTable`], and passes them to any [`RowSink`]. A further format is one
//! more implementation of that trait. A format of columns, such as Parquet, takes the records: serde passes the name
//! and the type of each field, and the suffix of a name is its unit (`_us`, `_percent`). If the columns are only known
//! at run time, [`ResultTable::record_header`] returns their names, and all values are text.

mod junit;
mod markdown;
mod sink;
mod table;
mod text;

pub use junit::{JunitCase, JunitOutcome, write_junit};
pub use markdown::{markdown_text, write_markdown_table};
pub use sink::{CsvSink, JsonSink, RowSink, TextSink, write_json_line};
pub use table::{ResultTable, UntypedTable};
pub use text::{TextTable, printable};
