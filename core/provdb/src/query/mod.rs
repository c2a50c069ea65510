//! Queries: a filter on any field of the JSON, a sort order, a limit.
//!
//! ```text
//! text ─ lex ─ parse ─ Filter ─ parameterised SQL of an engine (core/provdb/stores)
//! ```

mod display;
mod filter;
mod lex;
mod parse;
mod unknown_field;

pub use filter::{
    Filter, FilterError, Literal, Op, Path, PathStep, Query, SortKey, SqlTable, Test,
};
pub use unknown_field::UnknownField;
