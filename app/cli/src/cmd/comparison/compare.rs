//! `callgrove compare`: what changed between two runs, or between the halves of one.

use std::io::Write;

use anyhow::Result;
use callgrove_export::{ResultTable, TableColumn};
use callgrove_model::{DurationNs, thousands};
use callgrove_query::{ChangeRow, ComparedRun, RunComparison};
use serde::Serialize;

use super::super::forest::trace_of;
use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::output::{Clock, warn, with_progress};

pub(crate) fn run(args: &CompareArgs) -> Result<Exit> {
    let destination = args.listing.table.destination()?;
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

/// The table of `callgrove compare`.
struct ChangeTable;

impl ResultTable for ChangeTable {
    type Row = ChangeRow;

    fn name(&self) -> &'static str {
        "changes"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::text("kind"),
            TableColumn::text("aspect"),
            TableColumn::text("function"),
            TableColumn::text("path"),
            TableColumn::float("before"),
            TableColumn::float("after"),
            TableColumn::float("ratio").optional(),
            TableColumn::float("ratio_low").optional(),
            TableColumn::float("ratio_high").optional(),
            TableColumn::int("cost_us"),
            TableColumn::float("p_value"),
            TableColumn::float("corrected_p"),
            TableColumn::bool("sure"),
            TableColumn::text("words"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec!["cost", "kind", "what", "ratio", "p", "change"]
    }

    fn cells(&self, row: &ChangeRow) -> Vec<String> {
        let ratio = row.ratio.map(|ratio| format!("{ratio:.2}"));
        vec![
            DurationNs::from_us(row.cost_us).to_string(),
            row.kind.to_owned(),
            row.aspect.to_owned(),
            ratio.unwrap_or_default(),
            format!("{:.1e}", row.corrected_p),
            row.words.clone(),
        ]
    }

    fn record(&self, row: &ChangeRow) -> impl Serialize {
        ChangeLine::of(row)
    }

    fn document(&self, row: &ChangeRow) -> impl Serialize {
        row
    }
}

/// A row with its path as text.
#[derive(Serialize)]
struct ChangeLine<'a> {
    kind: &'a str,
    aspect: &'a str,
    function: &'a str,
    path: String,
    before: f64,
    after: f64,
    ratio: Option<f64>,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    cost_us: i64,
    p_value: f64,
    corrected_p: f64,
    sure: bool,
    words: &'a str,
}

impl<'a> ChangeLine<'a> {
    fn of(row: &'a ChangeRow) -> Self {
        Self {
            kind: row.kind,
            aspect: row.aspect,
            function: &row.function,
            path: row.path.join("; "),
            before: row.before,
            after: row.after,
            ratio: row.ratio,
            ratio_low: row.ratio_low,
            ratio_high: row.ratio_high,
            cost_us: row.cost_us,
            p_value: row.p_value,
            corrected_p: row.corrected_p,
            sure: row.sure,
            words: &row.words,
        }
    }
}
