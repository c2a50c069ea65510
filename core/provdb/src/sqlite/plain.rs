//! Plain SQL of users: one SELECT, which reads the collections and nothing else.

use std::time::{Duration, Instant};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};
use serde_json::Value;

use crate::{ProvDbError, SqlTable};

/// Longest that a query may run.
const MOST_TIME: Duration = Duration::from_mins(1);
/// Most bytes of an answer.
const MOST_BYTES: u64 = 256 << 20;
/// Steps of SQLite's machine between two looks at the clock.
const STEPS_PER_LOOK: i32 = 100_000;

/// Keeps every statement that is prepared from now on from doing anything but reading.
pub(super) fn guard(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.authorizer(Some(|context: AuthContext<'_>| match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Function { function_name } if function_name != "load_extension" => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }))
}

/// Answers one SELECT.
pub(super) fn select(connection: &mut Connection, sql: &str) -> Result<SqlTable, ProvDbError> {
    let start = Instant::now();
    let is_late = move || start.elapsed() > MOST_TIME;
    connection
        .progress_handler(STEPS_PER_LOOK, Some(is_late))
        .map_err(|cause| wrong(&cause))?;
    let table = read(connection, sql);
    connection
        .progress_handler(0, None::<fn() -> bool>)
        .map_err(|cause| wrong(&cause))?;
    table
}

fn read(connection: &Connection, sql: &str) -> Result<SqlTable, ProvDbError> {
    let fail = |cause: Error| wrong(&cause);
    let mut statement = connection.prepare(sql).map_err(fail)?;
    if statement.parameter_count() > 0 {
        return Err(ProvDbError::PlainSql(
            "the statement has parameters".to_owned(),
        ));
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found_bytes = 0;
    let mut rows = Vec::new();
    let mut found = statement.query(()).map_err(fail)?;
    while let Some(row) = found.next().map_err(fail)? {
        let mut values = Vec::with_capacity(columns.len());
        for index in 0..columns.len() {
            let value = row.get_ref(index).map_err(fail)?;
            found_bytes += size_of::<Value>() as u64
                + value
                    .as_bytes_or_null()
                    .ok()
                    .flatten()
                    .map_or(0, |it| it.len() as u64);
            values.push(to_json(value));
        }
        rows.push(values);
        if found_bytes > MOST_BYTES {
            return Err(ProvDbError::TooLarge {
                what: "the answer".to_owned(),
                found_bytes,
                most_bytes: MOST_BYTES,
                remedy: "ask for fewer columns or rows (LIMIT)",
            });
        }
    }
    Ok(SqlTable { columns, rows })
}

/// Bytes that are no text show as hexadecimal digits.
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

fn wrong(error: &Error) -> ProvDbError {
    ProvDbError::PlainSql(match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::OperationInterrupted) => {
            format!("it ran longer than {} s", MOST_TIME.as_secs())
        }
        Some(rusqlite::ErrorCode::AuthorizationForStatementDenied) => {
            "it does more than read".to_owned()
        }
        _ => error.to_string(),
    })
}
