//! All measurements as one flat table, for formats that cannot nest.

use callgrove_evaluate::evaluate::{Alarms, Quality};
use callgrove_export::{ResultTable, TableColumn};
use serde::Serialize;

use crate::comparison_report::ComparisonReport;

/// One measurement. A field that does not apply to it is `None`.
#[derive(Clone, Serialize)]
pub struct Measurement {
    /// `method`: without labels; `labels`: after a number of labels.
    record: &'static str,
    method: String,
    /// Kind of anomaly; `None` over all kinds.
    kind: Option<String>,
    strategy: Option<&'static str>,
    labels: Option<usize>,
    found: Option<usize>,
    doubtful: Option<usize>,
    /// `all` or `unlabelled`.
    trees: &'static str,
    missed: Option<usize>,
    false_alarms: Option<usize>,
    positive: Option<usize>,
    negative: Option<usize>,
    roc_auc: Option<f64>,
    average_precision: Option<f64>,
    pr_auc_trapezoid: Option<f64>,
    precision_at_n: Option<f64>,
}

impl Measurement {
    fn new(
        record: &'static str,
        method: String,
        alarms: Option<Alarms>,
        quality: Option<&Quality>,
    ) -> Self {
        Self {
            record,
            method,
            kind: None,
            strategy: None,
            labels: None,
            found: None,
            doubtful: None,
            trees: "all",
            missed: alarms.map(|alarms| alarms.num_missed),
            false_alarms: alarms.map(|alarms| alarms.num_false),
            positive: quality.map(|quality| quality.num_positive),
            negative: quality.map(|quality| quality.num_negative),
            roc_auc: quality.map(|quality| quality.ranking.roc_auc),
            average_precision: quality.map(|quality| quality.ranking.average_precision),
            pr_auc_trapezoid: quality.map(|quality| quality.ranking.pr_auc_trapezoid),
            precision_at_n: quality.map(|quality| quality.precision_at_n),
        }
    }
}

/// Returns all measurements, in the order of the report.
pub fn measurement_rows(report: &ComparisonReport<'_>) -> Vec<Measurement> {
    let mut rows = Vec::new();
    for of_method in &report.methods {
        let new = |alarms, quality| {
            Measurement::new("method", of_method.method.to_string(), alarms, quality)
        };
        rows.push(new(of_method.alarms, of_method.all.as_ref()));
        let by_kind = report.truth.kinds().iter().zip(&of_method.by_kind);
        rows.extend(by_kind.map(|(kind, quality)| Measurement {
            kind: Some(kind.clone()),
            ..new(None, quality.as_ref())
        }));
    }
    for curve in &report.curves {
        for point in &curve.points {
            let views = [("all", &point.all), ("unlabelled", &point.unlabelled)];
            rows.extend(views.map(|(trees, quality)| Measurement {
                strategy: Some(curve.query.name()),
                labels: Some(point.num_labels),
                found: Some(point.num_found),
                doubtful: Some(point.num_doubtful),
                trees,
                ..Measurement::new(
                    "labels",
                    curve.method.to_string(),
                    Some(point.alarms),
                    quality.as_ref(),
                )
            }));
        }
    }
    rows
}

/// The table of `callgrove evaluate`.
pub struct MeasurementTable;

impl ResultTable for MeasurementTable {
    type Row = Measurement;

    fn name(&self) -> &'static str {
        "measurements"
    }

    fn columns(&self) -> Vec<TableColumn> {
        let count = |name: &str| TableColumn::int(name).optional();
        let measure = |name: &str| TableColumn::float(name).optional();
        vec![
            TableColumn::text("record"),
            TableColumn::text("method"),
            TableColumn::text("kind").optional(),
            TableColumn::text("strategy").optional(),
            count("labels"),
            count("found"),
            count("doubtful"),
            TableColumn::text("trees"),
            count("missed"),
            count("false_alarms"),
            count("positive"),
            count("negative"),
            measure("roc_auc"),
            measure("average_precision"),
            measure("pr_auc_trapezoid"),
            measure("precision_at_n"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        Vec::new()
    }

    fn cells(&self, _: &Measurement) -> Vec<String> {
        Vec::new()
    }

    fn record(&self, row: &Measurement) -> impl Serialize {
        row.clone()
    }

    fn document(&self, row: &Measurement) -> impl Serialize {
        row.clone()
    }
}
