//! Answers: rows, and how many were left out.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

/// Rows of a table for an assistant, whose attention is limited: it gets some, and the number of the others.
pub(crate) struct RowAnswer;

impl RowAnswer {
    /// Returns the first `limit` rows.
    pub(crate) fn of<T: Serialize>(rows: &[T], limit: usize) -> Result<Value> {
        Self::of_part(&rows[..rows.len().min(limit)], rows.len())
    }

    /// Returns the rows, which are the first of `num_all`.
    pub(crate) fn of_part<T: Serialize>(rows: &[T], num_all: usize) -> Result<Value> {
        Ok(json!({
            "rows": serde_json::to_value(rows)?,
            "num_left_out": num_all.saturating_sub(rows.len()),
        }))
    }
}
