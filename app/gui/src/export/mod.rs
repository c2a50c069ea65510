//! Files that the window writes, apart from pictures: tables, and the report of a run.
//!
//! ```text
//!  snapshot, rows of a view ──▶ TableMaker ──┬─▶ FileMaker ──▶ Platform::make_file, in the background
//!  snapshot, ReportRequest ───▶ report_html ─┘                    └─ progress, result ──▶ ExportJob ──▶ status bar
//! ```

mod report;
mod table;

pub use report::{ReportFailure, report_html};
pub(crate) use table::{TableMaker, candidates_table, table_of};
