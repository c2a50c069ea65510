//! `callgrove patterns`: recurring patterns, and occurrences that took far longer than usual.

use std::io::Write;

use anyhow::Result;
use callgrove_model::DurationNs;
use callgrove_query::{IterationsRow, PatternReference, RunPatterns};
use callgrove_tables::PatternTable;

use super::forest::trace_of;
use crate::exit::Exit;
use crate::output::{Clock, with_progress};
use crate::table_output::TableDestination;
use callgrove_args::PatternsArgs;

/// Default number of patterns in a table.
const NUM_IN_TABLE: usize = 30;

pub(crate) fn run(args: &PatternsArgs) -> Result<Exit> {
    let destination = TableDestination::of(&args.listing.table)?;
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

fn from_us(us: f64) -> String {
    DurationNs::nearest(us * 1e3).to_string()
}
