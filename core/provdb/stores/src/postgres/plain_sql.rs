//! Plain SQL of users: one SELECT, read through a cursor in a read-only transaction.

use callgrove_provdb::{ProvDbError, ReadBounds, SqlTable};
use postgres::error::SqlState;
use postgres::types::Type;
use postgres::{Error, SimpleQueryMessage, Transaction};
use serde_json::{Number, Value};

use super::connection::{PostgresConnection, message_of};

/// Number of rows per fetch. One of them may be as large as a document.
const ROWS_PER_FETCH: u32 = 64;

/// Runs one SELECT within its bounds, which the connection enforces.
pub(super) fn select(
    connection: &mut PostgresConnection,
    sql: &str,
    bounds: &ReadBounds,
) -> Result<SqlTable, ProvDbError> {
    // Connection errors are handled first, so that later failures are those of the statement.
    connection.run(|client| client.batch_execute(""))?;
    let Some(client) = connection.client() else {
        return Ok(SqlTable::default());
    };
    let wrong = |error: Error| failure(&error, bounds);
    let mut transaction = client
        .build_transaction()
        .read_only(true)
        .start()
        .map_err(wrong)?;
    let table = read(&mut transaction, sql, bounds);
    transaction.rollback().map_err(wrong)?;
    table
}

fn failure(error: &Error, bounds: &ReadBounds) -> ProvDbError {
    if error.code() == Some(&SqlState::QUERY_CANCELED) {
        return bounds.failure();
    }
    ProvDbError::PlainSql(message_of(error))
}

fn read(
    transaction: &mut Transaction<'_>,
    sql: &str,
    bounds: &ReadBounds,
) -> Result<SqlTable, ProvDbError> {
    let wrong = |error: Error| failure(&error, bounds);
    let refuse = |cause: &str| Err(ProvDbError::PlainSql(cause.to_owned()));
    // Only a prepared statement is known to be a single one, and only a SELECT that writes nothing gets a cursor.
    let statement = transaction.prepare(sql).map_err(wrong)?;
    if statement.columns().is_empty() {
        return refuse("the statement returns nothing");
    }
    if !statement.params().is_empty() {
        return refuse("the statement has parameters");
    }
    transaction
        .batch_execute(&format!(
            "declare callgrove_rows no scroll cursor for {sql}"
        ))
        .map_err(wrong)?;
    let mut table = SqlTable {
        columns: statement
            .columns()
            .iter()
            .map(|it| it.name().to_owned())
            .collect(),
        rows: Vec::new(),
    };
    let types: Vec<&Type> = statement
        .columns()
        .iter()
        .map(postgres::Column::type_)
        .collect();
    let mut num_bytes = 0;
    loop {
        let fetch = format!("fetch {ROWS_PER_FETCH} from callgrove_rows");
        let messages = transaction.simple_query(&fetch).map_err(wrong)?;
        let before = table.rows.len();
        for message in &messages {
            let SimpleQueryMessage::Row(row) = message else {
                continue;
            };
            let texts = (0..row.len()).map(|index| row.get(index));
            num_bytes += size_of::<Vec<Value>>();
            num_bytes += texts
                .clone()
                .map(|it| size_of::<Value>() + it.map_or(0, str::len))
                .sum::<usize>();
            table.rows.push(
                texts
                    .zip(&types)
                    .map(|(text, kind)| to_json(text, kind))
                    .collect(),
            );
        }
        bounds.check_size(table.rows.len(), num_bytes)?;
        // Each fetch is a statement with its own timeout.
        bounds.check()?;
        if table.rows.len() == before {
            return Ok(table);
        }
    }
}

/// Converts a value that the server wrote as text. Numbers that JSON cannot represent stay text.
fn to_json(text: Option<&str>, kind: &Type) -> Value {
    let Some(text) = text else {
        return Value::Null;
    };
    let as_text = || text.to_owned().into();
    match *kind {
        Type::BOOL => (text == "t").into(),
        Type::INT2
        | Type::INT4
        | Type::INT8
        | Type::OID
        | Type::FLOAT4
        | Type::FLOAT8
        | Type::NUMERIC => {
            let float = || {
                text.parse()
                    .ok()
                    .and_then(Number::from_f64)
                    .map(Value::Number)
            };
            text.parse::<i64>()
                .map(Value::from)
                .ok()
                .or_else(float)
                .unwrap_or_else(as_text)
        }
        Type::JSON | Type::JSONB => serde_json::from_str(text).unwrap_or_else(|_| as_text()),
        _ => as_text(),
    }
}
