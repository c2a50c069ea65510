//! `callgrove query`: searches a provenance database.

use std::fmt;
use std::io::{BufWriter, Write as _};
use std::ops::ControlFlow;

use anyhow::{Context, Result};
use callgrove_model::RunIdentity;
use callgrove_provdb::{AccessMode, Collection, Filter, Path, Query, SortKey, Store, check_fields};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::info::run_json;
use crate::args::{QueryArgs, TableFormat};
use crate::connect::{credential, store_options};
use crate::output::{TextTable, print, warn};

pub(crate) fn run(args: &QueryArgs) -> Result<()> {
    let options = store_options(
        AccessMode::ReadOnly,
        None,
        credential(&args.connect)?,
        &args.connect.ca,
    );
    let mut store = callgrove_provdb::open(&args.provdb, &options)?;
    if let Some(sql) = &args.sql {
        let table = store.find_plain_sql(sql)?;
        let rows = table
            .rows
            .iter()
            .map(|row| row.iter().map(text).collect())
            .collect();
        return match args.format {
            TableFormat::Json => print(|out| {
                table.rows.iter().try_for_each(|row| {
                    let fields = table.columns.iter().cloned().zip(row.iter().cloned());
                    writeln!(out, "{}", Value::Object(fields.collect()))
                })
            }),
            format => print_rows(format, &table.columns, rows),
        };
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
    let mut found = Found {
        store: &mut *store,
        query: &query,
        is_filled: vec![false; columns.len()],
        columns: &columns,
    };
    match args.format {
        TableFormat::Json => found.print_json()?,
        TableFormat::Csv => found.print_csv()?,
        TableFormat::Table => found.print_table()?,
    }
    // A requested column that no document has may be a typo.
    let empty = columns.iter().zip(&found.is_filled).filter(|it| !it.1);
    if args.columns.is_some() && args.format != TableFormat::Json {
        for (column, _) in empty {
            warn(&format!("no document has a field named {column}"));
        }
    }
    Ok(())
}

/// The output of a query, document by document.
struct Found<'a> {
    store: &'a mut dyn Store,
    query: &'a Query,
    columns: &'a [String],
    /// True for each column with a value in any document, shape `[n_columns]`.
    is_filled: Vec<bool>,
}

impl Found<'_> {
    fn print_json(&mut self) -> Result<()> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        self.each(|document| Ok(writeln!(out, "{document}")?))?;
        Ok(out.flush()?)
    }

    fn print_csv(&mut self) -> Result<()> {
        let mut csv = csv::Writer::from_writer(std::io::stdout().lock());
        csv.write_record(self.columns)?;
        self.each_row(|row| Ok(csv.write_record(row)?))?;
        Ok(csv.flush()?)
    }

    fn print_table(&mut self) -> Result<()> {
        let header: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let mut table = TextTable::new(&header);
        self.each_row(|row| {
            table.push(row);
            Ok(())
        })?;
        print(|out| table.print(out, 0))
    }

    fn each_row(&mut self, mut take: impl FnMut(Vec<String>) -> Result<()>) -> Result<()> {
        let (names, paths): (Vec<_>, Vec<_>) = self.columns.iter().map(|it| head(it)).unzip();
        let mut is_filled = std::mem::take(&mut self.is_filled);
        self.each(|document| {
            let picked = pick(document, &names)?;
            let cells = picked.into_iter().zip(&paths).zip(&mut is_filled);
            let row = cells.map(|((picked, path), is_filled)| {
                let value = value(picked, *path)?;
                *is_filled |= !value.is_null();
                Ok(text(&value))
            });
            take(row.collect::<Result<_>>()?)
        })?;
        self.is_filled = is_filled;
        Ok(())
    }

    fn each(&mut self, mut take: impl FnMut(&str) -> Result<()>) -> Result<()> {
        let mut result = Ok(());
        self.store.find_each(self.query, &mut |document| {
            result = take(&document);
            match result {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        result
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
        Err(cause) if found.iter().any(Option::is_none) => {
            Err(cause).context("a stored document is damaged")
        }
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
        None => serde_json::from_str(json).context("a stored document is damaged"),
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

pub(super) fn print_rows(
    format: TableFormat,
    columns: &[String],
    rows: Vec<Vec<String>>,
) -> Result<()> {
    if format == TableFormat::Csv {
        let mut csv = csv::Writer::from_writer(std::io::stdout().lock());
        csv.write_record(columns)?;
        rows.iter().try_for_each(|row| csv.write_record(row))?;
        return Ok(csv.flush()?);
    }
    let header: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&header);
    for row in rows {
        table.push(row);
    }
    print(|out| table.print(out, 0))
}
