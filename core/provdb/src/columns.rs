//! What stores read out of documents and add to them.

use serde::Deserialize;

use crate::document::bad;
use crate::{Document, ProvDbError};

/// The fields that every store keeps in columns of their own, under their names in the schemas, so that filters on
/// them read no JSON. They are null in documents without such a field.
#[derive(Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Columns {
    #[serde(rename = "__id")]
    has_id: Option<serde::de::IgnoredAny>,
    pub(crate) pid: Option<i64>,
    pub(crate) rid: Option<i64>,
    pub(crate) fid: Option<i64>,
    pub(crate) func: Option<String>,
    pub(crate) event_id: Option<String>,
    pub(crate) io_step: Option<i64>,
    pub(crate) entry: Option<i64>,
    pub(crate) outlier_score: Option<f64>,
    pub(crate) outlier_severity: Option<f64>,
}

impl Columns {
    /// Reads the columns out of a document, and so sees whether it is one.
    pub(crate) fn of(document: &Document) -> Result<Self, ProvDbError> {
        let fail = |cause: &str| bad(document.collection, &document.key, cause);
        if !document.json.starts_with('{') {
            return Err(fail("the text is not a JSON object"));
        }
        let columns: Self =
            serde_json::from_str(&document.json).map_err(|cause| fail(&cause.to_string()))?;
        if columns.has_id.is_some() {
            return Err(fail("it has an __id already, which only the store gives"));
        }
        Ok(columns)
    }
}

/// The document with the `__id` that its store gave to it.
pub(crate) fn with_id(json: &str, id: i64) -> String {
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
    use crate::Collection;

    fn document(json: &str) -> Document {
        Document {
            collection: Collection::Anomalies,
            rank: 0,
            key: "0:0:1:2".to_owned(),
            json: json.to_owned(),
        }
    }

    #[test]
    fn an_id_is_put_first() {
        assert_eq!(with_id(r#"{"a":1}"#, 7), r#"{"__id":7,"a":1}"#);
        assert_eq!(with_id("{ }", 7), r#"{"__id":7 }"#);
    }

    #[test]
    fn columns_are_read_and_other_fields_skipped() {
        let columns = Columns::of(&document(
            r#"{"fid":3,"x":[{"fid":4}],"func":"f","outlier_score":1}"#,
        ))
        .expect("a document");
        assert_eq!((columns.fid, columns.func.as_deref()), (Some(3), Some("f")));
        assert_eq!((columns.outlier_score, columns.rid), (Some(1.0), None));
    }

    #[test]
    fn what_is_no_document_is_refused_by_name() {
        for json in [
            "",
            "[]",
            "{",
            r#"{"fid":"x"}"#,
            r#"{"__id":1}"#,
            r#"{"a":1} x"#,
        ] {
            let error = Columns::of(&document(json)).expect_err(json).to_string();
            assert!(
                error.contains("0:0:1:2") && error.contains("anomalies"),
                "{error}"
            );
        }
    }
}
