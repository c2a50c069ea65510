//! `callgrove patterns`: recurring patterns, and occurrences that took far longer than usual.

use std::io::Write;

use anyhow::Result;
use callgrove_model::DurationNs;
use callgrove_query::{IterationsRow, PatternReference, PatternRow, RunPatterns};
use serde::Serialize;

use super::forest::trace_of;
use crate::args::{PatternsArgs, TableFormat};
use crate::exit::Exit;
use crate::output::{Clock, TextTable, csv_lines, json_lines, print, with_progress};

/// Default number of patterns in a table.
const NUM_IN_TABLE: usize = 30;

pub(crate) fn run(args: &PatternsArgs) -> Result<Exit> {
    let mut clock = Clock::new(args.listing.timings);
    let trace = trace_of(&args.trace, &mut clock)?;
    let patterns = with_progress("Searching for patterns", |progress| {
        RunPatterns::find(&trace, progress)
    })?;
    clock.lap("patterns");
    let reference = PatternReference {
        share: args.reference_share,
        factor: args.slow_factor,
    };
    let default = match args.listing.format {
        TableFormat::Table => NUM_IN_TABLE,
        TableFormat::Json | TableFormat::Csv => usize::MAX,
    };
    let listed = patterns.listed();
    let num_listed = listed.len();
    let rows = listed.into_iter().map(|it| patterns.row(it, reference));
    let rows: Vec<PatternRow> = rows.take(args.listing.limit.unwrap_or(default)).collect();
    let iterations = patterns.iterations_row();
    print(|out| match args.listing.format {
        TableFormat::Table => {
            print_iterations(out, iterations.as_ref())?;
            table(&rows).print(out, 0)?;
            match num_listed - rows.len() {
                0 => Ok(()),
                left => writeln!(
                    out,
                    "\n{left} more patterns with less total time; --limit {num_listed} lists all"
                ),
            }
        }
        TableFormat::Json => {
            let iterations = iterations.iter().map(Record::Iterations);
            json_lines(out, iterations.chain(rows.iter().map(Record::Pattern)))
        }
        TableFormat::Csv => csv_lines(out, rows.iter().map(PatternLine::of)),
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

fn table(rows: &[PatternRow]) -> TextTable {
    let mut table = TextTable::new(&[
        "pattern",
        "occurrences",
        "lanes",
        "total",
        "usual",
        "anomalous",
        "excess",
        "worst",
        "definition",
    ]);
    for row in rows {
        let worst = row.anomalous.iter().map(|it| it.duration_us);
        let worst = worst.max_by(f64::total_cmp).map_or(String::new(), from_us);
        table.push(vec![
            row.pattern.to_string(),
            row.num_occurrences.to_string(),
            row.num_lanes.to_string(),
            DurationNs(row.total_us * 1_000).to_string(),
            from_us(row.reference_us),
            row.num_anomalous.to_string(),
            DurationNs(row.excess_us * 1_000).to_string(),
            worst,
            row.definition.clone(),
        ]);
    }
    table
}

fn from_us(us: f64) -> String {
    DurationNs::nearest(us * 1e3).to_string()
}
