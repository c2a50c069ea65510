//! `callgrove causes` and `callgrove incidents`: which ranks delayed which others.

use std::io::Write as _;
use std::sync::Arc;

use anyhow::{Result, bail};
use callgrove_model::{Cancelled, Forest, Progress, Trace, TreeIdx};
use callgrove_query::{Incident, RunCauses, TreeCauses, open_calls_sentence};
use callgrove_session::{Detection, LearnSettings, TreeDelays, analyze, grow_forest};
use callgrove_tables::{CauseTable, IncidentTable};

use super::forest::{forest_of, trace_of};
use super::trends;
use crate::exit::Exit;
use crate::output::{Clock, with_progress};
use crate::table_output::TableDestination;
use callgrove_args::{CausesArgs, IncidentsArgs};

pub(crate) fn run(args: &CausesArgs) -> Result<Exit> {
    let destination = TableDestination::of(&args.listing.table)?;
    let mut clock = Clock::new(args.listing.timings);
    let (forest, root) = forest_of(
        &args.trace.source(),
        args.function.as_deref(),
        None,
        &mut clock,
    )?;
    if forest.trace().is_forest {
        bail!("causes need a trace: the trees of a file have no messages");
    }
    let causes = find_delays(forest.trace(), &mut clock)?;
    let trees = if args.all {
        (0..forest.len()).map(TreeIdx::from_index).collect()
    } else {
        abnormal(&forest, root, &causes, args.seed, &mut clock)?
    };
    let limit = args.listing.limit.unwrap_or(usize::MAX);
    let rows = trees.into_iter().map(|tree| causes.row(&forest, tree));
    destination.write_rows(&CauseTable, rows.take(limit))?;
    Ok(Exit::after(&forest.trace().warnings))
}

pub(crate) fn run_incidents(args: &IncidentsArgs) -> Result<Exit> {
    let destination = TableDestination::of(&args.listing.table)?;
    let mut clock = Clock::new(args.listing.timings);
    let trace = trace_of(&args.trace.source(), &mut clock)?;
    let causes = find(&trace, &mut clock)?;
    let hit = args.function.as_deref().map(|function| {
        let (forest, _) = grow_forest(&trace, function)?;
        Ok::<_, anyhow::Error>(TreeCauses::new(&causes, &forest))
    });
    let hit = hit.transpose()?;
    let numbered = causes.incidents().iter().enumerate();
    let is_wanted = |incident: &Incident| !(args.not_by_design && incident.kind.is_by_design());
    let wanted = numbered.filter(|(_, incident)| is_wanted(incident));
    let rows = wanted.filter_map(|(number, incident)| {
        let mut row = causes.incident_row(number, incident);
        if let Some(hit) = &hit {
            row.num_executions = hit.of_incident(number).count();
        }
        (row.num_executions > 0).then_some(row)
    });
    let trends = destination
        .is_text()
        .then(|| trends::find(&trace, &mut clock))
        .transpose()?;
    let begin_us = trace.time_span().map_or(0, |(begin, _)| begin.as_us());
    let limit = args.listing.limit.unwrap_or(usize::MAX);
    destination.write(|out| {
        out.rows(&IncidentTable { begin_us }, rows.take(limit))?;
        if destination.is_text()
            && let Some(without) = causes.run_without_faults()
        {
            writeln!(out, "\n{without}")?;
        }
        if destination.is_text()
            && let Some(open) = open_calls_sentence(&trace)
        {
            writeln!(out, "\n{open}")?;
        }
        match &trends {
            Some(trends) => Ok(trends::print_below(out, trends)?),
            None => Ok(()),
        }
    })?;
    Ok(Exit::after(&trace.warnings))
}

/// Traces the delays of a run to their causes.
pub(super) fn find(trace: &Arc<Trace>, clock: &mut Clock) -> Result<RunCauses> {
    follow(trace, RunCauses::find, clock)
}

/// Traces the delays of the executions of a run to their causes, and finds no others.
pub(super) fn find_delays(trace: &Arc<Trace>, clock: &mut Clock) -> Result<RunCauses> {
    follow(trace, RunCauses::find_delays, clock)
}

fn follow(
    trace: &Arc<Trace>,
    find: fn(&Arc<Trace>, Progress<'_>) -> Result<RunCauses, Cancelled>,
    clock: &mut Clock,
) -> Result<RunCauses> {
    let causes = with_progress("Following delays to their causes", |progress| {
        find(trace, progress)
    })?;
    clock.lap("causes");
    Ok(causes)
}

/// Judges the executions of a forest of a run with these causes, without labels.
pub(super) fn detect(
    forest: &Forest,
    root: String,
    causes: &RunCauses,
    seed: u64,
    clock: &mut Clock,
) -> Result<Detection> {
    let settings = LearnSettings::with_seed(seed);
    let (_, mut learned) = with_progress("Learning the trees", |progress| {
        analyze(forest.clone(), root, &settings, progress)
    })?;
    let no_labels = vec![None; forest.len()];
    let mut judged = with_progress("Training", |progress| learned.train(&no_labels, progress))?;
    TreeDelays::new(causes, forest).apply(&mut judged);
    clock.lap("learn");
    Ok(Detection::new(judged, None))
}

/// Returns the abnormal executions, the most abnormal first. Those that a trace write explains come last.
fn abnormal(
    forest: &Forest,
    root: String,
    causes: &RunCauses,
    seed: u64,
    clock: &mut Clock,
) -> Result<Vec<TreeIdx>> {
    let detection = detect(forest, root, causes, seed, clock)?;
    let is_listed = |tree: &TreeIdx| detection.is_unusual(*tree);
    Ok(detection.order.iter().copied().filter(is_listed).collect())
}
