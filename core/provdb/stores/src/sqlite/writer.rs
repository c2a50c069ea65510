//! One file opened for writing.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_provdb::columns::{ColumnValue, Columns, names_with_key_and_doc};
use callgrove_provdb::{Collection, Document, ProvDbError, StateChange};
use rusqlite::types::ToSqlOutput;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, params_from_iter,
};

use super::error::{at, io_at};
use super::files::{create_file, global_path, shard_path};
use super::schema::{self, FORMAT};

/// Maximum time that a write waits for those of other processes.
const BUSY_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum time that the final checkpoint waits for other processes before it leaves the data in the log.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval between attempts where SQLite does not wait by itself.
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// A shard, or the global file.
pub(super) struct ShardFile {
    pub(super) connection: Connection,
    path: PathBuf,
    /// `__id` of the first document. Ids of all shards differ, because each shard counts in steps of the number of
    /// shards.
    first_id: u32,
    id_step: u32,
}

impl ShardFile {
    /// Opens the global file, and returns the number of shards. The first process creates all files; the others wait.
    pub(super) fn open_global(
        folder: &Path,
        asked: Option<u32>,
    ) -> Result<(Self, u32), ProvDbError> {
        let path = global_path(folder);
        let mut connection = connect(&path, OpenFlags::SQLITE_OPEN_CREATE)?;
        let fail = at(&path);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(&fail)?;
        let format = schema::meta(&transaction, "format").map_err(&fail)?;
        let found = schema::meta(&transaction, "num_shards").map_err(&fail)?;
        schema::check(format, found, asked, &folder.display().to_string())?;
        let num_shards = found.or(asked).unwrap_or(1);
        if found.is_none() {
            for index in 0..num_shards {
                let path = shard_path(folder, index);
                let mut shard = connect(&path, OpenFlags::SQLITE_OPEN_CREATE)?;
                let create = |shard: &mut Connection| {
                    // Every commit waits for the disk.
                    let transaction = shard.transaction()?;
                    schema::create_tables(&transaction, false)?;
                    transaction.commit()
                };
                create(&mut shard).map_err(at(&path))?;
            }
            schema::create_meta(&transaction).map_err(&fail)?;
            schema::set_meta(&transaction, "format", FORMAT).map_err(&fail)?;
            schema::set_meta(&transaction, "num_shards", num_shards).map_err(&fail)?;
        }
        // Includes tables that an earlier release did not have.
        schema::create_tables(&transaction, true).map_err(&fail)?;
        transaction.commit().map_err(&fail)?;
        Ok((
            Self {
                connection,
                path,
                first_id: 0,
                id_step: 1,
            },
            num_shards,
        ))
    }

    /// Opens one of the shards, which was created with the database.
    pub(super) fn open_shard(
        folder: &Path,
        index: u32,
        num_shards: u32,
    ) -> Result<Self, ProvDbError> {
        let path = shard_path(folder, index);
        let connection = schema::open_shard(&path, |path| connect(path, OpenFlags::empty()))?;
        Ok(Self {
            connection,
            path,
            first_id: index,
            id_step: num_shards,
        })
    }

    /// Stores documents in one transaction.
    pub(super) fn put(&mut self, rows: &[(&Document, Columns)]) -> Result<(), ProvDbError> {
        let (first_id, id_step) = (self.first_id, self.id_step);
        let write = |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for collection in Collection::ALL {
                let mut statement = None;
                for (document, columns) in rows.iter().filter(|it| it.0.collection == collection) {
                    let statement = match &mut statement {
                        Some(statement) => statement,
                        slot @ None => slot.insert(transaction.prepare(&upsert(collection))?),
                    };
                    let mut values =
                        vec![first_id.into(), id_step.into(), bound_text(&document.key)];
                    values.extend(columns.values().map(bound));
                    values.push(bound_text(&document.json));
                    statement.execute(params_from_iter(values))?;
                }
            }
            transaction.commit()
        };
        write(&mut self.connection).map_err(at(&self.path))
    }

    /// Removes the judged documents of a step of a rank.
    pub(super) fn forget_step(
        &mut self,
        program: u32,
        rank: u32,
        step: u32,
    ) -> Result<(), ProvDbError> {
        let forget = |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for collection in Collection::OF_STEPS {
                let sql = format!(
                    "delete from {collection} where rid = ?1 and io_step = ?2 and pid = ?3"
                );
                transaction.execute(&sql, (rank, step, program))?;
            }
            transaction.commit()
        };
        forget(&mut self.connection).map_err(at(&self.path))
    }

    /// Removes documents by their keys.
    pub(super) fn remove(
        &mut self,
        collection: Collection,
        keys: &[String],
    ) -> Result<(), ProvDbError> {
        let remove = |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let sql = format!("delete from {collection} where key = ?1");
            for key in keys {
                transaction.execute(&sql, [key])?;
            }
            transaction.commit()
        };
        remove(&mut self.connection).map_err(at(&self.path))
    }

    /// Checkpoints the log into the file, so that a copy of the file is complete. If another process is in the way, the
    /// data stay in the log.
    pub(super) fn settle(&self) {
        let settle = || {
            self.connection.busy_timeout(CHECKPOINT_TIMEOUT)?;
            self.connection
                .query_row("pragma wal_checkpoint(truncate)", (), |_| Ok(()))
        };
        settle().ok();
    }

    /// Stores or removes opaque bytes under names in one transaction.
    pub(super) fn change_states(&mut self, changes: &[StateChange<'_>]) -> Result<(), ProvDbError> {
        let change = |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for StateChange { name, bytes } in changes {
                match bytes {
                    Some(bytes) => replace_state(&transaction, name, bytes)?,
                    None => {
                        transaction.execute("delete from state where name = ?1", [name])?;
                    }
                }
            }
            transaction.commit()
        };
        change(&mut self.connection).map_err(at(&self.path))
    }

    /// Replaces the bytes under a name by what `change` returns, if anything, in one transaction. Returns the second
    /// result of `change`.
    pub(super) fn change_state<T>(
        &mut self,
        name: &str,
        change: impl FnOnce(Option<&[u8]>) -> Result<(T, Option<Vec<u8>>), ProvDbError>,
    ) -> Result<T, ProvDbError> {
        let fail = at(&self.path);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(&fail)?;
        let stored: Option<Vec<u8>> = transaction
            .query_row("select bytes from state where name = ?1", [name], |row| {
                row.get(0)
            })
            .optional()
            .map_err(&fail)?;
        let (answer, bytes) = change(stored.as_deref())?;
        if let Some(bytes) = bytes {
            replace_state(&transaction, name, &bytes).map_err(&fail)?;
            transaction.commit().map_err(&fail)?;
        }
        Ok(answer)
    }
}

fn replace_state(connection: &Connection, name: &str, bytes: &[u8]) -> rusqlite::Result<()> {
    let sql = "insert or replace into state (name, bytes) values (?1, ?2)";
    connection.execute(sql, (name, bytes)).map(|_| ())
}

/// Opens a file in which a commit is on disk when it returns.
fn connect(path: &Path, or_create: OpenFlags) -> Result<Connection, ProvDbError> {
    if or_create == OpenFlags::SQLITE_OPEN_CREATE {
        create_file(path).map_err(io_at(path))?;
    }
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | or_create;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        use_log(&connection)?;
        connection.pragma_update(None, "synchronous", "full")?;
        // A long query keeps the log from being reset; afterwards it is truncated.
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        Ok(connection)
    };
    open().map_err(at(path))
}

/// Switches to WAL mode. If several processes do this on a new file at the same time, SQLite lets all but one fail
/// without waiting, whatever the timeout.
fn use_log(connection: &Connection) -> rusqlite::Result<()> {
    let give_up = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < give_up =>
            {
                thread::sleep(BUSY_PAUSE);
            }
            done => return done,
        }
    }
}

/// Returns the statement that stores a document of a collection under its key: new with the shard's next `__id`, or
/// replacing the former one.
fn upsert(table: Collection) -> String {
    let columns = names_with_key_and_doc();
    let changes: Vec<String> = columns[1..]
        .iter()
        .map(|column| format!("{column} = excluded.{column}"))
        .collect();
    let values: Vec<String> = (3..)
        .take(columns.len())
        .map(|it| format!("?{it}"))
        .collect();
    format!(
        "insert into {table} (id, {}) values (coalesce((select max(id) from {table}) + ?2, ?1), {}) \
         on conflict (key) do update set {}",
        columns.join(", "),
        values.join(", "),
        changes.join(", ")
    )
}

fn bound_text(text: &str) -> ToSqlOutput<'_> {
    text.into()
}

fn bound(value: ColumnValue<'_>) -> ToSqlOutput<'_> {
    match value {
        ColumnValue::Int(Some(it)) => it.into(),
        ColumnValue::Real(Some(it)) => it.into(),
        ColumnValue::Text(Some(it)) => it.into(),
        ColumnValue::Int(None) | ColumnValue::Real(None) | ColumnValue::Text(None) => {
            rusqlite::types::Null.into()
        }
    }
}
