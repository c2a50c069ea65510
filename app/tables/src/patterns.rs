//! The tables of patterns: of `callgrove patterns`, and as the window lists them.

use callgrove_export::{ResultTable, TableColumn};
use callgrove_model::{DurationNs, thousands};
use callgrove_query::{IterationsRow, PatternRow};
use callgrove_session::{JudgedPattern, ListedPattern};
use serde::Serialize;

use crate::flat_table::FlatRow;

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

/// A pattern as the window lists it, judged by the chosen reference.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ListedPatternRow {
    pattern: u32,
    name: String,
    num_occurrences: usize,
    num_lanes: usize,
    total_us: i64,
    longest_us: f64,
    reference_us: Option<f64>,
    limit_us: Option<f64>,
    num_undecided: Option<usize>,
    num_anomalous: Option<usize>,
    excess_us: Option<f64>,
}

impl ListedPatternRow {
    /// Returns the row of a pattern; without its judgement, those columns have no value.
    pub fn of(pattern: &ListedPattern, judged: Option<&JudgedPattern>) -> Self {
        let us = |time: DurationNs| time.0 as f64 / 1e3;
        Self {
            pattern: pattern.id.0,
            name: pattern.name.clone(),
            num_occurrences: pattern.num_occurrences,
            num_lanes: pattern.num_lanes,
            total_us: pattern.total.as_us(),
            longest_us: us(pattern.longest),
            reference_us: judged.map(|it| us(it.usual)),
            limit_us: judged.map(|it| us(it.limit)),
            num_undecided: judged.map(|it| it.counts[1]),
            num_anomalous: judged.map(|it| it.counts[2]),
            excess_us: judged.map(|it| us(it.excess)),
        }
    }
}

impl FlatRow for ListedPatternRow {
    const TABLE: &'static str = "patterns";

    fn columns() -> Vec<TableColumn> {
        vec![
            TableColumn::int("pattern"),
            TableColumn::text("name"),
            TableColumn::int("num_occurrences"),
            TableColumn::int("num_lanes"),
            TableColumn::int("total_us"),
            TableColumn::float("longest_us"),
            TableColumn::float("reference_us").optional(),
            TableColumn::float("limit_us").optional(),
            TableColumn::int("num_undecided").optional(),
            TableColumn::int("num_anomalous").optional(),
            TableColumn::float("excess_us").optional(),
        ]
    }
}
