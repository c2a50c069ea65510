//! Plain SQL of users: one SELECT that only reads the collections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use callgrove_provdb::{ProvDbError, ReadBounds, SqlTable};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode};
use serde_json::Value;

use super::memory_watch::MemoryWatch;

/// SQLite's limits for one statement: a text or blob holds two documents of the maximum size, and a compiled statement
/// can join every collection of 64 shards with itself.
const LIMITS: [(Limit, i32); 4] = [
    (Limit::SQLITE_LIMIT_LENGTH, 32 << 20),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
    (Limit::SQLITE_LIMIT_VDBE_OP, 1 << 20),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1 << 10),
];

/// Number of SQLite's virtual machine steps between checks of the bounds; a step on a large document can take a
/// millisecond.
pub(super) const STEPS_PER_CHECK: i32 = 1_000;

/// Functions that load code or return an address of the process.
const UNSAFE_FUNCTIONS: [&str; 2] = ["load_extension", "fts3_tokenizer"];

/// Restricts every statement that is prepared from now on to reading.
pub(super) fn guard(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.authorizer(Some(|context: AuthContext<'_>| match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Function { function_name } if !UNSAFE_FUNCTIONS.contains(&function_name) => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }))
}

/// Runs one SELECT within its bounds. The connection has no progress handler afterwards.
pub(super) fn select(
    connection: &mut Connection,
    sql: &str,
    bounds: &ReadBounds,
) -> Result<SqlTable, ProvDbError> {
    let work_bytes = bounds.limits().work_bytes;
    let takes_too_much = Arc::new(AtomicBool::new(false));
    let is_over = {
        let (bounds, takes_too_much) = (bounds.clone(), Arc::clone(&takes_too_much));
        let memory = MemoryWatch::new(work_bytes);
        move || {
            let is_over = memory.is_over();
            if is_over {
                takes_too_much.store(true, Ordering::Relaxed);
            }
            is_over || bounds.is_over()
        }
    };
    let fail = |cause: Error| failure(&cause, bounds);
    connection
        .progress_handler(STEPS_PER_CHECK, Some(is_over))
        .map_err(fail)?;
    // Statements of the query language have no such limits.
    let mut before = Vec::with_capacity(LIMITS.len());
    for (limit, most) in LIMITS {
        before.push((limit, connection.set_limit(limit, most).map_err(fail)?));
    }
    let table = read(connection, sql, bounds);
    for (limit, most) in before {
        connection.set_limit(limit, most).map_err(fail)?;
    }
    connection
        .progress_handler(0, None::<fn() -> bool>)
        .map_err(fail)?;
    if takes_too_much.load(Ordering::Relaxed) {
        let limit_mib = work_bytes >> 20;
        return Err(ProvDbError::PlainSql(format!(
            "the statement takes more than {limit_mib} MiB of memory"
        )));
    }
    table
}

fn read(connection: &Connection, sql: &str, bounds: &ReadBounds) -> Result<SqlTable, ProvDbError> {
    let fail = |cause: Error| failure(&cause, bounds);
    let mut statement = connection.prepare(sql).map_err(fail)?;
    if statement.parameter_count() > 0 {
        return Err(ProvDbError::PlainSql(
            "the statement has parameters".to_owned(),
        ));
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut num_bytes = 0;
    let mut rows = Vec::new();
    let mut found = statement.query(()).map_err(fail)?;
    while let Some(row) = found.next().map_err(fail)? {
        let mut values = Vec::with_capacity(columns.len());
        for index in 0..columns.len() {
            let value = row.get_ref(index).map_err(fail)?;
            let text = value.as_bytes_or_null().ok().flatten();
            num_bytes += size_of::<Value>() + text.map_or(0, <[u8]>::len);
            values.push(to_json(value));
        }
        num_bytes += size_of::<Vec<Value>>();
        rows.push(values);
        bounds.check_size(rows.len(), num_bytes)?;
    }
    Ok(SqlTable { columns, rows })
}

/// Bytes that are not text become hexadecimal digits.
fn to_json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(it) => it.into(),
        ValueRef::Real(it) => it.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => {
            let digits = bytes.iter().flat_map(|it| [it >> 4, it & 15]);
            let hex: String = digits
                .filter_map(|it| char::from_digit(u32::from(it), 16))
                .collect();
            hex.into()
        }
    }
}

fn failure(error: &Error, bounds: &ReadBounds) -> ProvDbError {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => bounds.failure(),
        Some(ErrorCode::AuthorizationForStatementDenied) => {
            ProvDbError::PlainSql("it does more than read".to_owned())
        }
        _ => ProvDbError::PlainSql(error.to_string()),
    }
}
