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
use callgrove_formats::{GuardProgram, local_registry};
use callgrove_model::{FunctionPattern, ProgramId, RankId, WarningKind, Warnings};
use callgrove_source::{Part, Projection, Ranks, Registry, SourceError, check_ranks, rank_in_name};
use callgrove_tau::{LiveEngine, LiveOptions, TauFormat, open_live};

use crate::args::{DetectArgs, StreamArgs};
use crate::stop::StopSignal;
use crate::tree_models;

use growing::find_growing;

/// Name of the hidden subcommand.
const READ_THROUGH: &str = "read-through";

/// Path of the running program on Linux, valid even after the file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Returns a guard that runs this program to read a stream before this process does.
pub(crate) fn guard() -> Option<GuardProgram> {
    let own = Path::new(OWN_PROGRAM);
    let program = if own.exists() {
        own.to_owned()
    } else {
        std::env::current_exe().ok()?
    };
    Some(GuardProgram {
        program,
        arguments: vec![READ_THROUGH.into()],
    })
}

/// Returns the known formats of traces, with this program as the guard of those that need one.
pub(crate) fn registry() -> Registry {
    local_registry(guard())
}

/// Runs in the process of the guard.
pub(crate) fn read_through(stream: &Path) -> Result<()> {
    Ok(callgrove_formats::read_through(stream)?)
}

/// The streams that could be opened.
pub(crate) struct OpenedStreams {
    pub(crate) streams: Vec<Stream>,
    /// Streams that could not be opened.
    pub(crate) warnings: Warnings,
}

/// The streams of one part of a recorded run, or of one live stream, before they are opened.
enum Unopened {
    Recorded(Arc<dyn Part>),
    Live(PathBuf, LiveEngine),
}

impl Unopened {
    fn named_rank(&self) -> Option<RankId> {
        match self {
            Self::Recorded(part) => part.named_rank(),
            Self::Live(path, _) => rank_in_name(path).map(RankId),
        }
    }

    fn open(&self, options: &LiveOptions) -> Result<Vec<Stream>> {
        match self {
            Self::Recorded(part) => open_recorded(part, options.program),
            Self::Live(path, engine) => Ok(vec![open_growing(path, *engine, options)?]),
        }
    }
}

/// Opens the streams. Growing files are waited for, all concurrently; SST streams are opened by their readers. Streams
/// that cannot be opened are left out, unless none can be opened.
pub(crate) fn open(args: &StreamArgs, stop: &StopSignal) -> Result<OpenedStreams> {
    let mut options = LiveOptions::new(LiveEngine::Bp);
    options.program = ProgramId(args.program);
    options.connect_timeout = Duration::from_secs(args.connect_timeout);
    let mut warnings = Warnings::default();
    let unopened: Vec<Unopened> = match &args.input.trace {
        Some(trace) if args.follow => {
            let timeout = options.connect_timeout;
            let found = find_growing(&registry(), Path::new(trace), timeout, stop)?;
            warnings.join(found.1);
            let live = |path| Unopened::Live(path, LiveEngine::Bp);
            found.0.into_iter().map(live).collect()
        }
        Some(trace) => {
            let parts = registry().open(Path::new(trace))?.into_parts()?;
            let recorded = |part: Box<dyn Part>| Unopened::Recorded(Arc::from(part));
            parts.into_iter().map(recorded).collect()
        }
        None => {
            let live = |path| Unopened::Live(path, LiveEngine::Sst);
            live_names(&args.input.sst)?.into_iter().map(live).collect()
        }
    };
    // Each writer waits for its reader before any of them continues, so readers must not wait for one another.
    let opened: Vec<Result<Vec<Stream>>> = std::thread::scope(|scope| {
        let options = &options;
        let openers: Vec<_> = unopened
            .iter()
            .map(|it| scope.spawn(move || it.open(options)))
            .collect();
        let opened = openers.into_iter().map(|opener| {
            opener
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        opened.collect()
    });
    let (mut streams, mut failure) = (Vec::new(), None);
    for (unopened, opened) in unopened.iter().zip(opened) {
        match opened {
            Ok(opened) => streams.extend(opened),
            Err(error) => {
                let rank = unopened.named_rank();
                warnings.count(WarningKind::RankUnreadable, rank, || format!("{error:#}"));
                failure = failure.or(Some(error));
            }
        }
    }
    let ranks = streams.iter();
    check_ranks(ranks.map(|it| ((options.program, it.rank), Path::new(&it.path))))?;
    match failure {
        Some(error) if streams.is_empty() => Err(error),
        _ => Ok(OpenedStreams { streams, warnings }),
    }
}

/// Opens the streams of a part of a recorded run, one for each rank in it.
fn open_recorded(part: &Arc<dyn Part>, program: ProgramId) -> Result<Vec<Stream>> {
    let ranks = part.ranks().map_err(|error| with_causes(&error))?;
    ensure!(!ranks.is_empty(), no_rank(part.path()));
    let streams = ranks.iter().map(|&(own_program, rank)| {
        let projection = Projection {
            program,
            ranks: match ranks[..] {
                [_] => Ranks::Own,
                _ => Ranks::One(own_program, rank),
            },
            ..Projection::default()
        };
        let open = || -> OpenStream {
            let part = Arc::clone(part);
            Box::new(move || part.open(&projection))
        };
        Ok(Stream {
            rank,
            open: open_now(open())?,
            path: part.path().display().to_string(),
            reopen: Some(open()),
        })
    });
    streams.collect()
}

/// Opens a stream that is still being written. The rank is that of its contents, if it has any yet, or else of its
/// name.
fn open_growing(path: &Path, engine: LiveEngine, options: &LiveOptions) -> Result<Stream> {
    let adios2 = LibraryOnDemand::of_this_machine();
    let options = LiveOptions {
        engine,
        ..options.clone()
    };
    let library = adios2.get()?;
    let mut open: OpenStream = {
        let path = path.to_owned();
        Box::new(move || open_live(&path, &options, &library))
    };
    let mut rank = rank_in_name(path).map(RankId);
    if engine == LiveEngine::Bp {
        let written = TauFormat::new(adios2, None).part(path).ranks();
        let first = written.unwrap_or_default().first().map(|&(_, rank)| rank);
        (rank, open) = (first.or(rank), open_now(open)?);
    }
    Ok(Stream {
        rank: rank.ok_or_else(|| anyhow!(no_rank(path)))?,
        open,
        path: path.display().to_string(),
        reopen: None,
    })
}

fn no_rank(path: &Path) -> String {
    format!(
        "{} does not end in the number of its rank, such as tau-metrics-0.bp; name it so",
        path.display()
    )
}

fn with_causes(error: &SourceError) -> anyhow::Error {
    anyhow!(error.with_causes())
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
    let source = open().map_err(|error| with_causes(&error))?;
    Ok(Box::new(move || Ok(source)))
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
