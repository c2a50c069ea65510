//! Deletes documents by retention rules.

use std::path::Path;

use callgrove_provdb::{Collection, ProvDbError};
use rusqlite::Connection;

use super::super::error::at;
use super::exclusive::hold_newest;
use crate::retention::{RetentionMode, RetentionRules, RetentionSummary};

/// Counts or deletes the documents that match `rules`, in one transaction for each shard.
pub(crate) fn retain(
    folder: &Path,
    rules: &RetentionRules,
    mode: RetentionMode,
) -> Result<RetentionSummary, ProvDbError> {
    let mut files = hold_newest(folder)?;
    files.retain(|file| !file.is_global);
    let mut newest_us: Option<i64> = None;
    for file in &files {
        for collection in Collection::OF_STEPS {
            let sql = rules.newest_sql(collection);
            let newest = file.connection.query_row(&sql, (), |row| row.get(0));
            newest_us = newest_us.max(newest.map_err(at(&file.path))?);
        }
    }
    let resolved = rules.resolved(newest_us);
    let mut retained = RetentionSummary::default();
    for file in &mut files {
        let fail = at(&file.path);
        let transaction = file.connection.transaction().map_err(&fail)?;
        for collection in Collection::OF_STEPS {
            let condition = resolved.condition(collection);
            let num_all = count(&transaction, collection, "1 = 1").map_err(&fail)?;
            let num_matching = match mode {
                RetentionMode::Count => count(&transaction, collection, &condition),
                RetentionMode::Delete => delete(&transaction, collection, &condition),
            };
            retained.add(collection, num_matching.map_err(&fail)?, num_all);
        }
        transaction.commit().map_err(&fail)?;
    }
    Ok(retained)
}

fn count(connection: &Connection, table: Collection, condition: &str) -> rusqlite::Result<u64> {
    let sql = format!("select count(*) from {table} where {condition}");
    let number: i64 = connection.query_row(&sql, (), |row| row.get(0))?;
    Ok(number.unsigned_abs())
}

fn delete(connection: &Connection, table: Collection, condition: &str) -> rusqlite::Result<u64> {
    let sql = format!("delete from {table} where {condition}");
    let number = connection.execute(&sql, ())?;
    Ok(u64::try_from(number).unwrap_or(u64::MAX))
}
