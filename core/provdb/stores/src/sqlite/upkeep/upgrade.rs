//! Upgrades a database to the newest format.

use std::path::Path;

use callgrove_provdb::ProvDbError;
use rusqlite::Connection;

use super::super::error::at;
use super::super::schema::{self, FORMAT};
use super::exclusive::{HeldFile, hold};

/// The result of an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpgradeSummary {
    /// The format before.
    pub from: u32,
    /// The format after, which is the newest.
    pub to: u32,
    /// Number of missing tables and indexes that were created.
    pub num_made: u64,
}

/// Converts one file, the global one or a shard, from a format to the next. After an interrupted upgrade the file may
/// be converted already; then the step changes nothing.
type FormatStep = fn(&Connection, is_global: bool) -> rusqlite::Result<()>;

/// The steps from format 1 on, one for each newer format. A new [`FORMAT`] adds its step here, and its golden database
/// to the tests.
const STEPS: [FormatStep; 0] = [];

/// Applies the steps that a database lacks, and creates the tables that an earlier release of its format did not have.
pub(crate) fn upgrade(folder: &Path) -> Result<UpgradeSummary, ProvDbError> {
    upgrade_by(folder, &STEPS, FORMAT)
}

/// Applies the given steps, which lead to the format `newest`.
fn upgrade_by(
    folder: &Path,
    steps: &[FormatStep],
    newest: u32,
) -> Result<UpgradeSummary, ProvDbError> {
    let (mut files, from) = hold(folder)?;
    let place = folder.display().to_string();
    if from > newest {
        return Err(ProvDbError::NewerFormat {
            found: from,
            known: newest,
            place,
        });
    }
    if from == 0 {
        return Err(ProvDbError::Damaged {
            cause: "its format is 0, which no release has written".to_owned(),
            place,
        });
    }
    let formats = (1_u32..).zip(steps);
    for (format, step) in formats.filter(|it| it.0 >= from) {
        for file in &mut files {
            let transaction = file.connection.transaction().map_err(at(&file.path))?;
            let apply = || {
                step(&transaction, file.is_global)?;
                transaction.commit()
            };
            apply().map_err(at(&file.path))?;
        }
        note_format(&files, format + 1)?;
    }
    let mut num_made = 0;
    for file in &files {
        let fail = at(&file.path);
        let num_before = num_objects(&file.connection).map_err(&fail)?;
        schema::create_tables(&file.connection, file.is_global).map_err(&fail)?;
        num_made += num_objects(&file.connection).map_err(&fail)? - num_before;
    }
    Ok(UpgradeSummary {
        from,
        to: newest,
        num_made: num_made.unsigned_abs(),
    })
}

/// Stores the format after all files have it.
fn note_format(files: &[HeldFile], format: u32) -> Result<(), ProvDbError> {
    for file in files.iter().filter(|file| file.is_global) {
        schema::set_meta(&file.connection, "format", format).map_err(at(&file.path))?;
    }
    Ok(())
}

/// Returns the number of tables and indexes that were created by name.
fn num_objects(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "select count(*) from sqlite_schema where sql is not null";
    connection.query_row(sql, (), |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenOptions, SqliteStore};

    fn add_column(connection: &Connection, is_global: bool) -> rusqlite::Result<()> {
        let table = if is_global { "trends" } else { "anomalies" };
        let sql = format!("alter table {table} add column of_format_2 integer");
        connection.execute_batch(&sql)
    }

    fn fail(_: &Connection, is_global: bool) -> rusqlite::Result<()> {
        if is_global {
            return Ok(());
        }
        Err(rusqlite::Error::InvalidQuery)
    }

    #[test]
    fn steps_are_applied_to_all_files_once_and_the_format_follows() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = OpenOptions {
            num_shards: Some(3),
            ..OpenOptions::default()
        };
        drop(SqliteStore::open(folder.path(), &options).expect("made"));
        let upgraded = |steps: &[FormatStep], newest| upgrade_by(folder.path(), steps, newest);
        let failed = upgraded(&[fail], 2).expect_err("the step fails");
        assert!(failed.to_string().contains("provdb.0.sqlite"), "{failed}");
        let summary = upgraded(&[add_column], 2).expect("upgraded");
        assert_eq!((summary.from, summary.to, summary.num_made), (1, 2, 0));
        let again = upgraded(&[add_column], 2).expect("nothing to do");
        assert_eq!((again.from, again.to), (2, 2));
        let (files, format) = hold(folder.path()).expect("held");
        assert_eq!((files.len(), format), (4, 2));
        for file in &files {
            let sql = "select count(*) from sqlite_schema where sql like '%of_format_2%'";
            let number: i64 = file
                .connection
                .query_row(sql, (), |row| row.get(0))
                .expect("counted");
            assert_eq!(number, 1, "{}", file.path.display());
        }
        drop(files);
        // This release does not know it.
        let newer = upgrade(folder.path()).expect_err("newer");
        assert!(
            matches!(
                newer,
                ProvDbError::NewerFormat {
                    found: 2,
                    known: 1,
                    ..
                }
            ),
            "{newer}"
        );
    }

    #[test]
    fn there_is_a_step_to_every_format() {
        assert_eq!(usize::try_from(FORMAT), Ok(STEPS.len() + 1));
    }
}
