//! `callgrove query`: searches a provenance database.

use std::io::Write;
use std::ops::ControlFlow;

use anyhow::Result;
use callgrove_export::{ColumnType, SinkFormat, TableCell, TableColumn, UntypedTable};
use callgrove_model::RunIdentity;
use callgrove_provdb::{
    AccessMode, Collection, FieldType, Filter, Path, Query, SortKey, SqlTable, Store, check_fields,
    field_types,
};
use callgrove_tables::{DocumentColumns, default_document_columns, run_identity_json};
use serde_json::Value;

use crate::connect::{credential, store_options};
use crate::output::warn;
use crate::table_output::TableDestination;
use callgrove_args::QueryArgs;

pub(crate) fn run(args: &QueryArgs) -> Result<()> {
    let destination = TableDestination::of(&args.table)?;
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
    let names = requested.unwrap_or_else(|| default_document_columns(collection));
    let columns = columns(collection, &names)?;
    let mut read = DocumentColumns::new(&names);
    let table_name = collection.to_string();
    let table = UntypedTable::new(&table_name, &columns);
    destination.write(|out| {
        out.rows_of(&table, |sink| {
            let mut result = Ok(());
            store.find_each(query, &mut |json| {
                let row = read.read(json).map_err(anyhow::Error::from);
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
    let empty = names.iter().zip(read.is_filled()).filter(|it| !it.1);
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
        SinkFormat::Json => Ok(writeln!(out, "{}", run_identity_json(run))?),
        SinkFormat::Csv | SinkFormat::Parquet => {
            let columns = ["id", "description", "identity"].map(TableColumn::text);
            let identity = serde_json::to_string(run)?;
            let cells = [run.id(), run.to_string(), identity].map(TableCell::Text);
            out.rows(&UntypedTable::new("run", &columns), [((), cells.into())])
        }
    })
}
