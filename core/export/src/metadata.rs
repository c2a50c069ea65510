//! Metadata of a table, as formats with typed columns store it.

use crate::table::ResultTable;

/// Version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the metadata of a table as pairs of key and value: its name (`callgrove.table`), the version of its columns
/// (`callgrove.schema_version`), the program's version (`callgrove.version`) and the units of columns
/// (`callgrove.unit.COLUMN`).
pub fn table_metadata<T: ResultTable>(table: &T) -> Vec<(String, String)> {
    let of_table = [
        ("table".to_owned(), table.name().to_owned()),
        (
            "schema_version".to_owned(),
            table.schema_version().to_string(),
        ),
        ("version".to_owned(), VERSION.to_owned()),
    ];
    let columns = table.columns();
    let units = columns.iter().filter_map(|column| {
        let unit = column.unit()?;
        Some((format!("unit.{}", column.name()), unit.to_owned()))
    });
    let all = of_table.into_iter().chain(units);
    all.map(|(key, value)| (format!("callgrove.{key}"), value))
        .collect()
}
