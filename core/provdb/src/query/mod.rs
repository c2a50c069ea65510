//! Queries: a filter on any field of the JSON, a sort order, a limit.
//!
//! ```text
//! text ─ lex ─ parse ─ Filter ─ sql (one per engine) ─ parameterised SQL
//! ```

mod display;
mod filter;
mod lex;
mod parse;
#[cfg(feature = "postgres")]
pub(crate) mod postgres_sql;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) mod sql;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite_sql;
mod unknown_field;

pub use filter::{
    Filter, FilterError, Literal, Op, Path, PathStep, Query, SortKey, SqlTable, Test,
};
pub use unknown_field::UnknownField;
