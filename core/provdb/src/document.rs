//! Documents on their way into a store: what they are called, where they go, and which of their fields are
//! columns of their own.

use serde::{Deserialize, Serialize};

use crate::{Collection, ExecutionRecord, MetadataRecord, ProvDbError};

/// One JSON object to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Where it goes.
    pub collection: Collection,
    /// Rank, which chooses the shard; global collections take no notice of it.
    pub rank: u32,
    /// Its name in the collection. A document with the same key replaces the former one and keeps its `__id`, so
    /// that whoever replays what was written before writes nothing twice.
    pub key: String,
    /// The JSON object, without `__id`.
    pub json: String,
}

impl Document {
    /// An anomalous or normal execution, by program and label.
    ///
    /// # Errors
    /// The record holds what JSON cannot, such as a score that is not a number.
    pub fn execution(
        collection: Collection,
        record: &ExecutionRecord,
    ) -> Result<Self, ProvDbError> {
        let key = format!("{}:{}", record.pid, record.event_id);
        if !record.outlier_score.is_finite() {
            return Err(bad(
                collection,
                &key,
                "outlier_score is not a finite number",
            ));
        }
        Self::new(collection, record.rid, key, record)
    }

    /// An entry of the metadata, by program, rank, thread and key.
    ///
    /// # Errors
    /// None today; JSON holds every such record.
    pub fn metadata(record: &MetadataRecord) -> Result<Self, ProvDbError> {
        let MetadataRecord {
            descr,
            pid,
            rid,
            tid,
            ..
        } = record;
        let key = format!("{pid}:{rid}:{tid}:{descr}");
        Self::new(Collection::Metadata, *rid, key, record)
    }

    /// The statistics of a function (`app`, `fid`).
    ///
    /// # Errors
    /// The statistics cannot be written as JSON.
    pub fn func_stats(app: u32, fid: u32, stats: &impl Serialize) -> Result<Self, ProvDbError> {
        Self::new(Collection::FuncStats, 0, format!("{app}:{fid}"), stats)
    }

    /// The statistics of a counter (`app`, `counter`).
    ///
    /// # Errors
    /// The statistics cannot be written as JSON.
    pub fn counter_stats(
        app: u32,
        counter: &str,
        stats: &impl Serialize,
    ) -> Result<Self, ProvDbError> {
        Self::new(
            Collection::CounterStats,
            0,
            format!("{app}:{counter}"),
            stats,
        )
    }

    /// The model of a function (`pid`, `fid`).
    ///
    /// # Errors
    /// The model cannot be written as JSON.
    pub fn ad_model(pid: u32, fid: u32, model: &impl Serialize) -> Result<Self, ProvDbError> {
        Self::new(Collection::AdModel, 0, format!("{pid}:{fid}"), model)
    }

    fn new(
        collection: Collection,
        rank: u32,
        key: String,
        record: &impl Serialize,
    ) -> Result<Self, ProvDbError> {
        match serde_json::to_string(record) {
            Ok(json) => Ok(Self {
                collection,
                rank,
                key,
                json,
            }),
            Err(cause) => Err(bad(collection, &key, &cause.to_string())),
        }
    }
}

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

fn bad(collection: Collection, key: &str, cause: &str) -> ProvDbError {
    ProvDbError::BadDocument {
        cause: cause.to_owned(),
        collection,
        key: key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
