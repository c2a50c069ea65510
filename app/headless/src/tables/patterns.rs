//! The table of `callgrove patterns`.

use callgrove_export::{ResultTable, TableColumn};
use callgrove_model::{DurationNs, thousands};
use callgrove_query::{IterationsRow, PatternRow};
use serde::Serialize;

/// The table of `callgrove patterns`, and the iterations of the run.
pub struct PatternTable(pub Option<IterationsRow>);

impl ResultTable for PatternTable {
    type Row = PatternRow;

    fn name(&self) -> &'static str {
        "patterns"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::int("pattern"),
            TableColumn::text("name"),
            TableColumn::text("definition"),
            TableColumn::int("num_occurrences"),
            TableColumn::int("num_lanes"),
            TableColumn::int("num_events"),
            TableColumn::int("total_us"),
            TableColumn::float("reference_us"),
            TableColumn::float("limit_us"),
            TableColumn::int("num_undecided"),
            TableColumn::int("num_anomalous"),
            TableColumn::int("excess_us"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec![
            "pattern",
            "occurrences",
            "lanes",
            "total",
            "usual",
            "anomalous",
            "excess",
            "worst",
            "definition",
        ]
    }

    fn cells(&self, row: &PatternRow) -> Vec<String> {
        let worst = row.anomalous.iter().map(|it| it.duration_us);
        let worst = worst.max_by(f64::total_cmp).map_or(String::new(), from_us);
        vec![
            row.pattern.to_string(),
            thousands(row.num_occurrences),
            row.num_lanes.to_string(),
            DurationNs(row.total_us * 1_000).to_string(),
            from_us(row.reference_us),
            thousands(row.num_anomalous),
            DurationNs(row.excess_us * 1_000).to_string(),
            worst,
            row.definition.clone(),
        ]
    }

    fn record(&self, row: &PatternRow) -> impl Serialize {
        PatternLine::of(row)
    }

    fn document(&self, row: &PatternRow) -> impl Serialize {
        Record::Pattern(row)
    }

    fn preface(&self) -> Option<impl Serialize> {
        self.0.as_ref().map(Record::Iterations)
    }
}

/// One JSON object per line; `record` is its kind.
#[derive(Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record<'a> {
    Iterations(&'a IterationsRow),
    Pattern(&'a PatternRow),
}

/// A row without the list of anomalous occurrences, which does not fit into a cell.
#[derive(Serialize)]
struct PatternLine<'a> {
    pattern: u32,
    name: &'a str,
    definition: &'a str,
    num_occurrences: usize,
    num_lanes: usize,
    num_events: u32,
    total_us: i64,
    reference_us: f64,
    limit_us: f64,
    num_undecided: usize,
    num_anomalous: usize,
    excess_us: i64,
}

impl<'a> PatternLine<'a> {
    fn of(row: &'a PatternRow) -> Self {
        Self {
            pattern: row.pattern,
            name: &row.name,
            definition: &row.definition,
            num_occurrences: row.num_occurrences,
            num_lanes: row.num_lanes,
            num_events: row.num_events,
            total_us: row.total_us,
            reference_us: row.reference_us,
            limit_us: row.limit_us,
            num_undecided: row.num_undecided,
            num_anomalous: row.num_anomalous,
            excess_us: row.excess_us,
        }
    }
}

fn from_us(us: f64) -> String {
    DurationNs::nearest(us * 1e3).to_string()
}
