//! Claims of ranks by advisory locks of the server, which are released with their connection.

use std::sync::{Arc, Mutex, PoisonError};

use callgrove_provdb::{Claim, ProvDbError};

use super::advisory_lock;
use super::connection::PostgresConnection;

/// Claims a rank on a connection, for the lifetime of the claim.
pub(super) fn claim(
    shared: &Arc<Mutex<PostgresConnection>>,
    program: u32,
    rank: u32,
    instance: &str,
) -> Result<Claim, ProvDbError> {
    let mut connection = shared.lock().unwrap_or_else(PoisonError::into_inner);
    // The server considers all claims of one connection as one owner's, so check our own claims first.
    let mut holder = connection.claims.get(&(program, rank)).cloned();
    if holder.is_none()
        && !connection.run(|client| advisory_lock::take(client, program, rank, instance))?
    {
        let name = connection.run(|client| advisory_lock::holder_of(client, program, rank))?;
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

/// A locked rank.
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
        if let Some(client) = connection.client() {
            // If this fails, the connection is gone, and with it the lock.
            drop(advisory_lock::release(client, self.program, self.rank));
        }
    }
}
