//! `callgrove trends`: ranks that are slower than their peers, gradual growth, and change points.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use callgrove_model::{Trace, thousands};
use callgrove_query::{RunTrends, TrendRow};
use callgrove_tables::TrendTable;

use super::forest::trace_of;
use crate::exit::Exit;
use crate::output::{Clock, with_progress};
use crate::table_output::TableDestination;
use callgrove_args::TrendsArgs;

/// Maximum number of findings that other commands print below their tables.
const NUM_BELOW_TABLE: usize = 2;

pub(crate) fn run(args: &TrendsArgs) -> Result<Exit> {
    let destination = TableDestination::of(&args.listing.table)?;
    let mut clock = Clock::new(args.listing.timings);
    let trace = trace_of(&args.trace.source(), &mut clock)?;
    let trends = find(&trace, &mut clock)?;
    let rows = trends.rows().take(args.listing.limit.unwrap_or(usize::MAX));
    let rows: Vec<TrendRow> = rows.collect();
    destination.write(|out| {
        if rows.is_empty() && destination.is_text() {
            writeln!(
                out,
                "no rank is slower than its peers throughout, and nothing grows or changes permanently"
            )?;
            return Ok(());
        }
        out.rows(&TrendTable, rows)
    })?;
    Ok(Exit::after(&trace.warnings))
}

/// Finds the persistent and slow changes of a run.
pub(super) fn find(trace: &Arc<Trace>, clock: &mut Clock) -> Result<RunTrends> {
    let trends = with_progress("Searching for trends", |progress| {
        RunTrends::find(trace, progress)
    })?;
    clock.lap("trends");
    Ok(trends)
}

/// Prints the costliest findings below another table; nothing if there are no findings.
pub(super) fn print_below(out: &mut dyn Write, trends: &RunTrends) -> std::io::Result<()> {
    let num_trends = trends.all().len();
    for (at, sentence) in trends.sentences().take(NUM_BELOW_TABLE).enumerate() {
        let before = if at == 0 { "\n" } else { "" };
        writeln!(out, "{before}throughout the run: {sentence}")?;
    }
    match num_trends.saturating_sub(NUM_BELOW_TABLE) {
        0 => Ok(()),
        more => writeln!(out, "{} more: callgrove trends", thousands(more)),
    }
}
