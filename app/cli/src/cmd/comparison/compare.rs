//! `callgrove compare`: what changed between two runs, or between the halves of one.

use std::io::Write;

use anyhow::Result;
use callgrove_model::thousands;
use callgrove_query::{ComparedRun, RunComparison};
use callgrove_tables::ChangeTable;

use super::super::forest::trace_of;
use crate::exit::Exit;
use crate::output::{Clock, warn, with_progress};
use crate::table_output::TableDestination;
use callgrove_args::CompareArgs;

pub(crate) fn run(args: &CompareArgs) -> Result<Exit> {
    let destination = TableDestination::of(&args.listing.table)?;
    let mut clock = Clock::new(args.listing.timings);
    let (before, mut exit) = read(&args.before, &mut clock)?;
    let comparison = if let Some(after) = &args.after {
        let (after, exit_after) = read(after, &mut clock)?;
        exit = exit.and(exit_after);
        of_runs(&before, &after)?
    } else {
        with_progress("Comparing the halves", |progress| {
            RunComparison::of_halves(&before, progress)
        })?
    };
    clock.lap("compare");
    for limit in comparison.limits() {
        warn(&limit);
    }
    let mut rows = comparison.rows();
    if args.possible {
        rows.extend(comparison.possible_rows());
    }
    rows.truncate(args.listing.limit.unwrap_or(usize::MAX));
    let is_text = destination.is_text();
    destination.write(|out| {
        if is_text && rows.is_empty() {
            writeln!(out, "nothing changed")?;
        } else {
            out.rows(&ChangeTable, rows)?;
        }
        if is_text {
            print_extent(out, &comparison, args.possible)?;
        }
        Ok(())
    })?;
    Ok(exit)
}

/// Reads a run, and finds its iterations and incidents.
pub(in crate::cmd) fn read(source: &str, clock: &mut Clock) -> Result<(ComparedRun, Exit)> {
    let trace = trace_of(source, clock)?;
    let run = with_progress("Searching for iterations and incidents", |progress| {
        ComparedRun::new(&trace, progress)
    })?;
    clock.lap("iterations and incidents");
    Ok((run, Exit::after(&trace.warnings)))
}

/// Compares two runs.
pub(in crate::cmd) fn of_runs(before: &ComparedRun, after: &ComparedRun) -> Result<RunComparison> {
    Ok(with_progress("Comparing the runs", |progress| {
        RunComparison::of_runs(before, after, progress)
    })?)
}

/// Prints how much was compared, and how much is not listed.
fn print_extent(
    out: &mut dyn Write,
    comparison: &RunComparison,
    with_possible: bool,
) -> std::io::Result<()> {
    let all = comparison.comparison();
    let tests = thousands(all.num_tests);
    match comparison.num_iterations() {
        Some([before, after]) => writeln!(
            out,
            "\n{} and {} iterations compared in {tests} ways",
            thousands(before),
            thousands(after)
        )?,
        None => writeln!(out, "\ncompared in {tests} ways")?,
    }
    if !with_possible && !all.possible.is_empty() {
        writeln!(
            out,
            "{} more may be chance: --possible lists them",
            thousands(all.possible.len())
        )?;
    }
    Ok(())
}
