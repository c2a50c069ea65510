//! The fields that stores keep in separate columns, so that filters on them need not parse JSON.

use std::sync::Arc;

use serde::Deserialize;

use crate::record::{ExecutionRecord, MetadataRecord};
use crate::tree_record::TreeRecord;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// An integer of 64 bits.
    Int,
    /// A double.
    Real,
    /// A text.
    Text,
}

/// The columns, by their names in the schemas.
pub const COLUMNS: [(&str, ColumnKind); 9] = [
    ("pid", ColumnKind::Int),
    ("rid", ColumnKind::Int),
    ("fid", ColumnKind::Int),
    ("func", ColumnKind::Text),
    ("event_id", ColumnKind::Text),
    ("io_step", ColumnKind::Int),
    ("entry", ColumnKind::Int),
    ("outlier_score", ColumnKind::Real),
    ("outlier_severity", ColumnKind::Real),
];

/// Returns all columns of a table except `id`, in order. The text comes last, so that scans of the other columns skip
/// the overflow pages.
pub fn names_with_key_and_doc() -> Vec<&'static str> {
    let names = COLUMNS.iter().map(|(name, _)| *name);
    std::iter::once("key").chain(names).chain(["doc"]).collect()
}

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnValue<'a> {
    /// An integer; null if the document has none.
    Int(Option<i64>),
    /// A double; null if the document has none.
    Real(Option<f64>),
    /// A text; null if the document has none.
    Text(Option<&'a str>),
}

/// The values of a document's columns; null if the document has no such field.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Columns {
    #[serde(rename = "__id")]
    has_id: Option<serde::de::IgnoredAny>,
    pid: Option<i64>,
    rid: Option<i64>,
    fid: Option<i64>,
    func: Option<Arc<str>>,
    event_id: Option<Arc<str>>,
    io_step: Option<i64>,
    entry: Option<i64>,
    outlier_score: Option<f64>,
    outlier_severity: Option<f64>,
}

/// Returns the columns of a record that has fields of these names.
macro_rules! columns_of {
    ($record:ident) => {
        Some(Columns {
            has_id: None,
            pid: Some($record.pid.into()),
            rid: Some($record.rid.into()),
            fid: Some($record.fid.into()),
            func: Some(Arc::clone(&$record.func)),
            event_id: Some($record.event_id.as_str().into()),
            io_step: Some(i64::try_from($record.io_step).ok()?),
            entry: Some(i64::try_from($record.entry).ok()?),
            outlier_score: Some($record.outlier_score),
            #[expect(
                clippy::cast_precision_loss,
                reason = "the precision suffices for filters"
            )]
            outlier_severity: Some($record.outlier_severity as f64),
        })
    };
}

impl Columns {
    /// Returns the columns of an execution; `None` if a value is out of the range of engines.
    pub(crate) fn of_execution(record: &ExecutionRecord) -> Option<Self> {
        columns_of!(record)
    }

    /// Returns the columns of a tree; `None` if a value is out of the range of engines.
    pub(crate) fn of_tree(record: &TreeRecord) -> Option<Self> {
        columns_of!(record)
    }

    /// Returns the columns of a metadata entry.
    pub(crate) fn of_metadata(record: &MetadataRecord) -> Self {
        Self {
            pid: Some(record.pid.into()),
            rid: Some(record.rid.into()),
            ..Self::default()
        }
    }

    /// Returns the columns of the statistics of a function, of one program or of all.
    pub(crate) fn of_function(pid: Option<u32>, fid: u32) -> Self {
        Self {
            pid: pid.map(i64::from),
            fid: Some(fid.into()),
            ..Self::default()
        }
    }

    /// Returns the columns of a document's JSON; those of a record are `known` already. This also validates the text;
    /// the error is a description of the problem.
    pub(crate) fn of(json: &str, known: Option<&Self>) -> Result<Self, String> {
        if has_nul(json) {
            return Err(
                "a string in it contains the character NUL, which engines treat as the end"
                    .to_owned(),
            );
        }
        if !json.starts_with('{') {
            return Err("the text is not a JSON object".to_owned());
        }
        if let Some(columns) = known {
            return Ok(columns.clone());
        }
        let columns: Self = serde_json::from_str(json).map_err(|cause| cause.to_string())?;
        if columns.has_id.is_some() {
            return Err("it already has an __id, which only the store assigns".to_owned());
        }
        Ok(columns)
    }

    /// Returns the values in the order of [`COLUMNS`].
    pub fn values(&self) -> [ColumnValue<'_>; 9] {
        use ColumnValue::{Int, Real, Text};
        [
            Int(self.pid),
            Int(self.rid),
            Int(self.fid),
            Text(self.func.as_deref()),
            Text(self.event_id.as_deref()),
            Int(self.io_step),
            Int(self.entry),
            Real(self.outlier_score),
            Real(self.outlier_severity),
        ]
    }
}

/// Returns whether a string of the JSON contains the character NUL, which JSON can only write as `\u0000`.
fn has_nul(json: &str) -> bool {
    let is_escaped = |at: usize| {
        let before = json.as_bytes()[..at].iter().rev();
        before
            .take_while(|it| **it == b'\\')
            .count()
            .is_multiple_of(2)
    };
    // Few documents contain escapes at all.
    json.as_bytes().contains(&b'\\') && json.match_indices("\\u0000").any(|(at, _)| is_escaped(at))
}

/// Returns the document with the `__id` that its store assigned.
pub fn with_id(json: &str, id: i64) -> String {
    let fields = json.strip_prefix('{').unwrap_or(json);
    let comma = if fields.trim_start().starts_with('}') {
        ""
    } else {
        ","
    };
    format!("{{\"__id\":{id}{comma}{fields}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_put_first() {
        assert_eq!(with_id(r#"{"a":1}"#, 7), r#"{"__id":7,"a":1}"#);
        assert_eq!(with_id("{ }", 7), r#"{"__id":7 }"#);
    }

    #[test]
    fn columns_are_read_and_other_fields_skipped() {
        let json = r#"{"fid":3,"x":[{"fid":4}],"func":"f","outlier_score":1}"#;
        let columns = Columns::of(json, None).expect("a document");
        assert_eq!((columns.fid, columns.func.as_deref()), (Some(3), Some("f")));
        assert_eq!((columns.outlier_score, columns.rid), (Some(1.0), None));
    }

    #[test]
    fn a_backslash_before_digits_is_no_nul() {
        Columns::of(r#"{"a":"C:\\u0000"}"#, None).expect("a document");
    }
}
