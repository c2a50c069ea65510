//! Provenance: versioned records, stores and queries.
//!
//! ```text
//! ExecutionRecord ─┐              ┌─ SqliteStore (embedded: a folder of shards)      [sqlite]
//! MetadataRecord ──┼─ Document ─ Store ─ PostgresStore (a server that the site has)  [postgres]
//! statistics ──────┘              └─ RemoteStore ─ gRPC ─ ProvDbService ─ Store      [net]
//!                                        │
//!                          Query (filter, sort, limit) or plain SQL
//! ```
//!
//! Records, documents, schemas and the query language are always available and pure; each store is a feature. The
//! document `docs/records.md` explains the collections, the files and the query language.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod collection;
mod columns;
mod document;
mod error;
mod field_check;
#[cfg(feature = "net")]
pub mod net;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
mod query;
mod read_bounds;
mod record;
mod resident_memory;
#[cfg(feature = "sqlite")]
mod retention;
mod run;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod tree_record;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod unknown_run;
#[cfg(feature = "sqlite")]
pub mod upkeep;

pub use collection::{Collection, PACKET_SCHEMA, UnknownCollection};
pub use document::Document;
pub use error::ProvDbError;
pub use field_check::{FieldType, check_fields, field_types};
pub use open::open;
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use query::{
    Filter, FilterError, Literal, Op, Path, PathStep, Query, SortKey, SqlTable, Test, UnknownField,
};
pub use read_bounds::{ReadBounds, ReadLimits};
pub use record::{
    CallStackEntry, CommType, CommWindowEntry, CounterEvent, EventWindow, ExecWindowEntry,
    ExecutionRecord, GpuLocation, GpuParent, MetadataRecord, NodeState, NodeStateField, VERSION,
};
pub use resident_memory::resident_bytes;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteStore, is_database};
pub use store::{AccessMode, Claim, OpenOptions, RemoteOptions, Store};
pub use tree_record::{
    MAX_RECORDED_CALLS, MAX_RECORDED_REASONS, RecordedTree, TREE_VERSION, TreeJudgement, TreeRecord,
};
