//! The table of `callgrove compare`.

use callgrove_export::{ResultTable, TableColumn};
use callgrove_model::DurationNs;
use callgrove_query::ChangeRow;
use serde::Serialize;

/// The table of `callgrove compare`.
pub struct ChangeTable;

impl ResultTable for ChangeTable {
    type Row = ChangeRow;

    fn name(&self) -> &'static str {
        "changes"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::text("kind"),
            TableColumn::text("aspect"),
            TableColumn::text("function"),
            TableColumn::text("path"),
            TableColumn::float("before"),
            TableColumn::float("after"),
            TableColumn::float("ratio").optional(),
            TableColumn::float("ratio_low").optional(),
            TableColumn::float("ratio_high").optional(),
            TableColumn::int("cost_us"),
            TableColumn::float("p_value"),
            TableColumn::float("corrected_p"),
            TableColumn::bool("sure"),
            TableColumn::text("words"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec!["cost", "kind", "what", "ratio", "p", "change"]
    }

    fn cells(&self, row: &ChangeRow) -> Vec<String> {
        let ratio = row.ratio.map(|ratio| format!("{ratio:.2}"));
        vec![
            DurationNs::from_us(row.cost_us).to_string(),
            row.kind.to_owned(),
            row.aspect.to_owned(),
            ratio.unwrap_or_default(),
            format!("{:.1e}", row.corrected_p),
            row.words.clone(),
        ]
    }

    fn record(&self, row: &ChangeRow) -> impl Serialize {
        ChangeLine::of(row)
    }

    fn document(&self, row: &ChangeRow) -> impl Serialize {
        row
    }
}

/// A row with its path as text.
#[derive(Serialize)]
struct ChangeLine<'a> {
    kind: &'a str,
    aspect: &'a str,
    function: &'a str,
    path: String,
    before: f64,
    after: f64,
    ratio: Option<f64>,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    cost_us: i64,
    p_value: f64,
    corrected_p: f64,
    sure: bool,
    words: &'a str,
}

impl<'a> ChangeLine<'a> {
    fn of(row: &'a ChangeRow) -> Self {
        Self {
            kind: row.kind,
            aspect: row.aspect,
            function: &row.function,
            path: row.path.join("; "),
            before: row.before,
            after: row.after,
            ratio: row.ratio,
            ratio_low: row.ratio_low,
            ratio_high: row.ratio_high,
            cost_us: row.cost_us,
            p_value: row.p_value,
            corrected_p: row.corrected_p,
            sure: row.sure,
            words: &row.words,
        }
    }
}
