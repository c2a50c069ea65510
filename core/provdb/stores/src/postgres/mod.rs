//! The store on an existing PostgreSQL server.
//!
//! The tables are in the current schema. Runs are separated by a database each, or by a schema each
//! (`postgres://…/db?options=-csearch_path%3Drun1`). Documents have the type `json`, which preserves the text. Every
//! operation is idempotent, so after a broken connection it is repeated on a new one.

mod advisory_lock;
mod claim;
mod connection;
mod plain_sql;
mod query_sql;
mod retain;
mod schema;
mod trust;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgrove_model::RunIdentity;
use callgrove_provdb::columns::{COLUMNS, ColumnKind, ColumnValue, Columns, with_id};
use callgrove_provdb::{
    AccessMode, Claim, Collection, Document, ProvDbError, Query, RUN_STATE, ReadBounds, ReadLimits,
    SqlTable, StateChange, Store,
};
use postgres::types::ToSql;

use crate::options::OpenOptions;
use crate::run;
use connection::PostgresConnection;

const SELECT_STATE: &str = "select bytes from state where name = $1";
const REMOVE_STATE: &str = "delete from state where name = $1";
const REPLACE_STATE: &str = "insert into state (name, bytes) values ($1, $2) \
     on conflict (name) do update set bytes = excluded.bytes";

/// Number of documents that one statement reads, so that few are in memory before their size is known.
const IDS_PER_QUERY: usize = 64;

/// A provenance database on a PostgreSQL server.
pub struct PostgresStore {
    /// Shared with the claims, which release their ranks through it.
    connection: Arc<Mutex<PostgresConnection>>,
    place: String,
    mode: AccessMode,
}

impl PostgresStore {
    /// Connects to the server, and creates missing tables, unless it is opened for reading.
    ///
    /// The connection is encrypted if the URL says `sslmode=require` or the options name a certificate; the latter must
    /// have signed the server's.
    ///
    /// # Errors
    /// The URL is invalid, the server cannot be reached or refuses, or the tables come from a newer release.
    pub fn open(url: &str, options: &OpenOptions) -> Result<Self, ProvDbError> {
        let mut connection = PostgresConnection::open(url, options)?;
        schema::prepare(&mut connection, options.mode)?;
        Ok(Self {
            place: connection.place().to_owned(),
            connection: Arc::new(Mutex::new(connection)),
            mode: options.mode,
        })
    }

    fn connection(&self) -> MutexGuard<'_, PostgresConnection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the table of a collection exists; only a reader meets databases that lack some.
    fn has_table(&self, collection: Collection) -> Result<bool, ProvDbError> {
        match self.mode {
            AccessMode::ReadWrite => Ok(true),
            AccessMode::ReadOnly => self
                .connection()
                .run(|client| schema::has_table(client, collection)),
        }
    }

    fn writable(&self) -> Result<MutexGuard<'_, PostgresConnection>, ProvDbError> {
        match self.mode {
            AccessMode::ReadWrite => Ok(self.connection()),
            AccessMode::ReadOnly => Err(ProvDbError::ReadOnly(self.place.clone())),
        }
    }
}

impl Store for PostgresStore {
    fn put(&mut self, documents: &[Document]) -> Result<(), ProvDbError> {
        let mut connection = self.writable()?;
        let mut batches: BTreeMap<Collection, Batch<'_>> = BTreeMap::new();
        for document in documents {
            let columns = document.read_columns()?;
            batches
                .entry(document.collection)
                .or_default()
                .push(document, columns);
        }
        connection.run(|client| {
            let mut transaction = client.transaction()?;
            for (collection, batch) in &batches {
                let arrays = batch.arrays();
                transaction.execute(&schema::upsert(*collection), &references(&arrays))?;
            }
            transaction.commit()
        })
    }

    fn forget_step(&mut self, program: u32, rank: u32, step: u32) -> Result<(), ProvDbError> {
        let place = [rank, step, program].map(i64::from);
        self.writable()?.run(|client| {
            let mut transaction = client.transaction()?;
            for collection in Collection::OF_STEPS {
                let sql = format!(
                    "delete from {collection} where rid = $1 and io_step = $2 and pid = $3"
                );
                transaction.execute(&sql, &[&place[0], &place[1], &place[2]])?;
            }
            transaction.commit()
        })
    }

    fn remove(
        &mut self,
        collection: Collection,
        _: u32,
        keys: &[String],
    ) -> Result<(), ProvDbError> {
        let sql = format!("delete from {collection} where key = any($1)");
        self.writable()?
            .run(|client| client.execute(&sql, &[&keys]).map(|_| ()))
    }

    fn change_states(&mut self, changes: &[StateChange<'_>]) -> Result<(), ProvDbError> {
        self.writable()?.run(|client| {
            let mut transaction = client.transaction()?;
            for StateChange { name, bytes } in changes {
                match bytes {
                    Some(bytes) => transaction.execute(REPLACE_STATE, &[name, bytes])?,
                    None => transaction.execute(REMOVE_STATE, &[name])?,
                };
            }
            transaction.commit()
        })
    }

    fn state(&mut self, name: &str) -> Result<Option<Vec<u8>>, ProvDbError> {
        let row = self
            .connection()
            .run(|client| client.query_opt(SELECT_STATE, &[&name]))?;
        Ok(row.map(|row| row.get(0)))
    }

    fn find_ids(&mut self, query: &Query) -> Result<Vec<i64>, ProvDbError> {
        if !self.has_table(query.collection)? {
            return Ok(Vec::new());
        }
        let sql = query_sql::select_ids(query);
        let rows = self
            .connection()
            .run(|client| client.query(&sql.text, &references(&sql.params)))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    fn documents(
        &mut self,
        collection: Collection,
        ids: &[i64],
    ) -> Result<Vec<String>, ProvDbError> {
        let sql = query_sql::documents(collection);
        let mut connection = self.connection();
        let mut found = Vec::with_capacity(ids.len());
        let mut num_bytes = 0;
        for ids in ids.chunks(IDS_PER_QUERY) {
            for row in connection.run(|client| client.query(&sql, &[&ids]))? {
                let document: &str = row.get(1);
                num_bytes += document.len();
                found.push(with_id(document, row.get(0)));
            }
            if let Some(bounds) = connection.bounds() {
                bounds.check_size(0, num_bytes)?;
            }
        }
        Ok(found)
    }

    fn count(&mut self, query: &Query) -> Result<u64, ProvDbError> {
        if !self.has_table(query.collection)? {
            return Ok(0);
        }
        let sql = query_sql::count(query);
        let row = self
            .connection()
            .run(|client| client.query_one(&sql.text, &references(&sql.params)))?;
        Ok(row.get::<_, i64>(0).unsigned_abs())
    }

    fn bound_reads(&mut self, bounds: &ReadBounds) {
        self.connection().bound(Some(bounds));
    }

    fn find_plain_sql(&mut self, sql: &str) -> Result<SqlTable, ProvDbError> {
        let mut connection = self.connection();
        let before = connection.bounds().cloned();
        let own = || ReadBounds::new(ReadLimits::LOCAL);
        let bounds = before.clone().unwrap_or_else(own);
        connection.bound(Some(&bounds));
        let table = plain_sql::select(&mut connection, sql, &bounds);
        connection.bound(before.as_ref());
        table
    }

    fn join_run(&mut self, run: &RunIdentity) -> Result<RunIdentity, ProvDbError> {
        drop(self.writable()?);
        let has_documents = run::has_unknown_documents(self)?;
        let (place, name) = (&self.place, RUN_STATE);
        self.writable()?.run(|client| {
            let mut transaction = client.transaction()?;
            // One writer at a time; readers continue.
            transaction.execute("lock table state in share row exclusive mode", &[])?;
            let row = transaction.query_opt(SELECT_STATE, &[&name])?;
            let stored: Option<&[u8]> = row.as_ref().map(|row| row.get(0));
            let joined = run::join(stored, has_documents, run, place);
            if let Ok((_, Some(bytes))) = &joined {
                transaction.execute(REPLACE_STATE, &[&name, bytes])?;
            }
            transaction.commit()?;
            Ok(joined.map(|(run, _)| run))
        })?
    }

    fn claim(&mut self, program: u32, rank: u32, instance: &str) -> Result<Claim, ProvDbError> {
        drop(self.writable()?);
        claim::claim(&self.connection, program, rank, instance)
    }
}

fn references<'a>(params: &'a [Box<dyn ToSql + Sync + 'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(AsRef::as_ref).collect()
}

/// Documents of one collection. A statement can change a row only once, so of documents with the same key only the last
/// is kept.
#[derive(Default)]
struct Batch<'a> {
    places: BTreeMap<&'a str, usize>,
    rows: Vec<(&'a Document, Columns)>,
}

impl<'a> Batch<'a> {
    fn push(&mut self, document: &'a Document, columns: Columns) {
        let next = self.rows.len();
        let place = *self.places.entry(&document.key).or_insert(next);
        match self.rows.get_mut(place) {
            Some(row) => *row = (document, columns),
            None => self.rows.push((document, columns)),
        }
    }

    /// Returns one array for each column, in the order of
    /// [`names_with_key_and_doc`](callgrove_provdb::columns::names_with_key_and_doc), so that one statement stores all
    /// of them.
    fn arrays(&self) -> Vec<Box<dyn ToSql + Sync + '_>> {
        let keys: Vec<&str> = self.rows.iter().map(|(it, _)| it.key.as_str()).collect();
        let docs: Vec<&str> = self.rows.iter().map(|(it, _)| it.json.as_str()).collect();
        let mut arrays: Vec<Box<dyn ToSql + Sync>> = vec![Box::new(keys)];
        for (place, (_, kind)) in COLUMNS.iter().enumerate() {
            arrays.push(self.array(place, *kind));
        }
        arrays.push(Box::new(docs));
        arrays
    }

    fn array(&self, place: usize, kind: ColumnKind) -> Box<dyn ToSql + Sync + '_> {
        let values = self.rows.iter().map(|(_, columns)| columns.values()[place]);
        match kind {
            ColumnKind::Int => Box::new(values.map(int).collect::<Vec<_>>()),
            ColumnKind::Real => Box::new(values.map(real).collect::<Vec<_>>()),
            ColumnKind::Text => Box::new(values.map(text).collect::<Vec<_>>()),
        }
    }
}

fn int(value: ColumnValue<'_>) -> Option<i64> {
    match value {
        ColumnValue::Int(value) => value,
        _ => None,
    }
}

fn real(value: ColumnValue<'_>) -> Option<f64> {
    match value {
        ColumnValue::Real(value) => value,
        _ => None,
    }
}

fn text(value: ColumnValue<'_>) -> Option<&str> {
    match value {
        ColumnValue::Text(value) => value,
        _ => None,
    }
}
