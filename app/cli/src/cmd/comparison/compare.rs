//! `callgrove compare`: what changed between two runs, or between the halves of one.

use std::io::Write;

use anyhow::Result;
use callgrove_check::compare_sides;
use callgrove_compare::ComparisonUnit;
use callgrove_model::{count_of, thousands};
use callgrove_query::{COMPARED_SIDES, RunComparison};
use callgrove_tables::ChangeTable;

use super::sides::{read, read_side};
use crate::exit::Exit;
use crate::output::{Clock, warn, with_progress};
use crate::table_output::TableDestination;
use callgrove_args::CompareArgs;

pub(crate) fn run(args: &CompareArgs) -> Result<Exit> {
    let destination = TableDestination::of(&args.listing.table)?;
    let mut clock = Clock::new(args.listing.timings);
    let (comparison, exit) = compared(args, &mut clock)?;
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

/// Reads and compares the runs.
fn compared(args: &CompareArgs, clock: &mut Clock) -> Result<(RunComparison, Exit)> {
    if args.halves {
        let before = args.before.as_deref().unwrap_or_default();
        let (run, exit) = read(before, clock)?;
        let comparison = with_progress("Comparing the halves", |progress| {
            RunComparison::of_halves(&run, progress)
        })?;
        return Ok((comparison, exit));
    }
    let named = |one: &Option<String>, several: &Vec<String>| -> Vec<String> {
        one.iter().chain(several).cloned().collect()
    };
    let (before, exit) = read_side(&named(&args.before, &args.before_runs), clock)?;
    let (after, exit_after) = read_side(&named(&args.after, &args.after_runs), clock)?;
    let comparison = compare_sides(&before, &after, COMPARED_SIDES)?;
    Ok((comparison, exit.and(exit_after)))
}

/// Prints how much was compared, and how much is not listed.
fn print_extent(
    out: &mut dyn Write,
    comparison: &RunComparison,
    with_possible: bool,
) -> std::io::Result<()> {
    let all = comparison.comparison();
    let tests = thousands(all.num_tests);
    let runs = comparison.num_runs();
    if all.unit == ComparisonUnit::Runs {
        let [before, after] = runs.map(|num| count_of(num, "run"));
        writeln!(
            out,
            "\n{before} and {after} compared in {tests} ways; an interval holds for further runs, as far as they differ like these"
        )?;
    } else {
        print_blocks(out, comparison, &tests)?;
    }
    if let Some((visible, subject)) = comparison.smallest_visible() {
        let percent = visible * 100.0;
        writeln!(out, "{percent:.1} % more of {subject} would have been seen")?;
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

/// Prints how much of one run a side was compared.
fn print_blocks(
    out: &mut dyn Write,
    comparison: &RunComparison,
    tests: &str,
) -> std::io::Result<()> {
    match comparison.num_iterations() {
        Some([before, after]) => writeln!(
            out,
            "\n{} and {} iterations compared in {tests} ways",
            thousands(before),
            thousands(after)
        ),
        None => writeln!(out, "\ncompared in {tests} ways"),
    }
}
