//! The tables of a watched run: functions, counters and recorded executions.

use callgrove_export::TableColumn;
use callgrove_session::Label;
use callgrove_watch::{CounterStats, ExecutionDocument, FuncOverview};
use serde::Serialize;

use crate::flat_table::FlatRow;

/// A function over all ranks.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FunctionRow {
    program: u32,
    function: String,
    calls: u64,
    anomalies: f64,
    share_of_anomalies: f64,
    severity_total_us: Option<f64>,
    severity_max_us: Option<f64>,
    score_max: Option<f64>,
    exclusive_total_us: f64,
    exclusive_mean_us: f64,
    exclusive_max_us: f64,
    exclusive_stddev_us: f64,
    inclusive_total_us: f64,
    inclusive_mean_us: f64,
    inclusive_max_us: f64,
}

/// A counter over all ranks.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CounterRow {
    program: u32,
    counter: String,
    count: u64,
    mean: f64,
    minimum: f64,
    maximum: f64,
    stddev: f64,
    total: f64,
    skewness: f64,
    kurtosis: f64,
}

/// A recorded execution.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RecordedRow {
    event_id: String,
    function: String,
    program: Option<u32>,
    rank: Option<u32>,
    thread: Option<u64>,
    host: Option<String>,
    step: Option<u64>,
    entry_us: Option<u64>,
    exit_us: Option<u64>,
    exclusive_us: Option<f64>,
    inclusive_us: Option<f64>,
    severity_us: Option<f64>,
    score: Option<f64>,
    label: Option<&'static str>,
}

impl FunctionRow {
    /// Returns the row of a function with its share of all anomalies, 0 to 1.
    pub fn of(func: &FuncOverview, share_of_anomalies: f64) -> Self {
        let metrics = Some(&func.metrics).filter(|it| it.count.count > 0);
        Self {
            program: func.app,
            function: func.name.clone(),
            calls: func.exclusive.count,
            anomalies: func.anomalies.accumulate,
            share_of_anomalies,
            severity_total_us: metrics.map(|it| it.severity.accumulate),
            severity_max_us: metrics.map(|it| it.severity.maximum),
            score_max: metrics.map(|it| it.score.maximum),
            exclusive_total_us: func.exclusive.accumulate,
            exclusive_mean_us: func.exclusive.mean,
            exclusive_max_us: func.exclusive.maximum,
            exclusive_stddev_us: func.exclusive.stddev,
            inclusive_total_us: func.inclusive.accumulate,
            inclusive_mean_us: func.inclusive.mean,
            inclusive_max_us: func.inclusive.maximum,
        }
    }
}

impl FlatRow for FunctionRow {
    const TABLE: &'static str = "profile";

    fn columns() -> Vec<TableColumn> {
        let mut columns = vec![
            TableColumn::int("program"),
            TableColumn::text("function"),
            TableColumn::int("calls"),
            TableColumn::float("anomalies"),
            TableColumn::float("share_of_anomalies"),
            TableColumn::float("severity_total_us").optional(),
            TableColumn::float("severity_max_us").optional(),
            TableColumn::float("score_max").optional(),
        ];
        columns.extend(
            [
                "exclusive_total_us",
                "exclusive_mean_us",
                "exclusive_max_us",
                "exclusive_stddev_us",
                "inclusive_total_us",
                "inclusive_mean_us",
                "inclusive_max_us",
            ]
            .map(TableColumn::float),
        );
        columns
    }
}

impl CounterRow {
    /// Returns the row of a counter; its values are in the counter's unit.
    pub fn of(counter: &CounterStats) -> Self {
        let stats = &counter.stats;
        Self {
            program: counter.app,
            counter: counter.counter.clone(),
            count: stats.count,
            mean: stats.mean,
            minimum: stats.minimum,
            maximum: stats.maximum,
            stddev: stats.stddev,
            total: stats.accumulate,
            skewness: stats.skewness,
            kurtosis: stats.kurtosis,
        }
    }
}

impl FlatRow for CounterRow {
    const TABLE: &'static str = "counters";

    fn columns() -> Vec<TableColumn> {
        let mut columns = vec![
            TableColumn::int("program"),
            TableColumn::text("counter"),
            TableColumn::int("count"),
        ];
        columns.extend(
            [
                "mean", "minimum", "maximum", "stddev", "total", "skewness", "kurtosis",
            ]
            .map(TableColumn::float),
        );
        columns
    }
}

impl RecordedRow {
    /// Returns the row of a record with the user's label.
    pub fn of(record: &ExecutionDocument, label: Option<Label>) -> Self {
        Self {
            event_id: record.event_id.clone(),
            function: record.func.clone(),
            program: record.app,
            rank: record.rank,
            thread: record.thread,
            host: record.hostname.clone(),
            step: record.step,
            entry_us: record.entry_us,
            exit_us: record.exit_us,
            exclusive_us: record.runtime_exclusive_us,
            inclusive_us: record.runtime_total_us,
            severity_us: record.severity_us,
            score: record.score,
            label: label.map(Label::name),
        }
    }
}

impl FlatRow for RecordedRow {
    const TABLE: &'static str = "records";

    fn columns() -> Vec<TableColumn> {
        let ints = |name: &str| TableColumn::int(name).optional();
        let floats = |name: &str| TableColumn::float(name).optional();
        vec![
            TableColumn::text("event_id"),
            TableColumn::text("function"),
            ints("program"),
            ints("rank"),
            ints("thread"),
            TableColumn::text("host").optional(),
            ints("step"),
            ints("entry_us"),
            ints("exit_us"),
            floats("exclusive_us"),
            floats("inclusive_us"),
            floats("severity_us"),
            floats("score"),
            TableColumn::text("label").optional(),
        ]
    }
}
