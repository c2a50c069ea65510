//! The stores of provenance: where documents are kept, and how a URL chooses the place.
//!
//! ```text
//!             ┌─ a folder ───────── SqliteStore: one file for each shard ────────┐
//! URL ─ open ─┼─ postgres://… ───── PostgresStore: a server that the site has ───┼─ Box<dyn Store>
//!             └─ http(s)://…, an address file ── RemoteStore (core/provdb/net) ──┘
//!
//! Query ─ sql: the structure of a condition ─┬─ sqlite/query_sql ─────── SQL of SQLite
//!                                            └─ postgres/query_sql ───── SQL of PostgreSQL
//! ```
//!
//! [`upkeep`] has the tasks of an operator: backups, compaction, retention, upgrades of the format.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod open;
mod options;
mod postgres;
mod retention;
mod run;
mod sql;
mod sqlite;
pub mod upkeep;

pub use open::open;
pub use options::OpenOptions;
pub use postgres::PostgresStore;
pub use sqlite::{SqliteStore, is_database};
