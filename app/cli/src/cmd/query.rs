//! `callgrove query`: searches a provenance database.

use std::fmt;
use std::io::Write;
use std::ops::ControlFlow;

use anyhow::{Context, Result};
use callgrove_export::{ColumnType, SinkFormat, TableCell, TableColumn, UntypedTable};
use callgrove_model::RunIdentity;
use callgrove_provdb::{
    AccessMode, Collection, FieldType, Filter, Path, Query, SortKey, SqlTable, Store, check_fields,
    field_types,
};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::info::run_json;
use crate::args::QueryArgs;
use crate::connect::{credential, store_options};
use crate::output::warn;
use crate::table_output::TableDestination;

/// The error of a document that is not the JSON that it was.
const DAMAGED: &str = "a stored document is damaged";

pub(crate) fn run(args: &QueryArgs) -> Result<()> {
    let destination = args.table.destination()?;
    let options = store_options(
        AccessMode::ReadOnly,
        None,
        credential(&args.connect)?,
        &args.connect.ca,
    );
    let mut store = callgrove_provdb_stores::open(&args.provdb, &options)?;
    if let Some(sql) = &args.sql {
        return write_sql_rows(store.find_plain_sql(sql)?, &destination);
    }
    if args.collection == "run" {
        return write_run(&store.run()?.unwrap_or_default(), &destination);
    }
    let collection: Collection = args.collection.parse()?;
    let query = query(args, collection)?;
    let named = args.columns.iter().flatten();
    let named: Vec<Path> = named.map(|it| path_of(it)).collect::<Result<_>>()?;
    check_fields(store.as_mut(), &query, &named)?;
    if args.count {
        return write_count(store.count(&query)?, &destination);
    }
    write_documents(args, store.as_mut(), &query, &destination)
}

fn path_of(column: &str) -> Result<Path> {
    Ok(Path::of_names(column.split('.'))?)
}

/// Writes the documents of a query as rows.
fn write_documents(
    args: &QueryArgs,
    store: &mut dyn Store,
    query: &Query,
    destination: &TableDestination,
) -> Result<()> {
    let collection = query.collection;
    let requested = args.columns.clone();
    let names = requested.unwrap_or_else(|| default_columns(collection));
    let columns = columns(collection, &names)?;
    let (fields, paths): (Vec<_>, Vec<_>) = names.iter().map(|it| head(it)).unzip();
    let mut is_filled = vec![false; names.len()];
    let table_name = collection.to_string();
    let table = UntypedTable::new(&table_name, &columns);
    destination.write(|out| {
        out.rows_of(&table, |sink| {
            let mut result = Ok(());
            store.find_each(query, &mut |json| {
                let row = read_row(json, &fields, &paths, &mut is_filled);
                result = row.and_then(|row| Ok(sink.write(&row)?));
                match result {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            result
        })
    })?;
    // A requested column that no document has may be a typo.
    let empty = names.iter().zip(&is_filled).filter(|it| !it.1);
    if args.columns.is_some() && destination.format() != SinkFormat::Json {
        for (column, _) in empty {
            warn(&format!("no document has a field named {column}"));
        }
    }
    Ok(())
}

/// Returns the columns for fields of a collection, with the types of its schema. Lists and objects are their JSON.
fn columns(collection: Collection, names: &[String]) -> Result<Vec<TableColumn>> {
    let paths = names.iter().map(|it| path_of(it));
    let types = field_types(collection, &paths.collect::<Result<Vec<_>>>()?)?;
    let column = |(name, kind): (&String, FieldType)| {
        let kind = match kind {
            FieldType::Bool => ColumnType::Bool,
            FieldType::Int => ColumnType::Int,
            FieldType::Float => ColumnType::Float,
            FieldType::Text | FieldType::Any => ColumnType::Text,
        };
        TableColumn::new(name, kind).optional()
    };
    Ok(names.iter().zip(types).map(column).collect())
}

/// Writes the rows of plain SQL. A column has the type of all its values.
fn write_sql_rows(found: SqlTable, destination: &TableDestination) -> Result<()> {
    let names = found.columns;
    let rows = found.rows.into_iter().map(|row| {
        let cells = row.iter().cloned().map(TableCell::of_json).collect();
        let fields = names.iter().cloned().zip(row);
        (Value::Object(fields.collect()), cells)
    });
    let rows: Vec<(Value, Vec<TableCell>)> = rows.collect();
    let column = |(at, name): (usize, &String)| {
        let cells = rows.iter().filter_map(|(_, cells)| cells.get(at));
        TableColumn::new(name, TableCell::common_type(cells)).optional()
    };
    let columns: Vec<TableColumn> = names.iter().enumerate().map(column).collect();
    destination.write_rows(&UntypedTable::new("sql", &columns), rows)
}

fn write_count(count: u64, destination: &TableDestination) -> Result<()> {
    destination.write(|out| match destination.format() {
        SinkFormat::Text | SinkFormat::Json => Ok(writeln!(out, "{count}")?),
        SinkFormat::Csv | SinkFormat::Parquet => {
            let columns = [TableColumn::int("count")];
            let row = ((), vec![TableCell::from(count)]);
            out.rows(&UntypedTable::new("count", &columns), [row])
        }
    })
}

/// Returns a document and its cells, shape `[n_columns]`. Columns with a value are marked in `is_filled`.
fn read_row(
    json: String,
    names: &[&str],
    paths: &[Option<&str>],
    is_filled: &mut [bool],
) -> Result<(StoredJson, Vec<TableCell>)> {
    let picked = pick(&json, names)?;
    let cells = picked.into_iter().zip(paths).zip(is_filled);
    let cells = cells.map(|((picked, path), is_filled)| {
        let value = value(picked, *path)?;
        *is_filled |= !value.is_null();
        Ok(TableCell::of_json(value))
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

/// Returns the order by a field of the documents, or by one of its short names.
pub(super) fn sort_key(field: &str, is_descending: bool) -> Result<SortKey> {
    let field = match field {
        "score" => "outlier_score",
        "severity" => "outlier_severity",
        field => field,
    };
    let path = Path::parse(field)?;
    Ok(SortKey {
        path,
        is_descending,
    })
}

fn query(args: &QueryArgs, collection: Collection) -> Result<Query> {
    let sort = args.sort.as_deref();
    let sort = sort.map(|field| sort_key(field, !args.ascending));
    Ok(Query {
        collection,
        filter: args.filter.as_deref().map(Filter::parse).transpose()?,
        sort: sort.transpose()?,
        limit: args.limit,
        offset: args.offset.unwrap_or(0),
    })
}

fn write_run(run: &RunIdentity, destination: &TableDestination) -> Result<()> {
    destination.write(|out| match destination.format() {
        SinkFormat::Text => Ok(writeln!(out, "{run} ({})", run.id())?),
        SinkFormat::Json => Ok(writeln!(out, "{}", run_json(run))?),
        SinkFormat::Csv | SinkFormat::Parquet => {
            let columns = ["id", "description", "identity"].map(TableColumn::text);
            let identity = serde_json::to_string(run)?;
            let cells = [run.id(), run.to_string(), identity].map(TableCell::Text);
            out.rows(&UntypedTable::new("run", &columns), [((), cells.into())])
        }
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
