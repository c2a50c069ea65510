//! Provenance: versioned records, the documents that hold them, and the queries that find them. Pure: the stores are
//! crates above (`core/provdb/stores`, and `core/provdb/net` for a store behind another process).
//!
//! ```text
//! ExecutionRecord ─┐
//! MetadataRecord ──┼─ Document ─ Store::put ──▶ (any store) ──▶ Store::find ─ documents as JSON
//! TreeRecord ──────┤               ▲                               ▲
//! statistics ──────┘   Columns: the fields that             Query: filter, sort, limit
//!                      stores keep apart                    (checked against the schemas)
//! ```
//!
//! The JSON Schemas of all records are in `schema`. The document `docs/records.md` explains the collections, the files
//! and the query language.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod collection;
pub mod columns;
mod document;
mod error;
mod field_check;
mod query;
mod read_bounds;
mod record;
mod run;
mod store;
mod tree_record;

pub use collection::{Collection, PACKET_SCHEMA, UnknownCollection};
pub use document::Document;
pub use error::ProvDbError;
pub use field_check::{FieldType, check_fields, field_types};
pub use query::{
    Filter, FilterError, Literal, Op, Path, PathStep, Query, SortKey, SqlTable, Test, UnknownField,
};
pub use read_bounds::{ReadBounds, ReadLimits};
pub use record::{
    CallStackEntry, CommType, CommWindowEntry, CounterEvent, EventWindow, ExecWindowEntry,
    ExecutionRecord, GpuLocation, GpuParent, MetadataRecord, NodeState, NodeStateField, VERSION,
};
pub use run::{RUN_STATE, parse_run};
pub use store::{AccessMode, Claim, StateChange, Store, without_secrets};
pub use tree_record::{
    MAX_RECORDED_CALLS, MAX_RECORDED_REASONS, RecordedTree, TREE_VERSION, TreeJudgement, TreeRecord,
};
