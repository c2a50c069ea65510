//! Claims of ranks, by advisory locks of the server, which vanish with their connection.

use std::sync::{Arc, Mutex, PoisonError};

use postgres::{Client, Error};

use crate::{Claim, ProvDbError};

use super::connection::PostgresConnection;

/// The lock of a rank: one number for each schema, program and rank.
const LOCK: &str =
    "hashtextextended(current_schema() || ' ' || $1::bigint || ' ' || $2::bigint, 4711)";

/// Claims a rank on a connection, for as long as the claim lives.
pub(super) fn claim(
    shared: &Arc<Mutex<PostgresConnection>>,
    program: u32,
    rank: u32,
    instance: &str,
) -> Result<Claim, ProvDbError> {
    let mut connection = shared.lock().unwrap_or_else(PoisonError::into_inner);
    // To the server, all claims of one connection are of one owner.
    let mut holder = connection.claims.get(&(program, rank)).cloned();
    if holder.is_none() && !connection.run(|client| take(client, program, rank, instance))? {
        let name = connection.run(|client| holder_of(client, program, rank))?;
        holder = Some(name.unwrap_or_else(|| "another instance".to_owned()));
    }
    if let Some(holder) = holder {
        let place = connection.place().to_owned();
        return Err(ProvDbError::Claimed {
            holder,
            program,
            rank,
            place,
        });
    }
    connection
        .claims
        .insert((program, rank), instance.to_owned());
    drop(connection);
    Ok(Claim::new(
        program,
        rank,
        RankLock {
            connection: Arc::clone(shared),
            program,
            rank,
        },
    ))
}

/// Tries to lock a rank, and tells the server who did.
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

/// The name of the connection that has a rank, where the server shows it.
fn holder_of(client: &mut Client, program: u32, rank: u32) -> Result<Option<String>, Error> {
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

/// A rank that is held.
struct RankLock {
    connection: Arc<Mutex<PostgresConnection>>,
    program: u32,
    rank: u32,
}

impl Drop for RankLock {
    fn drop(&mut self) {
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        connection.claims.remove(&(self.program, self.rank));
        let sql = format!("select pg_advisory_unlock({LOCK})");
        if let Some(client) = connection.client() {
            // If this fails the connection is gone, and the lock with it.
            drop(client.execute(&sql, &[&i64::from(self.program), &i64::from(self.rank)]));
        }
    }
}
