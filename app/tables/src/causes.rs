//! The tables of `callgrove causes` and `callgrove incidents`.

use callgrove_export::{ResultTable, TableColumn};
use callgrove_model::{DurationNs, thousands};
use callgrove_query::{CauseRow, IncidentRow};
use serde::Serialize;

/// The table of `callgrove causes`.
pub struct CauseTable;

impl ResultTable for CauseTable {
    type Row = CauseRow;

    fn name(&self) -> &'static str {
        "causes"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::int("rank"),
            TableColumn::int("index"),
            TableColumn::text("event_id"),
            TableColumn::text("role").optional(),
            TableColumn::int("root_rank").optional(),
            TableColumn::text("root_function").optional(),
            TableColumn::text("kind").optional(),
            TableColumn::int("waited_us"),
            TableColumn::int("hops"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec![
            "tree",
            "event_id",
            "role",
            "root_rank",
            "kind",
            "waited",
            "hops",
            "what happened",
        ]
    }

    fn cells(&self, row: &CauseRow) -> Vec<String> {
        vec![
            format!("#{}-{}", row.rank, row.index),
            row.event_id.clone(),
            row.role.clone().unwrap_or_default(),
            row.root_rank.map_or(String::new(), |rank| rank.to_string()),
            row.kind.clone().unwrap_or_default(),
            DurationNs(row.waited_us * 1_000).to_string(),
            row.hops.to_string(),
            row.words.clone(),
        ]
    }

    fn record(&self, row: &CauseRow) -> impl Serialize {
        CauseLine::of(row)
    }

    fn document(&self, row: &CauseRow) -> impl Serialize {
        row
    }
}

/// The table of `callgrove incidents`.
pub struct IncidentTable {
    /// Begin of the run, microseconds since the epoch.
    pub begin_us: i64,
}

impl ResultTable for IncidentTable {
    type Row = IncidentRow;

    fn name(&self) -> &'static str {
        "incidents"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::int("incident"),
            TableColumn::int("start_us"),
            TableColumn::int("end_us"),
            TableColumn::int("root_rank").optional(),
            TableColumn::text("root_function"),
            TableColumn::text("kind"),
            TableColumn::bool("by_design"),
            TableColumn::int("confidence_percent"),
            TableColumn::int("next_best_rank").optional(),
            TableColumn::int("times"),
            TableColumn::int("num_executions"),
            TableColumn::int("num_ranks"),
            TableColumn::int("delay_us"),
            TableColumn::int("lost_run_time_us").optional(),
            TableColumn::text("words"),
            TableColumn::text("again"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec![
            "incident",
            "at",
            "delay",
            "run_time",
            "ranks",
            "executions",
            "kind",
            "sure",
            "what happened",
            "again",
        ]
    }

    fn cells(&self, row: &IncidentRow) -> Vec<String> {
        vec![
            row.incident.to_string(),
            DurationNs((row.start_us - self.begin_us) * 1_000).to_string(),
            DurationNs(row.delay_us * 1_000).to_string(),
            (row.lost_run_time_us).map_or(String::new(), |it| DurationNs(it * 1_000).to_string()),
            row.num_ranks.to_string(),
            thousands(row.num_executions),
            row.kind.clone(),
            format!("{} %", row.confidence_percent),
            row.words.clone(),
            row.again.clone(),
        ]
    }

    fn record(&self, row: &IncidentRow) -> impl Serialize {
        row
    }

    fn document(&self, row: &IncidentRow) -> impl Serialize {
        row
    }
}

/// A row without the chain, which does not fit into a cell.
#[derive(Serialize)]
struct CauseLine<'a> {
    rank: u32,
    index: u32,
    event_id: &'a str,
    role: Option<&'a str>,
    root_rank: Option<u32>,
    root_function: Option<&'a str>,
    kind: Option<&'a str>,
    waited_us: i64,
    hops: usize,
}

impl<'a> CauseLine<'a> {
    fn of(row: &'a CauseRow) -> Self {
        Self {
            rank: row.rank,
            index: row.index,
            event_id: &row.event_id,
            role: row.role.as_deref(),
            root_rank: row.root_rank,
            root_function: row.root_function.as_deref(),
            kind: row.kind.as_deref(),
            waited_us: row.waited_us,
            hops: row.hops,
        }
    }
}
