//! The truth of a run, and the detection rates against it.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// An execution reported as anomalous. Times are in microseconds.
#[derive(Debug)]
pub(crate) struct RecordedFind {
    event_id: String,
    rank: u64,
    entry_us: u64,
    exit_us: u64,
    exclusive_us: u64,
}

/// The interval in which a rank was stopped, and the duration.
#[derive(Debug)]
struct Stop {
    rank: u64,
    from_us: u64,
    to_us: u64,
    stopped_us: u64,
}

/// The truth of a recorded run.
#[derive(Debug, Default)]
pub(crate) struct RunTruth {
    /// Intervals in which a rank was stopped.
    stops: Vec<Stop>,
    /// Executions of the root function on a rank that was stopped.
    roots: Vec<Stop>,
    /// Labels of the anomalies, if all are known.
    anomalies: Option<BTreeSet<String>>,
}

/// Numbers of anomalies, of finds, and of both.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    anomalies: usize,
    found: usize,
    both: usize,
}

impl RecordedFind {
    /// Reads it from its record.
    pub(crate) fn of(record: &Value) -> Self {
        let number = |field: &str| record[field].as_u64().unwrap_or(0);
        Self {
            event_id: record["event_id"].as_str().unwrap_or_default().to_owned(),
            rank: number("rid"),
            entry_us: number("entry"),
            exit_us: number("exit"),
            exclusive_us: number("runtime_exclusive"),
        }
    }

    /// Returns true if the execution covers more than half of the stop.
    fn matches(&self, stop: &Stop) -> bool {
        self.rank == stop.rank && 2 * self.exclusive_us > stop.stopped_us
    }
}

impl RunTruth {
    /// Reads the truth files in the folder of a run.
    pub(crate) fn read(run: &Path) -> Result<Self, Box<dyn Error>> {
        let mut truth = Self::default();
        if let Ok(text) = fs::read_to_string(run.join("injections.json")) {
            let injections: Vec<Value> = serde_json::from_str(&text)?;
            let stops = injections.iter().filter(|it| it["kind"] == "stop");
            let stop = |it: &Value| {
                let from_us = it["t1_after_sigstop_us"].as_u64()?;
                let to_us = it["t2_before_sigcont_us"].as_u64()?;
                Some(Stop {
                    rank: it["rank"].as_u64()?,
                    from_us,
                    to_us,
                    stopped_us: to_us.saturating_sub(from_us),
                })
            };
            truth.stops = stops.filter_map(stop).collect();
        }
        if let Ok(text) = fs::read_to_string(run.join("ground_truth.csv")) {
            truth.roots = roots(&text);
        }
        if let Ok(text) = fs::read_to_string(run.join("truth.csv")) {
            let labels = text
                .lines()
                .skip(1)
                .filter_map(|line| line.split(',').nth(3));
            truth.anomalies = Some(labels.map(str::to_owned).collect());
        }
        Ok(truth)
    }

    /// Returns the detection rates as text.
    pub(crate) fn rate(&self, found: &[RecordedFind]) -> String {
        if let Some(anomalies) = &self.anomalies {
            let mut hits = Hits::default();
            hits.add(anomalies, found);
            return hits.to_string();
        }
        let mut parts = Vec::new();
        if !self.stops.is_empty() {
            let is_in = |it: &&Stop, found: &RecordedFind| {
                found.entry_us >= it.from_us && found.exit_us <= it.to_us
            };
            let overlaps = |it: &&Stop, found: &RecordedFind| {
                found.exit_us > it.from_us && found.entry_us < it.to_us
            };
            let hit = |stop: &&Stop, at: &dyn Fn(&&Stop, &RecordedFind) -> bool| {
                found
                    .iter()
                    .any(|found| found.matches(stop) && at(stop, found))
            };
            let roots = self.roots.iter().filter(|stop| hit(stop, &is_in)).count();
            let stops = self
                .stops
                .iter()
                .filter(|stop| hit(stop, &overlaps))
                .count();
            parts.push(format!("{roots}/{}", self.roots.len()));
            parts.push(format!("{stops}/{}", self.stops.len()));
        }
        parts.push(found.len().to_string());
        parts.join(", ")
    }
}

/// Returns the executions with label 1.
fn roots(table: &str) -> Vec<Stop> {
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    // Only function names, which are quoted, contain commas; the needed columns are before or after them.
    let fields = |line: &str| -> Vec<String> {
        let parts = line.split('"').enumerate();
        let plain = parts.map(|(at, part)| {
            if at % 2 == 1 {
                String::new()
            } else {
                part.to_owned()
            }
        });
        plain
            .collect::<String>()
            .split(',')
            .map(str::to_owned)
            .collect()
    };
    let number = |row: &[String], column: &str| {
        let at = columns.iter().position(|it| *it == column)?;
        row.get(at)?.parse::<f64>().ok().map(|value| value as u64)
    };
    let root = |line: &str| {
        let row = fields(line);
        (number(&row, "label")? == 1).then_some(())?;
        Some(Stop {
            rank: number(&row, "rank")?,
            from_us: number(&row, "entry_us")?,
            to_us: number(&row, "exit_us")?,
            stopped_us: number(&row, "own_stop_us")?,
        })
    };
    lines.filter_map(root).collect()
}

impl Hits {
    /// Adds a run in which all anomalies are known.
    pub(crate) fn add(&mut self, anomalies: &BTreeSet<String>, found: &[RecordedFind]) {
        self.anomalies += anomalies.len();
        self.found += found.len();
        self.both += found
            .iter()
            .filter(|found| anomalies.contains(&found.event_id))
            .count();
    }
}

impl fmt::Display for Hits {
    /// Writes precision and recall, or the number of finds if there is nothing to find.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |of: usize| self.both as f64 / of.max(1) as f64;
        if self.anomalies == 0 {
            return write!(f, "{} false", self.found);
        }
        write!(f, "{:.3}, {:.3}", share(self.found), share(self.anomalies))
    }
}
