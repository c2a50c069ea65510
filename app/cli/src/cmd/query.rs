//! `callgrove query`: searches a provenance database.

use anyhow::{Context, Result};
use callgrove_model::RunIdentity;
use callgrove_provdb::{AccessMode, Collection, Filter, Path, Query, SortKey};
use serde_json::Value;

use super::info::run_json;
use crate::args::{QueryArgs, TableFormat};
use crate::connect::{open_store, secret, store_options};
use crate::output::{TextTable, print};

pub(crate) fn run(args: &QueryArgs) -> Result<()> {
    let options = store_options(
        AccessMode::ReadOnly,
        None,
        secret(&args.connect)?,
        &args.connect.ca,
    );
    let mut store = open_store(&args.provdb, &options)?;
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
    if args.count {
        let count = store.count(&query)?;
        return print(|out| writeln!(out, "{count}"));
    }
    let documents = store.find(&query)?;
    if args.format == TableFormat::Json {
        return print(|out| {
            documents
                .iter()
                .try_for_each(|json| writeln!(out, "{json}"))
        });
    }
    let columns = args
        .columns
        .clone()
        .unwrap_or_else(|| default_columns(collection));
    let row = |json: &String| -> Result<Vec<String>> {
        let document: Value = serde_json::from_str(json).context("a stored document is damaged")?;
        Ok(columns
            .iter()
            .map(|column| text(field(&document, column)))
            .collect())
    };
    let rows = documents.iter().map(row).collect::<Result<_>>()?;
    print_rows(args.format, &columns, rows)
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

/// What a person wants to see first.
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
            "stood",
            "event_id",
            "func",
        ],
    };
    columns.iter().map(ToString::to_string).collect()
}

/// A field by its path, `a.b.c`; null if the document has none.
fn field<'a>(document: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(document, |value, name| &value[name])
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

fn print_rows(format: TableFormat, columns: &[String], rows: Vec<Vec<String>>) -> Result<()> {
    if format == TableFormat::Csv {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(columns)?;
        rows.iter().try_for_each(|row| csv.write_record(row))?;
        let bytes = csv
            .into_inner()
            .context("a table in memory cannot be written")?;
        return print(|out| out.write_all(&bytes));
    }
    let header: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&header);
    for row in rows {
        table.push(row);
    }
    print(|out| table.print(out, 0))
}
