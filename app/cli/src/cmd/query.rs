//! `callgrove query`: searches a provenance database.

use std::fmt;
use std::ops::ControlFlow;

use anyhow::{Context, Result};
use callgrove_export::UntypedTable;
use callgrove_model::RunIdentity;
use callgrove_provdb::{AccessMode, Collection, Filter, Path, Query, SortKey, check_fields};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::info::run_json;
use crate::args::{QueryArgs, TableFormat};
use crate::connect::{credential, store_options};
use crate::output::{print, print_rows, print_table, warn};

/// The error of a document that is not the JSON that it was.
const DAMAGED: &str = "a stored document is damaged";

pub(crate) fn run(args: &QueryArgs) -> Result<()> {
    let options = store_options(
        AccessMode::ReadOnly,
        None,
        credential(&args.connect)?,
        &args.connect.ca,
    );
    let mut store = callgrove_provdb::open(&args.provdb, &options)?;
    if let Some(sql) = &args.sql {
        let found = store.find_plain_sql(sql)?;
        let columns = &found.columns;
        let rows = found.rows.into_iter().map(|row| {
            let cells = row.iter().map(text).collect();
            let fields = columns.iter().cloned().zip(row);
            (Value::Object(fields.collect()), cells)
        });
        return print_rows(args.format, &UntypedTable::new(columns), rows);
    }
    if args.collection == "run" {
        return print_run(args, &store.run()?.unwrap_or_default());
    }
    let collection: Collection = args.collection.parse()?;
    let query = query(args, collection)?;
    let named = args.columns.iter().flatten();
    let named: Vec<Path> = named
        .map(|it| Path::of_names(it.split('.')))
        .collect::<Result<_, _>>()?;
    check_fields(store.as_mut(), &query, &named)?;
    if args.count {
        let count = store.count(&query)?;
        return print(|out| writeln!(out, "{count}"));
    }
    let columns = args
        .columns
        .clone()
        .unwrap_or_else(|| default_columns(collection));
    let (names, paths): (Vec<_>, Vec<_>) = columns.iter().map(|it| head(it)).unzip();
    let mut is_filled = vec![false; columns.len()];
    print_table(args.format, &UntypedTable::new(&columns), |sink| {
        let mut result = Ok(());
        store.find_each(&query, &mut |json| {
            let row = read_row(json, &names, &paths, &mut is_filled);
            result = row.and_then(|row| Ok(sink.write(&row)?));
            match result {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        result
    })?;
    // A requested column that no document has may be a typo.
    let empty = columns.iter().zip(&is_filled).filter(|it| !it.1);
    if args.columns.is_some() && args.format != TableFormat::Json {
        for (column, _) in empty {
            warn(&format!("no document has a field named {column}"));
        }
    }
    Ok(())
}

/// Returns a document and its cells, shape `[n_columns]`. Columns with a value are marked in `is_filled`.
fn read_row(
    json: String,
    names: &[&str],
    paths: &[Option<&str>],
    is_filled: &mut [bool],
) -> Result<(StoredJson, Vec<String>)> {
    let picked = pick(&json, names)?;
    let cells = picked.into_iter().zip(paths).zip(is_filled);
    let cells = cells.map(|((picked, path), is_filled)| {
        let value = value(picked, *path)?;
        *is_filled |= !value.is_null();
        Ok(text(&value))
    });
    let cells = cells.collect::<Result<_>>()?;
    Ok((StoredJson(json), cells))
}

/// A document as it is stored. Only formats that print it parse all of it.
struct StoredJson(String);

impl Serialize for StoredJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let damaged = |cause| S::Error::custom(format_args!("{DAMAGED}: {cause}"));
        let json: &RawValue = serde_json::from_str(&self.0).map_err(damaged)?;
        json.serialize(serializer)
    }
}

fn query(args: &QueryArgs, collection: Collection) -> Result<Query> {
    let sort = args.sort.as_deref().map(|field| {
        let field = match field {
            "score" => "outlier_score",
            "severity" => "outlier_severity",
            field => field,
        };
        Path::parse(field).map(|path| SortKey {
            path,
            is_descending: !args.ascending,
        })
    });
    Ok(Query {
        collection,
        filter: args.filter.as_deref().map(Filter::parse).transpose()?,
        sort: sort.transpose()?,
        limit: args.limit,
        offset: args.offset.unwrap_or(0),
    })
}

fn print_run(args: &QueryArgs, run: &RunIdentity) -> Result<()> {
    print(|out| match args.format {
        TableFormat::Json => writeln!(out, "{}", run_json(run)),
        _ => writeln!(out, "{run} ({})", run.id()),
    })
}

/// Returns the default columns of a collection.
fn default_columns(collection: Collection) -> Vec<String> {
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
fn pick<'d>(json: &'d str, names: &[&str]) -> Result<Vec<Option<&'d RawValue>>> {
    let mut found = vec![None; names.len()];
    let fields = Fields {
        names,
        found: &mut found,
    };
    match fields.deserialize(&mut serde_json::Deserializer::from_str(json)) {
        Err(cause) if found.iter().any(Option::is_none) => Err(cause).context(DAMAGED),
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
fn value(picked: Option<&RawValue>, path: Option<&str>) -> Result<Value> {
    let Some(json) = picked.map(RawValue::get) else {
        return Ok(Value::Null);
    };
    match path.map(head) {
        None => serde_json::from_str(json).context(DAMAGED),
        Some((name, rest)) if json.starts_with('{') => value(pick(json, &[name])?[0], rest),
        Some(_) => Ok(Value::Null),
    }
}

/// Returns the first name of a path, `a.b.c`, and the rest of the path.
fn head(path: &str) -> (&str, Option<&str>) {
    path.split_once('.')
        .map_or((path, None), |(name, rest)| (name, Some(rest)))
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => {
                let rounded = format!("{float:.3}");
                rounded
                    .trim_end_matches('0')
                    .trim_end_matches('.')
                    .to_owned()
            }
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
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
        assert!(error.starts_with(DAMAGED), "{error}");
    }
}
