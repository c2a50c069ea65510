//! Documents to be stored, with their collection, rank and key.

use serde::Serialize;

use crate::collection::Collection;
use crate::columns::Columns;
use crate::error::ProvDbError;
use crate::record::{ExecutionRecord, MetadataRecord};
use crate::tree_record::TreeRecord;

/// Initial capacity in bytes for the text of an execution. Most need less, so that the buffer rarely grows.
const INITIAL_CAPACITY_BYTES: usize = 12 << 10;

/// One JSON object to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its collection.
    pub collection: Collection,
    /// Rank, which determines the shard; ignored by global collections.
    pub rank: u32,
    /// Its key in the collection. A document with the same key replaces the former one and keeps its `__id`, so that
    /// repeated writes store nothing twice.
    pub key: String,
    /// The JSON object, without `__id`.
    pub json: String,
    /// Columns of a record that was serialized here; stores parse those of documents that came as JSON.
    pub(crate) columns: Option<Columns>,
}

impl Document {
    /// Creates a document from JSON only.
    pub fn from_json(
        collection: Collection,
        rank: u32,
        key: impl Into<String>,
        json: impl Into<String>,
    ) -> Self {
        Self {
            collection,
            rank,
            key: key.into(),
            json: json.into(),
            columns: None,
        }
    }

    /// Creates a document of an anomalous or normal execution; its key is program and label.
    ///
    /// # Errors
    /// The record has a value that JSON cannot represent, such as a score that is not a number.
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
        let columns = Columns::of_execution(record);
        Self::new(collection, record.rid, key, record).map(|it| Self { columns, ..it })
    }

    /// Creates a document of a metadata entry; its key is program, rank, thread and key.
    ///
    /// # Errors
    /// None today; JSON can represent every such record.
    pub fn metadata(record: &MetadataRecord) -> Result<Self, ProvDbError> {
        let MetadataRecord {
            descr,
            pid,
            rid,
            tid,
            ..
        } = record;
        let key = format!("{pid}:{rid}:{tid}:{descr}");
        let columns = Some(Columns::of_metadata(record));
        Self::new(Collection::Metadata, *rid, key, record).map(|it| Self { columns, ..it })
    }

    /// Creates a document of the statistics of a function (`app`, `fid`).
    ///
    /// # Errors
    /// The statistics cannot be written as JSON.
    pub fn func_stats(app: u32, fid: u32, stats: &impl Serialize) -> Result<Self, ProvDbError> {
        let columns = Some(Columns::of_function(None, fid));
        let key = format!("{app}:{fid}");
        Self::new(Collection::FuncStats, 0, key, stats).map(|it| Self { columns, ..it })
    }

    /// Creates a document of the statistics of a counter (`app`, `counter`).
    ///
    /// # Errors
    /// The statistics cannot be written as JSON.
    pub fn counter_stats(
        app: u32,
        counter: &str,
        stats: &impl Serialize,
    ) -> Result<Self, ProvDbError> {
        let columns = Some(Columns::default());
        let key = format!("{app}:{counter}");
        Self::new(Collection::CounterStats, 0, key, stats).map(|it| Self { columns, ..it })
    }

    /// Creates a document of the model of a function (`pid`, `fid`).
    ///
    /// # Errors
    /// The model cannot be written as JSON.
    pub fn ad_model(pid: u32, fid: u32, model: &impl Serialize) -> Result<Self, ProvDbError> {
        let columns = Some(Columns::of_function(Some(pid), fid));
        let key = format!("{pid}:{fid}");
        Self::new(Collection::AdModel, 0, key, model).map(|it| Self { columns, ..it })
    }

    /// Creates a document of an incident (`pid`, `incident_id`).
    ///
    /// # Errors
    /// The incident cannot be written as JSON.
    pub fn incident(
        pid: u32,
        incident_id: &str,
        incident: &impl Serialize,
    ) -> Result<Self, ProvDbError> {
        Self::new(
            Collection::Incidents,
            0,
            format!("{pid}:{incident_id}"),
            incident,
        )
    }

    /// Creates a document of a trend (`pid`, `trend_id`).
    ///
    /// # Errors
    /// The trend cannot be written as JSON.
    pub fn trend(pid: u32, trend_id: &str, trend: &impl Serialize) -> Result<Self, ProvDbError> {
        let key = format!("{pid}:{trend_id}");
        Self::new(Collection::Trends, 0, key, trend)
    }

    /// Creates a document of a call stack tree; its key is program and label.
    ///
    /// # Errors
    /// The record has a value that JSON cannot represent, such as a score that is not a number.
    pub fn tree(record: &TreeRecord) -> Result<Self, ProvDbError> {
        let key = format!("{}:{}", record.pid, record.event_id);
        let judged = record.judged.iter();
        let numbers = judged.flat_map(|it| [it.score, it.p_value]);
        if !numbers.chain([record.outlier_score]).all(f64::is_finite) {
            return Err(bad(
                Collection::Trees,
                &key,
                "a score is not a finite number",
            ));
        }
        let columns = Columns::of_tree(record);
        Self::new(Collection::Trees, record.rid, key, record).map(|it| Self { columns, ..it })
    }

    /// Returns the values of its columns; this also validates the document.
    ///
    /// # Errors
    /// [`ProvDbError::BadDocument`].
    pub fn read_columns(&self) -> Result<Columns, ProvDbError> {
        let columns = Columns::of(&self.json, self.columns.as_ref());
        columns.map_err(|cause| bad(self.collection, &self.key, &cause))
    }

    fn new(
        collection: Collection,
        rank: u32,
        key: String,
        record: &impl Serialize,
    ) -> Result<Self, ProvDbError> {
        let mut json = Vec::with_capacity(INITIAL_CAPACITY_BYTES);
        let written = serde_json::to_writer(&mut json, record).map_err(|cause| cause.to_string());
        let text =
            written.and_then(|()| String::from_utf8(json).map_err(|cause| cause.to_string()));
        match text {
            Ok(mut json) => {
                json.shrink_to_fit();
                Ok(Self::from_json(collection, rank, key, json))
            }
            Err(cause) => Err(bad(collection, &key, &cause)),
        }
    }
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

    #[test]
    fn an_invalid_document_is_refused_with_its_key() {
        for json in [
            "",
            "[]",
            "{",
            r#"{"fid":"x"}"#,
            r#"{"__id":1}"#,
            r#"{"a":1} x"#,
            r#"{"a":"x\u0000"}"#,
            r#"{"a":"\\\u0000"}"#,
        ] {
            let document = Document::from_json(Collection::Anomalies, 0, "0:0:1:2", json);
            let error = document.read_columns().expect_err(json).to_string();
            assert!(
                error.contains("0:0:1:2") && error.contains("anomalies"),
                "{error}"
            );
        }
    }
}
