//! `callgrove evaluate`: compares methods with a known truth, and measures the effect of labels.

use std::path::Path;

use anyhow::{Context, Result};
use callgrove_evaluation_report::{
    MeasurementTable, MethodComparison, PlotFile, StageMonitor, TruthTable, measurement_rows,
};
use callgrove_export::SinkFormat;
use callgrove_headless::{Readers, replace_file};
use callgrove_judge::active::QueryStrategy;
use callgrove_trees::Progress;

use super::forest::forest_of;
use crate::exit::Exit;
use crate::output::{Clock, warn, with_progress};
use crate::table_output::TableDestination;
use callgrove_args::{EvaluateArgs, Strategy};

pub(crate) fn run(args: &EvaluateArgs) -> Result<Exit> {
    let destination = TableDestination::of(&args.table)?;
    // Small files and settings are read first, so that mistakes in them show before the long work.
    let plot_file = args.plot.as_deref().map(PlotFile::new).transpose()?;
    let strategies: Vec<QueryStrategy> = args
        .strategy
        .iter()
        .map(|it| Strategy::query(*it))
        .collect();
    let comparison = MethodComparison::new(
        &args.methods,
        &strategies,
        &args.checkpoints,
        args.max_labels,
        args.seed,
    )?;
    let table = read_truth(&args.truth)?;
    let mut clock = Clock::new(args.timings);
    let (forest, function) = forest_of(
        &args.trace.source(),
        args.function.as_deref(),
        args.part.between,
        &mut clock,
    )?;
    let classes = &args.classes;
    let positive = classes.positive.as_deref();
    let truth = table
        .truth(&forest, positive, &classes.negative, &warn)
        .with_context(|| format!("cannot use the truth in {}", args.truth.display()))?;
    let report = comparison.run(&forest, &function, &truth, &mut TerminalStages(clock))?;
    if let Some(file) = plot_file {
        replace_file(file.path(), &file.draw(&report)?, Readers::ByMask)
            .with_context(|| format!("cannot write {}", file.path().display()))?;
    }
    destination.write(|out| match destination.format() {
        SinkFormat::Text => Ok(report.print(out)?),
        SinkFormat::Json => Ok(report.print_json(out)?),
        SinkFormat::Csv | SinkFormat::Parquet => {
            out.rows(&MeasurementTable, measurement_rows(&report))
        }
    })?;
    Ok(Exit::after(&forest.trace().warnings))
}

/// Reads a file with the true labels of executions.
pub(super) fn read_truth(path: &Path) -> Result<TruthTable> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    TruthTable::parse(&text).with_context(|| format!("cannot use the truth in {}", path.display()))
}

/// Shows stages on standard error.
struct TerminalStages(Clock);

impl StageMonitor for TerminalStages {
    fn stage<T>(&self, stage: &str, work: impl FnOnce(Progress<'_>) -> T) -> T {
        with_progress(stage, work)
    }

    fn lap(&mut self, part: &str) {
        self.0.lap(part);
    }

    fn warn(&self, text: &str) {
        warn(text);
    }
}
