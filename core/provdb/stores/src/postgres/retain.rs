//! Deletes documents by retention rules.

use callgrove_provdb::{Collection, ProvDbError};
use postgres::{Error, GenericClient, Row};

use super::PostgresStore;
use super::advisory_lock::LOCK;
use crate::retention::{ResolvedRules, RetentionMode, RetentionRules, RetentionSummary};

impl PostgresStore {
    /// Counts or deletes the documents that match `rules`, all or nothing.
    pub(crate) fn retain(
        &mut self,
        rules: &RetentionRules,
        mode: RetentionMode,
    ) -> Result<RetentionSummary, ProvDbError> {
        let done = self.writable()?.run(|client| {
            let mut transaction = client.transaction()?;
            if let Some(holder) = holder_of_any(&mut transaction)? {
                return Ok(Err(holder));
            }
            let mut newest_us: Option<i64> = None;
            for collection in Collection::OF_STEPS {
                let row = transaction.query_one(&rules.newest_sql(collection), &[])?;
                newest_us = newest_us.max(row.get(0));
            }
            let resolved = rules.resolved(newest_us);
            let mut retained = RetentionSummary::default();
            for collection in Collection::OF_STEPS {
                let num_all = count(&mut transaction, collection, "true")?;
                let number = matching(&mut transaction, collection, &resolved, mode)?;
                retained.add(collection, number, num_all);
            }
            transaction.commit()?;
            Ok(Ok(retained))
        })?;
        done.map_err(|holder| ProvDbError::InUse(format!("{}, which {holder} writes", self.place)))
    }
}

fn matching(
    client: &mut impl GenericClient,
    collection: Collection,
    rules: &ResolvedRules,
    mode: RetentionMode,
) -> Result<u64, Error> {
    let condition = rules.condition(collection);
    match mode {
        RetentionMode::Count => count(client, collection, &condition),
        RetentionMode::Delete => {
            let sql = format!("delete from {collection} where {condition}");
            client.execute(&sql, &[])
        }
    }
}

fn count(
    client: &mut impl GenericClient,
    collection: Collection,
    condition: &str,
) -> Result<u64, Error> {
    let sql = format!("select count(*) from {collection} where {condition}");
    Ok(client.query_one(&sql, &[])?.get::<_, i64>(0).unsigned_abs())
}

/// Returns the name of a connection that holds any rank with documents.
fn holder_of_any(client: &mut impl GenericClient) -> Result<Option<String>, Error> {
    let lock = LOCK.replace("$1", "pid").replace("$2", "rid");
    let ranks = Collection::ALL
        .into_iter()
        .filter(|it| !it.is_global())
        .map(|it| format!("select pid, rid from {it}"))
        .collect::<Vec<_>>()
        .join(" union ");
    let sql = format!(
        "select application_name from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and \
         granted and objsubid = 1 and pg_locks.database = (select oid from pg_database where datname = \
         current_database()) and (classid::bigint << 32) | objid::bigint in (select {lock} from ({ranks}) as ranks)"
    );
    let row = client.query_opt(&format!("{sql} limit 1"), &[])?;
    let name = |row: Row| row.get::<_, Option<String>>(0).filter(|it| !it.is_empty());
    Ok(row.map(|row| name(row).unwrap_or_else(|| "another instance".to_owned())))
}
