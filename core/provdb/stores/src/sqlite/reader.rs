//! A read-only connection to all files of a database, while others write and afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callgrove_model::percent_encoded;
use callgrove_provdb::columns::{names_with_key_and_doc, with_id};
use callgrove_provdb::{Collection, ProvDbError, Query, ReadBounds, SqlTable};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use super::error::at;
use super::files::{global_path, shard_path};
use super::{plain_sql, query_sql, schema};

/// Maximum time that a query waits for a locked file; locks are short in WAL mode.
const BUSY_TIMEOUT: Duration = Duration::from_mins(1);

/// Where queries store temporary data for sorts and joins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TempStore {
    /// Files, beyond the size of the cache.
    Files,
    /// Memory.
    Memory,
}

/// A connection to the global file with all shards attached; each sharded collection is a view of all shards.
pub(super) struct Reader {
    connection: Connection,
    folder: PathBuf,
    num_shards: u32,
    /// The bounds of the following reads.
    bounds: Option<ReadBounds>,
}

impl Reader {
    /// Returns the number of shards of an existing database.
    pub(super) fn num_shards(folder: &Path, asked: Option<u32>) -> Result<u32, ProvDbError> {
        let place = folder.display().to_string();
        let path = global_path(folder);
        if !path.exists() {
            return Err(ProvDbError::Missing(place));
        }
        let connection = connect(&path)?;
        let format = schema::meta(&connection, "format").map_err(at(&path))?;
        let found = schema::meta(&connection, "num_shards").map_err(at(&path))?;
        schema::check(format, found, asked, &place)?;
        found.ok_or(ProvDbError::Missing(place))
    }

    /// Attaches all files.
    pub(super) fn open(
        folder: &Path,
        num_shards: u32,
        temp_store: TempStore,
    ) -> Result<Self, ProvDbError> {
        let path = global_path(folder);
        let mut connection = connect(&path)?;
        if temp_store == TempStore::Memory {
            // Before the views are created, since these are temporary objects.
            connection
                .pragma_update(None, "temp_store", "memory")
                .map_err(at(&path))?;
        }
        let most = connection
            .limit(Limit::SQLITE_LIMIT_ATTACHED)
            .map_err(at(&path))?;
        if i64::from(num_shards) > i64::from(most) {
            return Err(ProvDbError::Database {
                cause: format!(
                    "this program's SQLite attaches {most} files, not {num_shards}: build it with \
                     LIBSQLITE3_FLAGS=-DSQLITE_MAX_ATTACHED=125"
                ),
                place: folder.display().to_string(),
            });
        }
        for index in 0..num_shards {
            let path = shard_path(folder, index);
            drop(schema::open_shard(&path, connect)?);
            connection
                .execute(
                    &format!("attach ?1 as s{index}"),
                    [readable(&path).map_err(at(&path))?],
                )
                .map_err(at(&path))?;
        }
        let views = views(num_shards);
        connection.execute_batch(&views).map_err(at(&path))?;
        empty_views(&connection).map_err(at(&path))?;
        plain_sql::guard(&mut connection).map_err(at(&path))?;
        Ok(Self {
            connection,
            folder: folder.to_owned(),
            num_shards,
            bounds: None,
        })
    }

    /// Sets the bounds of the following reads.
    pub(super) fn bound(&mut self, bounds: &ReadBounds) -> Result<(), ProvDbError> {
        self.bounds = Some(bounds.clone());
        self.watch().map_err(at(&self.folder))
    }

    pub(super) fn find_ids(&mut self, query: &Query) -> Result<Vec<i64>, ProvDbError> {
        let sql = query_sql::select_ids(query);
        let read = || -> rusqlite::Result<Vec<i64>> {
            let mut statement = self.connection.prepare(&sql.text)?;
            let ids =
                statement.query_map(rusqlite::params_from_iter(&sql.params), |row| row.get(0))?;
            ids.collect()
        };
        read().map_err(|error| self.failure(error))
    }

    pub(super) fn documents(
        &mut self,
        collection: Collection,
        ids: &[i64],
    ) -> Result<Vec<String>, ProvDbError> {
        let num_files = if collection.is_global() {
            1
        } else {
            i64::from(self.num_shards)
        };
        // Ids determine the shard. All documents of a file are read by one statement, since SQLite locks the file for
        // each.
        let mut by_file: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for id in ids {
            let of_file = by_file.entry(id.rem_euclid(num_files)).or_default();
            of_file.push(id.to_string());
        }
        let check_size = |num_bytes: usize| {
            let bounds = self.bounds.as_ref();
            bounds.map_or(Ok(()), |it| it.check_size(0, num_bytes))
        };
        let mut num_bytes = 0;
        let mut size = Ok(());
        let mut read = || -> rusqlite::Result<Vec<String>> {
            let mut found: BTreeMap<i64, String> = BTreeMap::new();
            for (shard, ids) in &by_file {
                let file = if collection.is_global() {
                    "main".to_owned()
                } else {
                    format!("s{shard}")
                };
                let ids = ids.join(",");
                let sql = format!("select id, doc from {file}.{collection} where id in ({ids})");
                let mut statement = self.connection.prepare(&sql)?;
                let mut rows = statement.query(())?;
                while let Some(row) = rows.next()? {
                    let id = row.get(0)?;
                    let document = row.get_ref(1)?.as_str()?;
                    num_bytes += document.len();
                    size = check_size(num_bytes);
                    if size.is_err() {
                        return Ok(Vec::new());
                    }
                    found.insert(id, with_id(document, id));
                }
            }
            Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
        };
        let found = read().map_err(|error| self.failure(error))?;
        size.map(|()| found)
    }

    pub(super) fn count(&mut self, query: &Query) -> Result<u64, ProvDbError> {
        let sql = query_sql::count(query);
        let read = || {
            let mut statement = self.connection.prepare(&sql.text)?;
            statement.query_row(rusqlite::params_from_iter(&sql.params), |row| {
                row.get::<_, i64>(0)
            })
        };
        let count = read().map_err(|error| self.failure(error))?;
        Ok(count.unsigned_abs())
    }

    /// Converts an error of a query over several files; damage is reported with the damaged file.
    fn failure(&self, error: rusqlite::Error) -> ProvDbError {
        if let Some(bounds) = &self.bounds
            && error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
        {
            return bounds.failure();
        }
        let failure = at(&self.folder)(error);
        let ProvDbError::Damaged { cause, .. } = failure else {
            return failure;
        };
        let shards = (0..self.num_shards).map(|index| shard_path(&self.folder, index));
        let mut files = shards.chain([global_path(&self.folder)]);
        let path = files.find(|path| !is_sound(path));
        let place = path.unwrap_or_else(|| self.folder.clone());
        ProvDbError::Damaged {
            cause,
            place: place.display().to_string(),
        }
    }

    pub(super) fn state(&mut self, name: &str) -> Result<Option<Vec<u8>>, ProvDbError> {
        self.connection
            .query_row("select bytes from state where name = ?1", [name], |row| {
                row.get(0)
            })
            .optional()
            .map_err(at(&global_path(&self.folder)))
    }

    /// Runs plain SQL within its bounds.
    pub(super) fn find_plain_sql(
        &mut self,
        sql: &str,
        bounds: &ReadBounds,
    ) -> Result<SqlTable, ProvDbError> {
        let table = plain_sql::select(&mut self.connection, sql, bounds);
        self.watch().map_err(at(&self.folder))?;
        table
    }

    /// Applies the bounds to the following queries, or removes them.
    fn watch(&mut self) -> rusqlite::Result<()> {
        let is_over = self.bounds.clone().map(|bounds| move || bounds.is_over());
        self.connection
            .progress_handler(plain_sql::STEPS_PER_CHECK, is_over)
    }
}

/// Returns whether SQLite's integrity check of a file succeeds.
fn is_sound(path: &Path) -> bool {
    let found = connect(path).map(|connection| {
        connection.query_row("pragma quick_check(1)", (), |row| row.get::<_, String>(0))
    });
    matches!(found, Ok(Ok(outcome)) if outcome == "ok")
}

/// Opens a file for reading.
pub(super) fn connect(path: &Path) -> Result<Connection, ProvDbError> {
    let uri = readable(path).map_err(at(path))?;
    let connection = open(&uri).map_err(at(path))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(at(path))?;
    Ok(connection)
}

fn open(uri: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags)
}

/// Returns the URI by which SQLite can read a file. To share a file with writers, SQLite creates an index of their log
/// next to it. If it may not create one, in a folder of another user, and there is no log, then there is no writer: the
/// file is read as immutable.
fn readable(path: &Path) -> rusqlite::Result<String> {
    let uri = uri(path);
    let probe = || {
        let connection = open(&uri)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.query_row("select count(*) from sqlite_schema", (), |row| {
            row.get::<_, i64>(0)
        })
    };
    match probe() {
        Ok(_) => Ok(uri),
        Err(error)
            if matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
            ) && path.exists()
                && !path.with_extension("sqlite-wal").exists() =>
        {
            Ok(uri + "&immutable=1")
        }
        Err(error) => Err(error),
    }
}

/// Returns the URI of a file for reading.
fn uri(path: &Path) -> String {
    let path = percent_encoded(path.as_os_str().as_encoded_bytes(), |byte| {
        byte.is_ascii_alphanumeric() || b"/.-_".contains(&byte)
    });
    format!("file:{path}?mode=ro")
}

/// Returns the statements that create one view of all shards for each sharded collection.
fn views(num_shards: u32) -> String {
    let columns = names_with_key_and_doc().join(", ");
    let mut sql = String::new();
    for collection in Collection::ALL.into_iter().filter(|it| !it.is_global()) {
        let selects: Vec<String> = (0..num_shards)
            .map(|index| format!("select id, {columns} from s{index}.{collection}"))
            .collect();
        sql.push_str(&format!(
            "create temp view {collection} as {};",
            selects.join(" union all ")
        ));
    }
    sql
}

/// Creates an empty view for each global collection that the release which created the database did not have.
fn empty_views(connection: &Connection) -> rusqlite::Result<()> {
    for collection in Collection::ALL.into_iter().filter(|it| it.is_global()) {
        let is_there: bool = connection.query_row(
            "select count(*) > 0 from main.sqlite_schema where type = 'table' and name = ?1",
            [collection.name()],
            |row| row.get(0),
        )?;
        if !is_there {
            let columns = names_with_key_and_doc().into_iter();
            let columns: Vec<String> = columns.map(|it| format!("null as {it}")).collect();
            connection.execute_batch(&format!(
                "create temp view {collection} as select 0 as id, {} where false;",
                columns.join(", ")
            ))?;
        }
    }
    Ok(())
}
