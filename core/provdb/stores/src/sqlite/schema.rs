//! Tables of the files, and the numbers that describe their format.

use std::path::Path;

use callgrove_provdb::columns::{COLUMNS, ColumnKind};
use callgrove_provdb::{Collection, ProvDbError};
use rusqlite::{Connection, OptionalExtension};

use super::error::at;

/// Format of the files that this release writes.
pub(super) const FORMAT: u32 = 1;

/// Creates missing tables of a shard or of the global file.
pub(super) fn create_tables(connection: &Connection, is_global: bool) -> rusqlite::Result<()> {
    let kind = |kind| match kind {
        ColumnKind::Int => "integer",
        ColumnKind::Real => "real",
        ColumnKind::Text => "text",
    };
    let columns: Vec<String> = COLUMNS
        .iter()
        .map(|(name, of)| format!("{name} {}", kind(*of)))
        .collect();
    let columns = columns.join(", ");
    let mut sql = String::new();
    for collection in Collection::ALL
        .into_iter()
        .filter(|it| it.is_global() == is_global)
    {
        sql.push_str(&format!(
            "create table if not exists {collection} (id integer primary key, key text not null unique, {columns}, \
             doc text not null) strict;"
        ));
        if matches!(collection, Collection::Anomalies | Collection::NormalExecs) {
            for columns in [
                "rid, io_step",
                "fid",
                "event_id",
                "entry",
                "outlier_score",
                "outlier_severity",
            ] {
                let name = columns.replace(", ", "_");
                sql.push_str(&format!(
                    "create index if not exists {collection}_by_{name} on {collection} ({columns});"
                ));
            }
        }
    }
    if is_global {
        sql.push_str(
            "create table if not exists state (name text primary key, bytes blob not null) strict;",
        );
    }
    connection.execute_batch(&sql)
}

/// Creates the table of format numbers if it is missing.
pub(super) fn create_meta(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "create table if not exists meta (name text primary key, value integer not null) strict",
    )
}

/// Stores a format number.
pub(super) fn set_meta(connection: &Connection, name: &str, value: u32) -> rusqlite::Result<()> {
    connection.execute(
        "insert or replace into meta (name, value) values (?1, ?2)",
        (name, value),
    )?;
    Ok(())
}

/// Returns a format number; `None` in a file that is not initialized yet.
pub(super) fn meta(connection: &Connection, name: &str) -> rusqlite::Result<Option<u32>> {
    if !has_table(connection, "meta")? {
        return Ok(None);
    }
    connection
        .query_row("select value from meta where name = ?1", [name], |row| {
            row.get(0)
        })
        .optional()
}

/// Opens a shard, which has existed with its tables since the database was created.
pub(super) fn open_shard(
    path: &Path,
    connect: impl FnOnce(&Path) -> Result<Connection, ProvDbError>,
) -> Result<Connection, ProvDbError> {
    let damaged = |cause: &str| ProvDbError::Damaged {
        cause: cause.to_owned(),
        place: path.display().to_string(),
    };
    if !path.exists() {
        return Err(damaged("the file is gone"));
    }
    let connection = connect(path)?;
    if !has_table(&connection, Collection::Anomalies.name()).map_err(at(path))? {
        return Err(damaged("the file has no tables any more"));
    }
    Ok(connection)
}

/// Returns whether a file has a table.
pub(super) fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection.query_row(
        "select count(*) > 0 from sqlite_schema where type = 'table' and name = ?1",
        [name],
        |row| row.get(0),
    )
}

/// Returns an error if this release cannot use a database with these format numbers.
pub(super) fn check(
    format: Option<u32>,
    found: Option<u32>,
    asked: Option<u32>,
    place: &str,
) -> Result<(), ProvDbError> {
    let place = || place.to_owned();
    match (format, found, asked) {
        (Some(format), _, _) if format > FORMAT => Err(ProvDbError::NewerFormat {
            found: format,
            known: FORMAT,
            place: place(),
        }),
        (Some(format), _, _) if format < FORMAT => Err(ProvDbError::OlderFormat {
            found: format,
            known: FORMAT,
            place: place(),
        }),
        (_, Some(found), Some(asked)) if found != asked => Err(ProvDbError::NumShards {
            found,
            asked,
            place: place(),
        }),
        _ => Ok(()),
    }
}
