//! The report of a comparison of methods, as text or JSON.

use std::io::{Result, Write};

use callgrove_evaluate::evaluate::{Alarms, CurvePoint, Method, Quality, Truth};
use callgrove_export::TextTable;
use callgrove_judge::active::QueryStrategy;
use callgrove_model::thousands;
use serde_json::{Map, Value, json};

/// All measurements of a comparison of methods.
pub struct ComparisonReport<'a> {
    /// Name of the root function.
    pub function: &'a str,
    /// The classes of its executions.
    pub truth: &'a Truth,
    /// The methods without labels, in the order of the request.
    pub methods: Vec<MethodReport>,
    /// The methods that learn, with labels.
    pub curves: Vec<CurveReport>,
}

/// The measurements of a method without labels.
pub struct MethodReport {
    /// The method.
    pub method: Method,
    /// Counts of alarms, for methods with a decision threshold.
    pub alarms: Option<Alarms>,
    /// Quality over all kinds of anomalies.
    pub all: Option<Quality>,
    /// Quality for each kind of anomaly, shape `[n_kinds]`.
    pub by_kind: Vec<Option<Quality>>,
}

/// The measurements of a method with a growing number of labels.
pub struct CurveReport {
    /// The method.
    pub method: Method,
    /// How the next tree to label was chosen.
    pub query: QueryStrategy,
    /// The measurements, by ascending number of labels.
    pub points: Vec<CurvePoint>,
}

impl ComparisonReport<'_> {
    /// Prints tables.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(&self, out: &mut dyn Write) -> Result<()> {
        let truth = self.truth;
        let num_unknown = truth.len() - truth.num_positive() - truth.num_negative();
        writeln!(
            out,
            "{}: {} trees, {} anomalies, {} normal, {} unknown\n",
            self.function,
            thousands(truth.len()),
            thousands(truth.num_positive()),
            thousands(truth.num_negative()),
            thousands(num_unknown),
        )?;
        writeln!(out, "Without labels")?;
        self.methods_table().print(out, 2)?;
        if !truth.kinds().is_empty() {
            let title =
                "Each kind of anomaly against the normal trees: ROC AUC / average precision";
            writeln!(out, "\n{title}")?;
            self.kinds_table().print(out, 2)?;
        }
        for curve in &self.curves {
            writeln!(
                out,
                "\n{} with labels, asking for the {}; \"the rest\" are the trees without a label",
                curve.method,
                curve.query.name()
            )?;
            curve.table().print(out, 2)?;
        }
        Ok(())
    }

    fn methods_table(&self) -> TextTable {
        let mut table = TextTable::new(&[
            "method",
            "ROC AUC",
            "average precision",
            "trapezoid PR AUC",
            "precision at n",
            "missed",
            "false alarms",
        ]);
        for report in &self.methods {
            let mut row = vec![report.method.to_string()];
            row.extend(numbers(report.all.as_ref()).map(cell));
            let counts = |alarms: Alarms| [alarms.num_missed, alarms.num_false].map(thousands);
            let none = || ["-", "-"].map(str::to_owned);
            row.extend(report.alarms.map_or_else(none, counts));
            table.push(row);
        }
        table
    }

    fn kinds_table(&self) -> TextTable {
        let mut header = vec!["method".to_owned()];
        for (kind, name) in self.truth.kinds().iter().enumerate() {
            header.push(format!("{name} ({})", self.truth.num_of_kind(kind)));
        }
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let mut table = TextTable::new(&header);
        for report in &self.methods {
            let mut row = vec![report.method.to_string()];
            for quality in &report.by_kind {
                let [roc_auc, average_precision, ..] = numbers(quality.as_ref()).map(cell);
                row.push(format!("{roc_auc} / {average_precision}"));
            }
            table.push(row);
        }
        table
    }

    /// Prints one JSON object per line. `record` is its kind: `truth` (one line), `method` (one line over all kinds,
    /// with `kind` null, and with counts of alarms if the method has a decision threshold, and one line per kind),
    /// `labels` (two lines per checkpoint: `trees` is `all` or `unlabelled`). Measures that do not exist are null.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print_json(&self, out: &mut dyn Write) -> Result<()> {
        let truth = self.truth;
        let kinds = truth.kinds();
        let counts: Map<String, Value> = kinds
            .iter()
            .enumerate()
            .map(|(kind, name)| (name.clone(), truth.num_of_kind(kind).into()))
            .collect();
        let head = json!({
            "record": "truth",
            "function": self.function,
            "trees": truth.len(),
            "positive": truth.num_positive(),
            "negative": truth.num_negative(),
            "kinds": counts,
        });
        writeln!(out, "{head}")?;
        for report in &self.methods {
            let of_kinds = kinds.iter().map(Some).zip(&report.by_kind);
            for (kind, quality) in std::iter::once((None, &report.all)).chain(of_kinds) {
                let alarms = report.alarms.filter(|_| kind.is_none());
                let line = json!({
                    "record": "method",
                    "method": report.method.to_string(),
                    "kind": kind,
                    "missed": alarms.map(|alarms| alarms.num_missed),
                    "false_alarms": alarms.map(|alarms| alarms.num_false),
                });
                writeln!(out, "{}", with_quality(line, quality.as_ref()))?;
            }
        }
        for curve in &self.curves {
            for point in &curve.points {
                let views = [("all", &point.all), ("unlabelled", &point.unlabelled)];
                for (trees, quality) in views {
                    let line = json!({
                        "record": "labels",
                        "method": curve.method.to_string(),
                        "strategy": curve.query.name(),
                        "labels": point.num_labels,
                        "found": point.num_found,
                        "missed": point.alarms.num_missed,
                        "false_alarms": point.alarms.num_false,
                        "doubtful": point.num_doubtful,
                        "trees": trees,
                    });
                    writeln!(out, "{}", with_quality(line, quality.as_ref()))?;
                }
            }
        }
        Ok(())
    }
}

impl CurveReport {
    fn table(&self) -> TextTable {
        let mut table = TextTable::new(&[
            "labels",
            "found",
            "missed",
            "false alarms",
            "ROC AUC",
            "average precision",
            "precision at n",
            "of the rest: ROC AUC",
            "average precision",
            "precision at n",
        ]);
        for point in &self.points {
            let counts = [
                point.num_labels,
                point.num_found,
                point.alarms.num_missed,
                point.alarms.num_false,
            ];
            let mut row: Vec<String> = counts.map(thousands).into();
            for quality in [&point.all, &point.unlabelled] {
                let [roc_auc, average_precision, _, precision] =
                    numbers(quality.as_ref()).map(cell);
                row.extend([roc_auc, average_precision, precision]);
            }
            table.push(row);
        }
        table
    }
}

/// ROC AUC, average precision, trapezoid PR AUC, precision at n.
fn numbers(quality: Option<&Quality>) -> [Option<f64>; 4] {
    [
        quality.map(|quality| quality.ranking.roc_auc),
        quality.map(|quality| quality.ranking.average_precision),
        quality.map(|quality| quality.ranking.pr_auc_trapezoid),
        quality.map(|quality| quality.precision_at_n),
    ]
}

fn cell(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| format!("{number:.4}"))
}

fn with_quality(mut line: Value, quality: Option<&Quality>) -> Value {
    let [roc_auc, average_precision, pr_auc_trapezoid, precision_at_n] = numbers(quality);
    line["positive"] = json!(quality.map(|quality| quality.num_positive));
    line["negative"] = json!(quality.map(|quality| quality.num_negative));
    line["roc_auc"] = json!(roc_auc);
    line["average_precision"] = json!(average_precision);
    line["pr_auc_trapezoid"] = json!(pr_auc_trapezoid);
    line["precision_at_n"] = json!(precision_at_n);
    line
}
