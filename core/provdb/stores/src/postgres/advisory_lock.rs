//! The advisory lock of a rank on the server.

use postgres::{Client, Error};

/// SQL expression for the lock of a rank: one number for each schema, program and rank.
pub(super) const LOCK: &str =
    "hashtextextended(current_schema() || ' ' || $1::bigint || ' ' || $2::bigint, 4711)";

/// Tries to lock a rank, and records the holder's name on the server.
pub(super) fn take(
    client: &mut Client,
    program: u32,
    rank: u32,
    instance: &str,
) -> Result<bool, Error> {
    let params = [i64::from(program), i64::from(rank)];
    let sql = format!("select pg_try_advisory_lock({LOCK})");
    let is_taken = client.query_one(&sql, &[&params[0], &params[1]])?.get(0);
    if is_taken {
        client.execute(
            "select set_config('application_name', $1, false)",
            &[&instance],
        )?;
    }
    Ok(is_taken)
}

/// Returns the name of the connection that holds a rank, if the server shows it.
pub(super) fn holder_of(
    client: &mut Client,
    program: u32,
    rank: u32,
) -> Result<Option<String>, Error> {
    let sql = format!(
        "select application_name from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and \
         granted and objsubid = 1 and pg_locks.database = (select oid from pg_database where datname = \
         current_database()) and (classid::bigint << 32) | objid::bigint = {LOCK}"
    );
    let row = client.query_opt(&sql, &[&i64::from(program), &i64::from(rank)])?;
    Ok(row
        .and_then(|row| row.get::<_, Option<String>>(0))
        .filter(|name| !name.is_empty()))
}

/// Unlocks a rank.
pub(super) fn release(client: &mut Client, program: u32, rank: u32) -> Result<(), Error> {
    let sql = format!("select pg_advisory_unlock({LOCK})");
    client
        .execute(&sql, &[&i64::from(program), &i64::from(rank)])
        .map(|_| ())
}
