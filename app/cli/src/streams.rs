//! The streams and settings of an AD instance.

mod growing;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use callgrove_ad::{AdOptions, OpenStream, Pacing, Stream, Watchlist};
use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_detect::{Algorithm, Params};
use callgrove_model::{FunctionPattern, ProgramId, RankId, WarningKind, Warnings};
use callgrove_trace::{
    LiveEngine, LiveOptions, StreamGuard, check_ranks, find_streams, open_live, open_stream,
    rank_in_name, rank_of_stream,
};

use crate::args::{DetectArgs, StreamArgs};
use crate::stop::StopSignal;
use crate::tree_models;

use growing::find_growing;

/// Name of the hidden subcommand.
const READ_THROUGH: &str = "read-through";

/// Path of the running program on Linux, valid even after the file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Returns a guard that runs this program to read a stream before this process does.
pub(crate) fn guard() -> Option<StreamGuard> {
    let own = Path::new(OWN_PROGRAM);
    let program = if own.exists() {
        own.to_owned()
    } else {
        std::env::current_exe().ok()?
    };
    Some(StreamGuard::new(program, vec![READ_THROUGH.into()]))
}

/// Runs in the process of the guard.
pub(crate) fn read_through(stream: &Path) -> Result<()> {
    callgrove_trace::read_through(stream, &LibraryOnDemand::of_this_machine())?;
    Ok(())
}

/// The streams that could be opened.
pub(crate) struct OpenedStreams {
    pub(crate) streams: Vec<Stream>,
    /// Streams that could not be opened.
    pub(crate) warnings: Warnings,
}

/// Opens the streams. Growing files are waited for, all concurrently; SST streams are opened by their readers. Streams
/// that cannot be opened are left out, unless none can be opened.
pub(crate) fn open(args: &StreamArgs, stop: &StopSignal) -> Result<OpenedStreams> {
    let adios2 = LibraryOnDemand::of_this_machine();
    let program = ProgramId(args.program);
    let timeout = Duration::from_secs(args.connect_timeout);
    let mut warnings = Warnings::default();
    let (paths, engine) = match &args.input.trace {
        Some(trace) if args.follow => {
            let found = find_growing(Path::new(trace), timeout, &adios2, stop)?;
            warnings.join(found.1);
            (found.0, Some(LiveEngine::Bp))
        }
        Some(trace) => (find_streams(Path::new(trace))?, None),
        None => (live_names(&args.input.sst)?, Some(LiveEngine::Sst)),
    };
    let guard = guard();
    let open = |path: &PathBuf| -> Result<Stream> {
        let recorded = || -> OpenStream {
            let (path, adios2) = (path.clone(), adios2.clone());
            Box::new(move || open_stream(&path, program, &adios2))
        };
        let Some(engine) = engine else {
            if let Some(Err(error)) = guard.as_ref().map(|guard| guard.check(path, &adios2)) {
                bail!(error.with_causes());
            }
            let rank =
                rank_of_stream(path, &adios2).map_err(|error| anyhow!(error.with_causes()))?;
            let opened = open_now(recorded())?;
            return stream(path, rank, opened, Some(recorded()));
        };
        let live: OpenStream = {
            let (path, library) = (path.clone(), adios2.get()?);
            let mut options = LiveOptions::new(engine);
            options.program = program;
            options.connect_timeout = timeout;
            Box::new(move || open_live(&path, &options, &library))
        };
        match engine {
            LiveEngine::Sst => stream(path, None, live, None),
            LiveEngine::Bp => {
                // The file may have no step yet.
                let rank = rank_of_stream(path, &adios2).ok().flatten();
                stream(path, rank, open_now(live)?, None)
            }
        }
    };
    // Each writer waits for its reader before any of them continues, so readers must not wait for one another.
    let opened: Vec<Result<Stream>> = std::thread::scope(|scope| {
        let openers: Vec<_> = paths
            .iter()
            .map(|path| scope.spawn(|| open(path)))
            .collect();
        let opened = openers.into_iter().map(|opener| {
            opener
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        opened.collect()
    });
    let (mut streams, mut failure) = (Vec::new(), None);
    for (path, opened) in paths.iter().zip(opened) {
        match opened {
            Ok(stream) => streams.push(stream),
            Err(error) => {
                let rank = rank_in_name(path).map(RankId);
                warnings.count(WarningKind::RankUnreadable, rank, || format!("{error:#}"));
                failure = failure.or(Some(error));
            }
        }
    }
    let ranks = streams.iter();
    check_ranks(ranks.map(|it| ((program, it.rank), Path::new(&it.path))))?;
    match failure {
        Some(error) if streams.is_empty() => Err(error),
        _ => Ok(OpenedStreams { streams, warnings }),
    }
}

/// Returns the names of streams that the job may not have opened yet.
pub(crate) fn live_names(names: &[String]) -> Result<Vec<PathBuf>> {
    if let Some(pattern) = names.iter().find(|name| name.contains(['*', '?'])) {
        bail!(
            "{pattern} is a pattern, but streams that the job has not opened yet cannot be found by a pattern; \
             name each, such as bp/tau-metrics-lmp-{{0..3}}.bp"
        );
    }
    Ok(names.iter().map(PathBuf::from).collect())
}

/// Opens a stream at once, and returns a function that returns the open stream.
fn open_now(open: OpenStream) -> Result<OpenStream> {
    let source = open().map_err(|error| anyhow!(error.with_causes()))?;
    Ok(Box::new(move || Ok(source)))
}

/// Returns the stream of a rank: the rank of its contents, or else of its name.
fn stream(
    path: &Path,
    rank: Option<RankId>,
    open: OpenStream,
    reopen: Option<OpenStream>,
) -> Result<Stream> {
    let rank = rank.or_else(|| rank_in_name(path).map(RankId));
    let rank = rank.with_context(|| {
        format!(
            "{} does not end in the number of its rank, such as tau-metrics-0.bp; name it so",
            path.display()
        )
    })?;
    Ok(Stream {
        rank,
        open,
        path: path.display().to_string(),
        reopen,
    })
}

/// Returns the settings of an AD instance.
pub(crate) fn options(streams: &StreamArgs, args: &DetectArgs) -> Result<AdOptions> {
    let is_live = streams.input.trace.is_none() || streams.follow;
    let pace = if is_live {
        Pacing::Live
    } else {
        Pacing::Lockstep
    };
    let mut options = AdOptions::new(params(args)?, pace)?;
    options.program = ProgramId(streams.program);
    options.statistic = args.statistic;
    options.window = args.window;
    options.min_severity_us = args.min_severity_us;
    if let Some(path) = &args.ignore {
        options.rules.ignore(&read(path)?);
    }
    if let Some(path) = &args.thresholds {
        let shown = path.display().to_string();
        options
            .rules
            .set_thresholds(&read(path)?, &shown, &options.params)?;
    }
    options.trees.reader = Some(Arc::new(tree_models::ModelFileReader));
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
