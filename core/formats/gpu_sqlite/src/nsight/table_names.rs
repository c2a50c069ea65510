//! The names of tables: those of other versions of the schema, and those that are not read.

use callgrove_model::WarningKind;

use crate::database::{Database, Relation, quoted};
use crate::profiled_run::ProfiledRun;

/// Prefixes of the names of tables with calls.
const CALL_PREFIXES: [&str; 7] = [
    "CUPTI_ACTIVITY_KIND_",
    "NVTX_",
    "MPI_",
    "OSRT_",
    "CUDNN_",
    "CUBLAS_",
    "UCP_",
];
/// The columns of a table whose rows are calls, and not facts about them.
const CALL_COLUMNS: [&str; 2] = ["start", "end"];

/// Returns the tables of a file that have a name, alone or with a version, such as `NVTX_EVENTS_V2`.
pub(super) fn versions_of<'a>(database: &'a Database, name: &str) -> Vec<&'a str> {
    let tables = database.relations.iter();
    let tables = tables.filter(|(_, kind)| **kind == Relation::Table);
    let of_name = tables.filter(|(table, _)| is_version_of(table, name));
    of_name.map(|(table, _)| table.as_str()).collect()
}

/// Counts the tables that look like tables of calls, have rows, and are not named in `read`.
pub(super) fn count_unread(database: &Database, read: &[&str], run: &mut ProfiledRun) {
    for (table, kind) in &database.relations {
        if *kind != Relation::Table
            || !CALL_PREFIXES.iter().any(|it| table.starts_with(it))
            || read.iter().any(|name| is_version_of(table, name))
        {
            continue;
        }
        let columns = database.columns(table);
        let has = |name: &&str| columns.iter().any(|it| it.eq_ignore_ascii_case(name));
        if CALL_COLUMNS.iter().all(has) && has_rows(database, table) {
            let place = || format!("{table}: {}", database.path().display());
            run.warnings.count(WarningKind::TableUnread, None, place);
        }
    }
}

fn has_rows(database: &Database, table: &str) -> bool {
    database.begin_statement();
    let sql = format!("select 1 from {} limit 1", quoted(table));
    let row = database.connection().query_row(&sql, (), |_| Ok(()));
    row.is_ok()
}

/// Returns whether a table has a name, alone or followed by `_V` and a number.
fn is_version_of(table: &str, name: &str) -> bool {
    let Some(rest) = table.strip_prefix(name) else {
        return false;
    };
    let version = rest.strip_prefix("_V");
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    rest.is_empty() || version.is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_table_have_its_name_and_a_number() {
        for (table, expected) in [
            ("NVTX_EVENTS", true),
            ("NVTX_EVENTS_V2", true),
            ("NVTX_EVENTS_V", false),
            ("NVTX_EVENTS_V2_OLD", false),
            ("NVTX_EVENTS2", false),
            ("NVTX", false),
        ] {
            assert_eq!(is_version_of(table, "NVTX_EVENTS"), expected, "{table}");
        }
    }
}
