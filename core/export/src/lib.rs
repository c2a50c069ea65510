//! What leaves Callgrove: tables of results as aligned text, comma-separated values and JSON lines, and runs as traces
//! for other programs ([`write_perfetto`], [`write_chrome`]).
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

mod sink;
mod table;
mod text;
mod trace;

pub use sink::{CsvSink, JsonSink, RowSink, TextSink, write_json_line};
pub use table::{ResultTable, UntypedTable};
pub use text::{TextTable, printable};
pub use trace::{
    FindingValue, FoundIncident, TraceExportError, TraceFinding, TraceFindings, write_chrome,
    write_perfetto,
};
