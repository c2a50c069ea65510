//! The streams and settings of an AD instance, from the command line and the files that it names.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use callgrove_ad::{AdOptions, DocumentBudget, Watchlist};
use callgrove_detect::{Algorithm, Params};
use callgrove_model::{FunctionPattern, ProgramId};
use callgrove_pipeline::{OpenedStreams, StreamInput, StreamOptions};
use callgrove_source::PATH_SEPARATOR;

use crate::guard::registry;
use crate::output::Problems;
use crate::stop::StopSignal;
use callgrove_args::{DetectArgs, StreamArgs};

/// Returns the streams that an AD instance reads.
fn stream_options(args: &StreamArgs) -> StreamOptions {
    StreamOptions {
        input: match args.input.trace.join(PATH_SEPARATOR) {
            trace if trace.is_empty() => StreamInput::Live(args.input.sst.clone()),
            trace if args.follow => StreamInput::Growing(trace.into()),
            trace => StreamInput::Recorded(trace.into()),
        },
        program: ProgramId(args.program),
        connect_timeout: Duration::from_secs(args.connect_timeout),
    }
}

/// Opens the streams. A wait for them is printed once.
pub(crate) fn open_streams(args: &StreamArgs, stop: &StopSignal) -> Result<OpenedStreams> {
    let mut problems = Problems::default();
    Ok(callgrove_pipeline::open_streams(
        &stream_options(args),
        registry(),
        &|| stop.is_set(),
        &mut |text| problems.report(vec![text]),
    )?)
}

/// Returns the settings of an AD instance.
pub(crate) fn instance_options(streams: &StreamArgs, args: &DetectArgs) -> Result<AdOptions> {
    let mut options = stream_options(streams).instance_options(params(args)?)?;
    options.statistic = args.statistic;
    options.window = args.window;
    options.min_severity_us = args.min_severity_us;
    options.budget = args.max_documents_per_second.map(DocumentBudget);
    if let Some(path) = &args.ignore {
        options.rules.ignore(&read(path)?);
    }
    if let Some(path) = &args.thresholds {
        let shown = path.display().to_string();
        options
            .rules
            .set_thresholds(&read(path)?, &shown, &options.params)?;
    }
    options.trees.sampled = args
        .trees
        .iter()
        .map(|pattern| FunctionPattern::new(pattern))
        .collect();
    options.watchlist = match &args.watchlist {
        Some(path) => Watchlist::parse(&read(path)?, &path.display().to_string())?,
        None => Watchlist::Prefix(args.monitoring_prefix.clone()),
    };
    Ok(options)
}

fn params(args: &DetectArgs) -> Result<Params> {
    if let Some(path) = &args.params {
        return Params::from_json(&read(path)?)
            .with_context(|| format!("cannot use {}", path.display()));
    }
    let mut params = Params::default();
    if let Some(algorithm) = &args.algorithm {
        params.algorithm = algorithm.parse()?;
    }
    let is_excess = params.algorithm == Algorithm::Excess;
    let is_sstd = params.algorithm == Algorithm::Sstd;
    let has_one_histogram = !is_excess && !is_sstd;
    let foreign = [
        (
            "--min-excess-us",
            args.min_excess_us.is_some() && !is_excess,
        ),
        ("--sigma", args.sigma.is_some() && !is_sstd),
        (
            "--threshold",
            args.threshold.is_some() && !has_one_histogram,
        ),
        ("--max-bins", args.max_bins.is_some() && !has_one_histogram),
    ];
    for (option, is_foreign) in foreign {
        ensure!(
            !is_foreign,
            "{option} has no effect on {}: leave it out, or select the --algorithm that it belongs to",
            params.algorithm
        );
    }
    params.severe_us = args.min_excess_us.unwrap_or(params.severe_us);
    params.hbos_threshold = args.threshold.unwrap_or(params.hbos_threshold);
    params.sstd_sigma = args.sigma.unwrap_or(params.sstd_sigma);
    params.max_bins = args.max_bins.unwrap_or(params.max_bins);
    Ok(params)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
