//! The table of `callgrove baseline show`.

use callgrove_check::BaselineRow;
use callgrove_export::{ResultTable, TableColumn};
use callgrove_model::{DurationNs, TimeNs, thousands};
use serde::Serialize;

/// The table of `callgrove baseline show`: a row for each run, the oldest first.
pub struct BaselineTable;

impl ResultTable for BaselineTable {
    type Row = BaselineRow;

    fn name(&self) -> &'static str {
        "baseline"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::int("added_us"),
            TableColumn::text("commit").optional(),
            TableColumn::text("run"),
            TableColumn::text("hosts"),
            TableColumn::int("num_ranks"),
            TableColumn::int("num_iterations"),
            TableColumn::int("iteration_us").optional(),
            TableColumn::text("source"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec![
            "added",
            "commit",
            "run",
            "ranks",
            "iterations",
            "iteration",
            "source",
        ]
    }

    fn cells(&self, row: &BaselineRow) -> Vec<String> {
        let added = TimeNs::from_us(row.added_us.try_into().unwrap_or(0));
        let iteration = row.iteration_us.map(DurationNs::from_us);
        vec![
            added.map_or(String::new(), TimeNs::utc),
            row.commit.clone().unwrap_or_default(),
            row.run.clone(),
            thousands(row.num_ranks),
            thousands(row.num_iterations),
            iteration.map_or(String::new(), |it| it.to_string()),
            row.source.clone(),
        ]
    }

    fn record(&self, row: &BaselineRow) -> impl Serialize {
        row
    }

    fn document(&self, row: &BaselineRow) -> impl Serialize {
        row
    }
}
