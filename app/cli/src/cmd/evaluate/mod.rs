//! `callgrove evaluate`: compares methods with a known truth, and measures the effect of labels.

mod measurements;
mod plot;
mod report;
mod truth;

use anyhow::{Context, Result};
use callgrove_evaluate::baselines::BaselineParams;
use callgrove_evaluate::evaluate::{
    Alarms, CurveParams, Method, Quality, Truth, ValidCurveParams, Workbench,
};
use callgrove_export::SinkFormat;
use callgrove_judge::detector::DetectorParams;
use callgrove_trees::{MlError, Progress};

use self::measurements::MeasurementTable;
use self::plot::PlotFile;
use self::report::{CurveReport, MethodReport, Report};
pub(crate) use self::truth::TruthTable;
use super::forest::forest_of;
use crate::args::{EvaluateArgs, Strategy};
use crate::exit::Exit;
use crate::output::{Clock, warn, with_progress};
use callgrove_headless::{Readers, replace_file};

pub(crate) fn run(args: &EvaluateArgs) -> Result<Exit> {
    let destination = args.table.destination()?;
    // Small files and settings are read first, so that mistakes in them show before the long work.
    let plot_file = args.plot.as_deref().map(PlotFile::new).transpose()?;
    let curve_params = curve_params(args)?;
    let table = TruthTable::read(&args.truth)?;
    let mut clock = Clock::new(args.timings);
    let (forest, function) = forest_of(
        &args.trace.source(),
        args.function.as_deref(),
        args.part.between,
        &mut clock,
    )?;
    let truth = table
        .truth(
            &forest,
            args.classes.positive.as_deref(),
            &args.classes.negative,
        )
        .with_context(|| format!("cannot use the truth in {}", args.truth.display()))?;
    let ours = DetectorParams::default();
    let baselines = BaselineParams::default().check()?;
    let mut workbench = Workbench::new(&forest, &truth, ours, baselines, args.seed)?;
    let mut methods = Vec::new();
    let mut curves = Vec::new();
    for &method in &args.methods {
        methods.extend(rate(&mut workbench, &truth, method)?);
        clock.lap(&method.to_string());
        if let Some(params) = &curve_params
            && method.learns()
        {
            for &strategy in &args.strategy {
                curves.extend(learn(&mut workbench, method, strategy, params)?);
            }
            clock.lap(&format!("{method} with labels"));
        }
    }
    let report = Report {
        function: &function,
        truth: &truth,
        methods,
        curves,
    };
    if let Some(file) = plot_file {
        replace_file(file.path(), &file.draw(&report)?, Readers::ByMask)
            .with_context(|| format!("cannot write {}", file.path().display()))?;
    }
    destination.write(|out| match destination.format() {
        SinkFormat::Text => Ok(report.print(out)?),
        SinkFormat::Json => Ok(report.print_json(out)?),
        SinkFormat::Csv | SinkFormat::Parquet => {
            out.rows(&MeasurementTable, measurements::rows(&report))
        }
    })?;
    Ok(Exit::after(&forest.trace().warnings))
}

/// Returns the numbers of labels at which to measure; `None` if no labels are given.
fn curve_params(args: &EvaluateArgs) -> Result<Option<ValidCurveParams>> {
    if args.max_labels == 0 {
        return Ok(None);
    }
    let mut checkpoints = args.checkpoints.clone();
    checkpoints.retain(|&checkpoint| checkpoint < args.max_labels);
    checkpoints.push(args.max_labels);
    checkpoints.sort_unstable();
    checkpoints.dedup();
    Ok(Some(CurveParams { checkpoints }.check()?))
}

/// Rates a method without labels. A baseline that does not work on this truth is reported and left out.
fn rate(
    workbench: &mut Workbench<'_>,
    truth: &Truth,
    method: Method,
) -> Result<Option<MethodReport>> {
    let work = |progress: Progress<'_>| workbench.scores(method, progress);
    let scores = match with_progress(&format!("Scoring by {method}"), work) {
        Ok(scores) => scores,
        Err(error @ (MlError::TooFewExamples { .. } | MlError::PeerFailed(_))) => {
            warn(&format!("{method} is left out: {error}"));
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| format!("{method} failed")),
    };
    let kinds = 0..truth.kinds().len();
    Ok(Some(MethodReport {
        method,
        alarms: method.learns().then(|| Alarms::of(truth, &scores)),
        all: Quality::of_all(truth, &scores),
        by_kind: kinds
            .map(|kind| Quality::of_kind(truth, &scores, kind))
            .collect(),
    }))
}

fn learn(
    workbench: &mut Workbench<'_>,
    method: Method,
    strategy: Strategy,
    params: &ValidCurveParams,
) -> Result<Option<CurveReport>> {
    let query = strategy.query();
    let work = |progress: Progress<'_>| workbench.curve(method, params, query, progress);
    let points = with_progress(&format!("Labelling for {method}"), work)
        .with_context(|| format!("{method} failed with labels"))?;
    Ok(points.map(|points| CurveReport {
        method,
        query,
        points,
    }))
}
