//! The columns of all tables of results: of the commands, of the window and of Python.
//!
//! ```text
//!  rows of callgrove-query and callgrove-session ─┬─ with a form for reading: ResultTable of each command
//!                                                 └─ flat structures: FlatTable ──────────┬─▶ any sink of
//!                                                    what the window lists                │   callgrove-export
//!  documents of a provenance database ── DocumentColumns: the fields that are asked for ──┘
//!  trace ── RunContents: what a run consists of, as text and JSON
//! ```
//!
//! A table has the same columns wherever it is written.

mod baseline;
mod causes;
mod changes;
mod flat_table;
mod map;
mod nodes;
mod patterns;
mod ranks;
mod run_contents;
mod stored_documents;
mod trees;
mod trends;
mod watched_run;

pub use baseline::BaselineTable;
pub use causes::{CauseTable, IncidentTable};
pub use changes::ChangeTable;
pub use flat_table::{FlatRow, FlatTable};
pub use map::MapPointRow;
pub use nodes::NodeTable;
pub use patterns::{ListedPatternRow, PatternTable};
pub use ranks::{DelayRootRow, RankWaitRow};
pub use run_contents::{RunContents, RunFunction, RunFunctionTable, run_identity_json};
pub use stored_documents::{
    DamagedDocument, DocumentColumns, StoredJson, default_document_columns,
};
pub use trees::{TreeTable, execution_columns};
pub use trends::TrendTable;
pub use watched_run::{CounterRow, FunctionRow, RecordedRow};
