//! The table of `callgrove trends`.

use callgrove_export::{ResultTable, TableColumn};
use callgrove_model::DurationNs;
use callgrove_query::TrendRow;
use serde::Serialize;

/// The table of `callgrove trends`.
pub struct TrendTable;

impl ResultTable for TrendTable {
    type Row = TrendRow;

    fn name(&self) -> &'static str {
        "trends"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::int("trend"),
            TableColumn::text("kind"),
            TableColumn::text("ranks"),
            TableColumn::text("threads"),
            TableColumn::text("host").optional(),
            TableColumn::text("function"),
            TableColumn::text("other_functions"),
            TableColumn::float("own_us"),
            TableColumn::float("usual_us"),
            TableColumn::float("factor").optional(),
            TableColumn::int("start_us").optional(),
            TableColumn::text("peers"),
            TableColumn::int("cost_us"),
            TableColumn::float("evidence"),
            TableColumn::text("doubt").optional(),
            TableColumn::text("words"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec![
            "trend", "kind", "cost", "own", "usual", "factor", "evidence", "finding", "doubt",
        ]
    }

    fn cells(&self, row: &TrendRow) -> Vec<String> {
        let time = |us: f64| DurationNs::nearest(us * 1e3).to_string();
        let factor = row.factor.map(|factor| format!("{factor:.2}"));
        vec![
            row.trend.to_string(),
            row.kind.to_owned(),
            DurationNs::from_us(row.cost_us).to_string(),
            time(row.own_us),
            time(row.usual_us),
            factor.unwrap_or_default(),
            format!("{:.1}", row.evidence),
            row.words.clone(),
            row.doubt.unwrap_or_default().to_owned(),
        ]
    }

    fn record(&self, row: &TrendRow) -> impl Serialize {
        TrendLine::of(row)
    }

    fn document(&self, row: &TrendRow) -> impl Serialize {
        row
    }
}

/// A row with its lists as text.
#[derive(Serialize)]
struct TrendLine<'a> {
    trend: usize,
    kind: &'a str,
    ranks: String,
    threads: String,
    host: Option<&'a str>,
    function: &'a str,
    other_functions: String,
    own_us: f64,
    usual_us: f64,
    factor: Option<f64>,
    start_us: Option<i64>,
    peers: String,
    cost_us: i64,
    evidence: f64,
    doubt: Option<&'a str>,
    words: &'a str,
}

impl<'a> TrendLine<'a> {
    fn of(row: &'a TrendRow) -> Self {
        let list = |numbers: &[u32]| {
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            numbers.join(" ")
        };
        Self {
            trend: row.trend,
            kind: row.kind,
            ranks: list(&row.ranks),
            threads: list(&row.threads),
            host: row.host.as_deref(),
            function: &row.function,
            other_functions: row.other_functions.join("; "),
            own_us: row.own_us,
            usual_us: row.usual_us,
            factor: row.factor,
            start_us: row.start_us,
            peers: list(&row.peers),
            cost_us: row.cost_us,
            evidence: row.evidence,
            doubt: row.doubt,
            words: &row.words,
        }
    }
}
