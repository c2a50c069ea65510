//! A file of SQLite, opened for reading only, with bounds on the cost of reading it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callgrove_model::percent_encoded;
use callgrove_source::{Input, SourceError};
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use tempfile::NamedTempFile;

use crate::compressed::{Decompressed, decompress, is_compressed};

/// Offset in the header of the version for reading.
const READ_VERSION_AT: usize = 19;
/// The version of a file that is written through a log.
const WITH_LOG: u8 = 2;
/// Length of the header in bytes.
const HEADER_BYTES: usize = 100;

/// Maximum size of a text that a view may make up, or that is a name, in bytes: environments and command lines, with a
/// margin.
pub(crate) const MAX_TEXT_BYTES: i32 = 1 << 20;
/// Maximum size of a text in a table, in bytes: a message of a program, of which the beginning becomes a name.
const MAX_STORED_BYTES: i32 = 64 << 20;
/// SQLite's limits for one statement.
const LIMITS: [(Limit, i32); 4] = [
    (Limit::SQLITE_LIMIT_LENGTH, MAX_STORED_BYTES),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1 << 10),
];
/// Number of SQLite's virtual machine steps between checks of the budget.
const STEPS_PER_CHECK: i32 = 1_000;
/// Number of checks that a statement may take in a file of any size: a tenth of a second.
const BASE_CHECKS: u64 = 10_000;
/// Bytes of the file for which a statement may take a further check. A row of a view has more than 100 bytes and takes
/// some 300 steps.
const BYTES_PER_CHECK: u64 = 20;
/// Bytes of the file for which a table or view may have a row. The smallest rows that are read have three numbers.
const BYTES_PER_ROW: u64 = 8;
/// Number of bytes of texts that a table or view may return from a file of any size.
const BASE_TEXT_BYTES: u64 = 64 << 20;
/// Number of further bytes of texts for each byte of the file. Names of kernels with thousands of bytes are repeated in
/// rows of a hundred bytes.
const TEXT_BYTES_PER_BYTE: u64 = 64;
/// Maximum number of tables and views that are looked at.
const MAX_RELATIONS: usize = 1 << 16;

/// The kind of a name in the schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Relation {
    Table,
    View,
}

/// The state of the log next to the file, which may have rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogState {
    /// The file was not written through a log, or the log is merged as far as can be seen.
    Merged,
    /// A log with changes is next to the file.
    Unmerged,
}

/// An open file.
pub(crate) struct Database {
    connection: Connection,
    path: PathBuf,
    num_bytes: u64,
    /// Number of bytes of texts that may still be kept. A view can return more than its file has.
    text_left: Cell<u64>,
    pub(crate) relations: BTreeMap<String, Relation>,
    /// Number of checks that the current statement may take.
    checks_left: Arc<AtomicU64>,
    /// The file ends before its last page, or its schema is damaged: the reason.
    pub(crate) damage: Option<String>,
    pub(crate) log: LogState,
    /// The file of a compressed one, which is removed after the connection is closed.
    decompressed: Option<NamedTempFile>,
}

impl Database {
    /// Opens a file, which may be compressed. Neither it nor anything in its folder is written.
    ///
    /// # Errors
    /// [`SourceError::Io`]; [`SourceError::Damaged`] if its list of tables cannot be read; those of [`decompress`].
    pub(crate) fn open(input: &Input) -> Result<Self, SourceError> {
        if !is_compressed(input) {
            let log = log_state(input);
            return Self::open_file(input.path(), input.num_bytes()?, log);
        }
        let Decompressed {
            file,
            num_bytes,
            damage,
        } = decompress(input)?;
        let opened = Self::open_file(file.path(), num_bytes, LogState::Merged);
        let mut database = opened.map_err(|error| match error {
            SourceError::Damaged { reason, .. } => SourceError::Damaged {
                reason: damage.clone().unwrap_or(reason),
                path: input.path().to_owned(),
            },
            other => other,
        })?;
        input.path().clone_into(&mut database.path);
        database.damage = damage.or(database.damage);
        // Where an open file can be removed, nothing is left behind even if the process is killed.
        std::fs::remove_file(file.path()).ok();
        database.decompressed = Some(file);
        Ok(database)
    }

    fn open_file(path: &Path, num_bytes: u64, log: LogState) -> Result<Self, SourceError> {
        let checks_left = Arc::new(AtomicU64::new(budget(num_bytes)));
        let listed = connect(path, Damage::Refused, &checks_left);
        let listed = listed.and_then(|it| relations(&it).map(|found| (it, found)));
        let (opened, damage) = match listed {
            Ok(opened) => (Ok(opened), None),
            Err(error) => {
                checks_left.store(budget(num_bytes), Ordering::Relaxed);
                let opened = connect(path, Damage::Tolerated, &checks_left);
                let opened = opened.and_then(|it| relations(&it).map(|found| (it, found)));
                (opened, Some(error.to_string()))
            }
        };
        let (connection, relations) = opened.map_err(|error| SourceError::Damaged {
            reason: error.to_string(),
            path: path.to_owned(),
        })?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            num_bytes,
            text_left: Cell::new(num_bytes),
            relations,
            checks_left,
            damage,
            log,
            decompressed: None,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Gives the next statement its budget of steps.
    pub(crate) fn begin_statement(&self) {
        let checks = budget(self.num_bytes);
        self.checks_left.store(checks, Ordering::Relaxed);
    }

    /// Returns the number of rows that a table or view may have.
    pub(crate) fn max_rows(&self) -> u64 {
        self.num_bytes / BYTES_PER_ROW
    }

    /// Bounds the texts of the following statements, which read views and not tables.
    pub(crate) fn bound_texts(&self) {
        let limit = Limit::SQLITE_LIMIT_LENGTH;
        // A limit that cannot be set remains the larger one.
        self.connection.set_limit(limit, MAX_TEXT_BYTES).ok();
    }

    /// Returns the size of the file in bytes.
    pub(crate) fn num_bytes(&self) -> u64 {
        self.num_bytes
    }

    /// Returns whether a text of this size may be kept.
    pub(crate) fn may_keep_text(&self, size_bytes: usize) -> bool {
        let size_bytes = u64::try_from(size_bytes).unwrap_or(u64::MAX);
        let left = self.text_left.get().checked_sub(size_bytes);
        self.text_left.set(left.unwrap_or(self.text_left.get()));
        left.is_some()
    }

    /// Returns the number of bytes that the texts of a table or view may have, each row counted.
    pub(crate) fn max_text_bytes(&self) -> u64 {
        let of_rows = self.num_bytes.saturating_mul(TEXT_BYTES_PER_BYTE);
        BASE_TEXT_BYTES.saturating_add(of_rows)
    }

    /// Returns the names of the columns of a table or view; none if it cannot be read.
    pub(crate) fn columns(&self, relation: &str) -> Vec<String> {
        self.begin_statement();
        let sql = format!("select * from {} limit 0", quoted(relation));
        let statement = self.connection.prepare(&sql);
        statement.map_or_else(
            |_| Vec::new(),
            |it| it.column_names().map(str::to_owned).collect(),
        )
    }
}

/// Returns a name as SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The treatment of a file that ends early or has a damaged schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Damage {
    Refused,
    /// SQLite then reads the pages and tables that are there.
    Tolerated,
}

/// Returns the number of checks that a statement may take.
fn budget(num_bytes: u64) -> u64 {
    BASE_CHECKS.saturating_add(num_bytes / BYTES_PER_CHECK)
}

fn connect(
    path: &Path,
    damage: Damage,
    checks_left: &Arc<AtomicU64>,
) -> rusqlite::Result<Connection> {
    let path = percent_encoded(path.as_os_str().as_encoded_bytes(), |byte| {
        byte.is_ascii_alphanumeric() || b"/.-_".contains(&byte)
    });
    // An immutable file needs neither locks nor an index of its log, which SQLite would create next to it.
    let uri = format!("file:{path}?mode=ro&immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_with_flags(uri, flags)?;
    let is_tolerant = damage == Damage::Tolerated;
    for (setting, value) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, !is_tolerant),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    ] {
        connection.set_db_config(setting, value)?;
    }
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    if is_tolerant {
        connection.pragma_update(None, "writable_schema", true)?;
    }
    connection.authorizer(Some(only_reading))?;
    let checks_left = Arc::clone(checks_left);
    let is_over = move || {
        let left = checks_left.load(Ordering::Relaxed);
        checks_left.store(left.saturating_sub(1), Ordering::Relaxed);
        left == 0
    };
    connection.progress_handler(STEPS_PER_CHECK, Some(is_over))?;
    Ok(connection)
}

fn only_reading(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Function { function_name } if function_name != "load_extension" => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

fn relations(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Relation>> {
    let mut statement = connection
        .prepare("select name, type from sqlite_schema where type in ('table', 'view')")?;
    let mut rows = statement.query(())?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let texts = (row.get_ref(0)?.as_str(), row.get_ref(1)?.as_str());
        if let (Ok(name), Ok(kind)) = texts
            && found.len() < MAX_RELATIONS
        {
            let relation = if kind == "view" {
                Relation::View
            } else {
                Relation::Table
            };
            found.insert(name.to_owned(), relation);
        }
    }
    Ok(found)
}

/// Returns whether a file has a log with changes next to it. A log of a closed file is empty or removed.
fn log_state(input: &Input) -> LogState {
    let header = input.first_bytes(HEADER_BYTES);
    let suffix = match header.get(READ_VERSION_AT) {
        Some(&WITH_LOG) => "-wal",
        _ => "-journal",
    };
    let mut path = input.path().as_os_str().to_owned();
    path.push(suffix);
    let log = input.with_path(Path::new(&path));
    match log.num_bytes() {
        Ok(num_bytes) if num_bytes > 0 => LogState::Unmerged,
        _ => LogState::Merged,
    }
}
