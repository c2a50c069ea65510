//! Documents of a provenance database as rows of a table.

use std::fmt;

use callgrove_export::TableCell;
use callgrove_watch::Collection;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A document is not the JSON that it was.
#[derive(Debug, thiserror::Error)]
#[error("a stored document is damaged")]
pub struct DamagedDocument(#[source] serde_json::Error);

/// The columns of a table of documents: fields, each with the path below it.
pub struct DocumentColumns<'a> {
    fields: Vec<&'a str>,
    paths: Vec<Option<&'a str>>,
    /// True for columns that a row has filled, shape `[n_columns]`.
    is_filled: Vec<bool>,
}

impl<'a> DocumentColumns<'a> {
    /// Returns the columns with these names, `a.b.c`.
    pub fn new(names: &'a [String]) -> Self {
        let (fields, paths) = names.iter().map(|it| head(it)).unzip();
        Self {
            fields,
            paths,
            is_filled: vec![false; names.len()],
        }
    }

    /// Returns a document and its cells, shape `[n_columns]`.
    ///
    /// # Errors
    /// The document is damaged.
    pub fn read(&mut self, json: String) -> Result<(StoredJson, Vec<TableCell>), DamagedDocument> {
        let picked = pick(&json, &self.fields)?;
        let cells = picked.into_iter().zip(&self.paths).zip(&mut self.is_filled);
        let cells = cells.map(|((picked, path), is_filled)| {
            let value = value(picked, *path)?;
            *is_filled |= !value.is_null();
            Ok(TableCell::of_json(value))
        });
        let cells = cells.collect::<Result<_, DamagedDocument>>()?;
        Ok((StoredJson(json), cells))
    }

    /// Returns whether any document had a value in a column, shape `[n_columns]`.
    pub fn is_filled(&self) -> &[bool] {
        &self.is_filled
    }
}

/// A document as it is stored. Only formats that print it parse all of it.
pub struct StoredJson(String);

impl Serialize for StoredJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let damaged = |cause: serde_json::Error| {
            let text = cause.to_string();
            S::Error::custom(format_args!("{}: {text}", DamagedDocument(cause)))
        };
        let json: &RawValue = serde_json::from_str(&self.0).map_err(damaged)?;
        json.serialize(serializer)
    }
}

/// Returns the default columns of a collection.
pub fn default_document_columns(collection: Collection) -> Vec<String> {
    let columns: &[&str] = match collection {
        Collection::Anomalies | Collection::NormalExecs => &[
            "event_id",
            "pid",
            "rid",
            "tid",
            "io_step",
            "outlier_score",
            "outlier_severity",
            "runtime_exclusive",
            "runtime_total",
            "func",
        ],
        Collection::Metadata => &["pid", "rid", "tid", "descr", "value"],
        Collection::FuncStats => &[
            "app",
            "fid",
            "anomaly_metrics.anomaly_count.accumulate",
            "anomaly_metrics.score.maximum",
            "anomaly_metrics.severity.accumulate",
            "runtime_profile.exclusive_runtime.count",
            "runtime_profile.exclusive_runtime.mean",
            "runtime_profile.inclusive_runtime.mean",
            "fname",
        ],
        Collection::CounterStats => &[
            "app",
            "stats.count",
            "stats.mean",
            "stats.minimum",
            "stats.maximum",
            "counter",
        ],
        Collection::AdModel => &["pid", "fid", "func_name"],
        Collection::Incidents => &[
            "incident_id",
            "io_step",
            "start",
            "delay",
            "num_ranks",
            "num_executions",
            "kind",
            "rid",
            "own_delay",
            "event_id",
            "func",
        ],
        Collection::Trends => &[
            "trend_id", "holds", "kind", "cost", "own", "usual", "factor", "words", "doubt",
        ],
        Collection::Trees => &[
            "event_id",
            "io_step",
            "is_sample",
            "judged.is_anomaly",
            "judged.score",
            "judged.p_value",
            "judged.version",
            "runtime_total",
            "num_calls",
            "func",
        ],
    };
    columns.iter().map(ToString::to_string).collect()
}

/// Returns the unparsed values of an object under `names`. A document has thousands of values and a row shows ten, so
/// parsing stops after the last of them.
fn pick<'d>(json: &'d str, names: &[&str]) -> Result<Vec<Option<&'d RawValue>>, DamagedDocument> {
    let mut found = vec![None; names.len()];
    let fields = Fields {
        names,
        found: &mut found,
    };
    match fields.deserialize(&mut serde_json::Deserializer::from_str(json)) {
        Err(cause) if found.iter().any(Option::is_none) => Err(DamagedDocument(cause)),
        _ => Ok(found),
    }
}

/// The names that [`pick`] looks for, and the values found.
struct Fields<'a, 'd> {
    names: &'a [&'a str],
    /// Values by name, shape `[n_names]`.
    found: &'a mut [Option<&'d RawValue>],
}

impl<'de> DeserializeSeed<'de> for Fields<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, object: D) -> Result<(), D::Error> {
        object.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_, 'de> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(name) = object.next_key::<String>()? {
            if !self.names.contains(&name.as_str()) {
                object.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: &RawValue = object.next_value()?;
            let named = self.names.iter().zip(&mut *self.found);
            named
                .filter(|(it, _)| **it == name)
                .for_each(|(_, found)| *found = Some(value));
            if self.found.iter().all(Option::is_some) {
                return Err(A::Error::custom("the rest is not needed"));
            }
        }
        Ok(())
    }
}

/// Returns a picked value, or its value under a path, `a.b.c`; null if it does not exist.
fn value(picked: Option<&RawValue>, path: Option<&str>) -> Result<Value, DamagedDocument> {
    let Some(json) = picked.map(RawValue::get) else {
        return Ok(Value::Null);
    };
    match path.map(head) {
        None => serde_json::from_str(json).map_err(DamagedDocument),
        Some((name, rest)) if json.starts_with('{') => value(pick(json, &[name])?[0], rest),
        Some(_) => Ok(Value::Null),
    }
}

/// Returns the first name of a path, `a.b.c`, and the rest of the path.
fn head(path: &str) -> (&str, Option<&str>) {
    path.split_once('.')
        .map_or((path, None), |(name, rest)| (name, Some(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_json_is_printed_as_it_is_unless_damaged() {
        let stored = r#"{"b": 1.50, "a":[1e3] }"#;
        let printed = |json: &str| serde_json::to_string(&StoredJson(json.to_owned()));
        assert_eq!(printed(stored).unwrap(), stored);
        let error = printed(&stored[..9]).unwrap_err().to_string();
        assert!(error.starts_with("a stored document is damaged"), "{error}");
    }
}
