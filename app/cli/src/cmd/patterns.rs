//! `callgrove patterns`: recurring patterns, and occurrences that took far longer than usual.

use std::io::Write;

use anyhow::Result;
use callgrove_export::{ResultTable, TableColumn};
use callgrove_model::{DurationNs, thousands};
use callgrove_query::{IterationsRow, PatternReference, PatternRow, RunPatterns};
use serde::Serialize;

use super::forest::trace_of;
use crate::args::PatternsArgs;
use crate::exit::Exit;
use crate::output::{Clock, with_progress};

/// Default number of patterns in a table.
const NUM_IN_TABLE: usize = 30;

pub(crate) fn run(args: &PatternsArgs) -> Result<Exit> {
    let destination = args.listing.table.destination()?;
    let mut clock = Clock::new(args.listing.timings);
    let trace = trace_of(&args.trace.source(), &mut clock)?;
    let patterns = with_progress("Searching for patterns", |progress| {
        RunPatterns::find(&trace, progress)
    })?;
    clock.lap("patterns");
    let reference = PatternReference {
        share: args.reference_share,
        factor: args.slow_factor,
    };
    let is_text = destination.is_text();
    let default = if is_text { NUM_IN_TABLE } else { usize::MAX };
    let limit = args.listing.limit.unwrap_or(default);
    let listed = patterns.listed();
    let num_listed = listed.len();
    let rows = listed.into_iter().map(|it| patterns.row(it, reference));
    let table = PatternTable(patterns.iterations_row());
    let num_left = num_listed.saturating_sub(limit);
    destination.write(|out| {
        if is_text {
            print_iterations(out, table.0.as_ref())?;
        }
        out.rows(&table, rows.take(limit))?;
        if is_text && num_left > 0 {
            writeln!(
                out,
                "\n{num_left} more patterns with less total time; --limit {num_listed} lists all"
            )?;
        }
        Ok(())
    })?;
    Ok(Exit::after(&trace.warnings))
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

fn print_iterations(
    out: &mut dyn Write,
    iterations: Option<&IterationsRow>,
) -> std::io::Result<()> {
    let Some(row) = iterations else {
        return writeln!(out, "no loop of time steps found\n");
    };
    writeln!(
        out,
        "{} iterations of {}: {} each (median), the longest no. {} with {}; the busiest rank works {:.0} % more \
         than the mean of all (median)\n",
        row.num_iterations,
        row.name,
        from_us(row.median_us),
        row.longest,
        from_us(row.longest_us),
        100.0 * row.median_imbalance,
    )
}

/// The table of `callgrove patterns`, and the iterations of the run.
struct PatternTable(Option<IterationsRow>);

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

fn from_us(us: f64) -> String {
    DurationNs::nearest(us * 1e3).to_string()
}
