//! `callgrove causes` and `callgrove incidents`: which ranks delayed which others.

use std::sync::Arc;

use anyhow::{Result, bail};
use callgrove_export::{ResultTable, TableColumn};
use callgrove_model::{DurationNs, Forest, Trace, TreeIdx, thousands};
use callgrove_query::{CauseRow, Incident, IncidentRow, RunCauses, TreeCauses};
use callgrove_session::{Detection, LearnSettings, analyze, grow_forest};
use serde::Serialize;

use super::forest::{forest_of, trace_of};
use super::trends;
use crate::args::{CausesArgs, IncidentsArgs};
use crate::exit::Exit;
use crate::output::{Clock, with_progress};

pub(crate) fn run(args: &CausesArgs) -> Result<Exit> {
    let destination = args.listing.table.destination()?;
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
    let causes = find(forest.trace(), &mut clock)?;
    let trees = if args.all {
        (0..forest.len()).map(TreeIdx::from_index).collect()
    } else {
        abnormal(&forest, root, args.seed, &mut clock)?
    };
    let limit = args.listing.limit.unwrap_or(usize::MAX);
    let rows = trees.into_iter().map(|tree| causes.row(&forest, tree));
    destination.write_rows(&CauseTable, rows.take(limit))?;
    Ok(Exit::after(&forest.trace().warnings))
}

pub(crate) fn run_incidents(args: &IncidentsArgs) -> Result<Exit> {
    let destination = args.listing.table.destination()?;
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
        match &trends {
            Some(trends) => Ok(trends::print_below(out, trends)?),
            None => Ok(()),
        }
    })?;
    Ok(Exit::after(&trace.warnings))
}

/// Traces the delays of a run to their causes.
pub(super) fn find(trace: &Arc<Trace>, clock: &mut Clock) -> Result<RunCauses> {
    let causes = with_progress("Following delays to their causes", |progress| {
        RunCauses::find(trace, progress)
    })?;
    clock.lap("causes");
    Ok(causes)
}

/// Judges the executions of a forest, without labels.
pub(super) fn detect(
    forest: &Forest,
    root: String,
    seed: u64,
    clock: &mut Clock,
) -> Result<Detection> {
    let settings = LearnSettings::with_seed(seed);
    let (_, mut learned) = with_progress("Learning the trees", |progress| {
        analyze(forest.clone(), root, &settings, progress)
    })?;
    let no_labels = vec![None; forest.len()];
    let judged = with_progress("Training", |progress| learned.train(&no_labels, progress))?;
    clock.lap("learn");
    Ok(Detection::new(judged, None))
}

/// Returns the abnormal executions, the most abnormal first. Those that a trace write explains come last.
fn abnormal(forest: &Forest, root: String, seed: u64, clock: &mut Clock) -> Result<Vec<TreeIdx>> {
    let detection = detect(forest, root, seed, clock)?;
    let is_listed = |tree: &TreeIdx| detection.is_unusual(*tree);
    Ok(detection.order.iter().copied().filter(is_listed).collect())
}

/// The table of `callgrove causes`.
struct CauseTable;

impl ResultTable for CauseTable {
    type Row = CauseRow;

    fn name(&self) -> &'static str {
        "causes"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::int("rank"),
            TableColumn::int("index"),
            TableColumn::text("event_id"),
            TableColumn::text("role").optional(),
            TableColumn::int("root_rank").optional(),
            TableColumn::text("root_function").optional(),
            TableColumn::text("kind").optional(),
            TableColumn::int("waited_us"),
            TableColumn::int("hops"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec![
            "tree",
            "event_id",
            "role",
            "root_rank",
            "kind",
            "waited",
            "hops",
            "what happened",
        ]
    }

    fn cells(&self, row: &CauseRow) -> Vec<String> {
        vec![
            format!("#{}-{}", row.rank, row.index),
            row.event_id.clone(),
            row.role.clone().unwrap_or_default(),
            row.root_rank.map_or(String::new(), |rank| rank.to_string()),
            row.kind.clone().unwrap_or_default(),
            DurationNs(row.waited_us * 1_000).to_string(),
            row.hops.to_string(),
            row.words.clone(),
        ]
    }

    fn record(&self, row: &CauseRow) -> impl Serialize {
        CauseLine::of(row)
    }

    fn document(&self, row: &CauseRow) -> impl Serialize {
        row
    }
}

/// The table of `callgrove incidents`.
struct IncidentTable {
    /// Begin of the run, microseconds since the epoch.
    begin_us: i64,
}

impl ResultTable for IncidentTable {
    type Row = IncidentRow;

    fn name(&self) -> &'static str {
        "incidents"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::int("incident"),
            TableColumn::int("start_us"),
            TableColumn::int("end_us"),
            TableColumn::int("root_rank").optional(),
            TableColumn::text("root_function"),
            TableColumn::text("kind"),
            TableColumn::bool("by_design"),
            TableColumn::int("confidence_percent"),
            TableColumn::int("next_best_rank").optional(),
            TableColumn::int("times"),
            TableColumn::int("num_executions"),
            TableColumn::int("num_ranks"),
            TableColumn::int("delay_us"),
            TableColumn::text("words"),
            TableColumn::text("again"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec![
            "incident",
            "at",
            "delay",
            "ranks",
            "executions",
            "kind",
            "sure",
            "what happened",
            "again",
        ]
    }

    fn cells(&self, row: &IncidentRow) -> Vec<String> {
        vec![
            row.incident.to_string(),
            DurationNs((row.start_us - self.begin_us) * 1_000).to_string(),
            DurationNs(row.delay_us * 1_000).to_string(),
            row.num_ranks.to_string(),
            thousands(row.num_executions),
            row.kind.clone(),
            format!("{} %", row.confidence_percent),
            row.words.clone(),
            row.again.clone(),
        ]
    }

    fn record(&self, row: &IncidentRow) -> impl Serialize {
        row
    }

    fn document(&self, row: &IncidentRow) -> impl Serialize {
        row
    }
}

/// A row without the chain, which does not fit into a cell.
#[derive(Serialize)]
struct CauseLine<'a> {
    rank: u32,
    index: u32,
    event_id: &'a str,
    role: Option<&'a str>,
    root_rank: Option<u32>,
    root_function: Option<&'a str>,
    kind: Option<&'a str>,
    waited_us: i64,
    hops: usize,
}

impl<'a> CauseLine<'a> {
    fn of(row: &'a CauseRow) -> Self {
        Self {
            rank: row.rank,
            index: row.index,
            event_id: &row.event_id,
            role: row.role.as_deref(),
            root_rank: row.root_rank,
            root_function: row.root_function.as_deref(),
            kind: row.kind.as_deref(),
            waited_us: row.waited_us,
            hops: row.hops,
        }
    }
}
