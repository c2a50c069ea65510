//! The table of `callgrove nodes`.

use callgrove_export::{ResultTable, TableColumn, rounded};
use callgrove_model::{DurationNs, TimeNs, thousands};
use callgrove_query::NodeRow;
use serde::Serialize;

/// The table of `callgrove nodes`.
pub struct NodeTable;

impl ResultTable for NodeTable {
    type Row = NodeRow;

    fn name(&self) -> &'static str {
        "nodes"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::text("host"),
            TableColumn::int("num_runs"),
            TableColumn::int("num_runs_as_root"),
            TableColumn::int("num_runs_as_costliest"),
            TableColumn::float("expected_runs"),
            TableColumn::float("p_value"),
            TableColumn::int("num_incidents"),
            TableColumn::int("delay_us"),
            TableColumn::int("last_start_us").optional(),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec![
            "host",
            "runs",
            "as_root",
            "costliest",
            "expected",
            "p_value",
            "incidents",
            "delay",
            "last_run",
        ]
    }

    fn cells(&self, row: &NodeRow) -> Vec<String> {
        let last = row
            .last_start_us
            .and_then(|it| TimeNs::from_us(it.try_into().ok()?));
        vec![
            row.host.clone(),
            thousands(row.num_runs),
            thousands(row.num_runs_as_root),
            thousands(row.num_runs_as_costliest),
            format!("{:.1}", row.expected_runs),
            rounded(row.p_value),
            thousands(row.num_incidents),
            DurationNs::from_us(row.delay_us).to_string(),
            last.map_or(String::new(), TimeNs::utc),
        ]
    }

    fn record(&self, row: &NodeRow) -> impl Serialize {
        row
    }

    fn document(&self, row: &NodeRow) -> impl Serialize {
        row
    }
}
