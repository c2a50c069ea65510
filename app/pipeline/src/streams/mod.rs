//! The streams of an AD instance: of a recorded run, of files that grow, or of a running job.

mod awaited_files;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callgrove_ad::{AdOptions, OpenStream, Pacing, Stream};
use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_detect::Params;
use callgrove_model::{ProgramId, RankId, WarningKind, Warnings};
use callgrove_source::{Part, Projection, Ranks, Registry, SourceError, check_ranks, rank_in_name};
use callgrove_tau::{LiveEngine, LiveOptions, TauError, TauFormat, open_live};

use awaited_files::find_growing;

use crate::error::PipelineError;
use crate::tree_judge::ModelFileReader;

/// The streams that an AD instance reads, before they are found.
#[derive(Clone, Debug)]
pub enum StreamInput {
    /// A recorded run: a folder, a pattern or a file.
    Recorded(PathBuf),
    /// A folder, a pattern or a file of BP files that are still being written.
    Growing(PathBuf),
    /// Live SST streams of a running job, each with the name given to the tracer.
    Live(Vec<String>),
}

/// The streams of an AD instance, and how they are opened.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// The streams.
    pub input: StreamInput,
    /// The program of the workflow.
    pub program: ProgramId,
    /// Timeout for streams that have not appeared yet.
    pub connect_timeout: Duration,
}

impl StreamOptions {
    /// Returns the settings of an AD instance that reads the streams, with defaults for the rest. A recorded run is read
    /// in lockstep. Trees are judged by model files.
    ///
    /// # Errors
    /// [`PipelineError::Ad`] if `params` are out of range.
    pub fn instance_options(&self, params: Params) -> Result<AdOptions, PipelineError> {
        let pacing = match self.input {
            StreamInput::Recorded(_) => Pacing::Lockstep,
            StreamInput::Growing(_) | StreamInput::Live(_) => Pacing::Live,
        };
        let mut options = AdOptions::new(params, pacing)?;
        options.program = self.program;
        options.trees.reader = Some(Arc::new(ModelFileReader));
        Ok(options)
    }
}

/// The streams that could be opened.
pub struct OpenedStreams {
    /// The streams, one for each rank.
    pub streams: Vec<Stream>,
    /// Streams that could not be opened.
    pub warnings: Warnings,
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

    fn open(&self, options: &LiveOptions) -> Result<OpenedStreams, PipelineError> {
        match self {
            Self::Recorded(part) => open_recorded(part, options.program),
            Self::Live(path, engine) => Ok(OpenedStreams {
                streams: vec![open_growing(path, *engine, options)?],
                warnings: Warnings::default(),
            }),
        }
    }
}

/// Opens the streams. Growing files are waited for, all concurrently; SST streams are opened by their readers. Streams
/// that cannot be opened are left out, unless none can be opened. A wait for files ends once `is_stopped` returns true.
/// A wait of more than two seconds is reported to `on_wait`, again at each search.
///
/// # Errors
/// No stream can be found or opened, or two have the same rank.
pub fn open_streams(
    options: &StreamOptions,
    registry: &Registry,
    is_stopped: &dyn Fn() -> bool,
    on_wait: &mut dyn FnMut(String),
) -> Result<OpenedStreams, PipelineError> {
    let mut live = LiveOptions::new(LiveEngine::Bp);
    live.program = options.program;
    live.connect_timeout = options.connect_timeout;
    let mut warnings = Warnings::default();
    let unopened: Vec<Unopened> = match &options.input {
        StreamInput::Growing(input) => {
            let timeout = options.connect_timeout;
            let found = find_growing(registry, input, timeout, is_stopped, on_wait)?;
            warnings.join(found.1);
            let unopened = |path| Unopened::Live(path, LiveEngine::Bp);
            found.0.into_iter().map(unopened).collect()
        }
        StreamInput::Recorded(input) => {
            let parts = registry.open(input)?.into_parts()?;
            let unopened = |part: Box<dyn Part>| Unopened::Recorded(Arc::from(part));
            parts.into_iter().map(unopened).collect()
        }
        StreamInput::Live(names) => {
            let unopened = |path| Unopened::Live(path, LiveEngine::Sst);
            live_streams(names)?.into_iter().map(unopened).collect()
        }
    };
    // Each writer waits for its reader before any of them continues, so readers must not wait for one another.
    let opened: Vec<Result<OpenedStreams, PipelineError>> = std::thread::scope(|scope| {
        let live = &live;
        let openers: Vec<_> = unopened
            .iter()
            .map(|it| scope.spawn(move || it.open(live)))
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
            Ok(opened) => {
                streams.extend(opened.streams);
                warnings.join(opened.warnings);
            }
            Err(error) => {
                let rank = unopened.named_rank();
                warnings.count(WarningKind::RankUnreadable, rank, || error.with_causes());
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

/// Opens the streams of a part of a recorded run, one for each rank in it. An instance reads one program: of a part of
/// several, `program` if that is one of them, else the first.
fn open_recorded(part: &Arc<dyn Part>, program: ProgramId) -> Result<OpenedStreams, PipelineError> {
    let all = part.ranks()?;
    let has_program = all.iter().any(|it| it.0 == program);
    let first = all.first().map(|it| it.0);
    let read = if has_program { Some(program) } else { first };
    let (ranks, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| Some(it.0) == read);
    if ranks.is_empty() {
        return Err(no_rank(part.path()));
    }
    let mut warnings = Warnings::default();
    for (program, rank) in others {
        let place = || {
            let path = part.path().display();
            format!("rank {rank} of program {program}; read that with --program {program}: {path}")
        };
        let first = ranks.first().map(|it| it.1);
        warnings.count(WarningKind::OtherRank, first, place);
    }
    let has_programs = !warnings.is_empty();
    let streams = ranks.iter().map(|&(own_program, rank)| {
        let projection = Projection {
            // Rows of several programs state theirs.
            program: if has_programs { ProgramId(0) } else { program },
            ranks: match ranks[..] {
                [_] if !has_programs => Ranks::Own,
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
    Ok(OpenedStreams {
        streams: streams.collect::<Result<_, PipelineError>>()?,
        warnings,
    })
}

/// Opens a stream that is still being written. The rank is that of its contents, if it has any yet, or else of its
/// name.
fn open_growing(
    path: &Path,
    engine: LiveEngine,
    options: &LiveOptions,
) -> Result<Stream, PipelineError> {
    let adios2 = LibraryOnDemand::of_this_machine();
    let options = LiveOptions {
        engine,
        ..options.clone()
    };
    let library = adios2.get().map_err(TauError::from);
    let library = library.map_err(SourceError::from)?;
    let mut open: OpenStream = {
        let path = path.to_owned();
        Box::new(move || open_live(&path, &options, &library))
    };
    let mut rank = rank_in_name(path).map(RankId);
    if engine == LiveEngine::Bp {
        let written = TauFormat::new(adios2, None).part(path).stated_ranks();
        let first = written.unwrap_or_default().first().map(|&(_, rank)| rank);
        (rank, open) = (first.or(rank), open_now(open)?);
    }
    Ok(Stream {
        rank: rank.ok_or_else(|| no_rank(path))?,
        open,
        path: path.display().to_string(),
        reopen: None,
    })
}

fn no_rank(path: &Path) -> PipelineError {
    PipelineError::NoRank {
        path: path.to_owned(),
    }
}

/// Returns the paths of streams that the job may not have opened yet.
///
/// # Errors
/// [`PipelineError::PatternOfLive`].
pub fn live_streams(names: &[String]) -> Result<Vec<PathBuf>, PipelineError> {
    if let Some(pattern) = names.iter().find(|name| name.contains(['*', '?'])) {
        return Err(PipelineError::PatternOfLive {
            pattern: pattern.clone(),
        });
    }
    Ok(names.iter().map(PathBuf::from).collect())
}

/// Opens a stream at once, and returns a function that returns the open stream.
fn open_now(open: OpenStream) -> Result<OpenStream, PipelineError> {
    let source = open()?;
    Ok(Box::new(move || Ok(source)))
}
