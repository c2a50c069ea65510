//! The streams of an AD instance: of a recorded run, of files that grow, or of a running job.

mod growing_files;
mod live_stream;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callgrove_ad::{AdOptions, LateStreams, OpenStream, Pacing, Stream, WriterGone};
use callgrove_detect::Params;
use callgrove_model::{ProgramId, RankId, WarningKind, Warnings};
use callgrove_source::{Part, Projection, Ranks, Registry, check_ranks, rank_in_name};
use callgrove_tau::{LiveEngine, LiveOptions};

use growing_files::GrowingFiles;
use live_stream::{library, live_stream, no_rank};

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
#[derive(Default)]
pub struct OpenedStreams {
    /// The streams, one for each rank.
    pub streams: Vec<Stream>,
    /// Finds the files that appear later, if the job is still writing.
    pub late: Option<Box<dyn LateStreams>>,
    /// Streams that could not be opened.
    pub warnings: Warnings,
}

/// Opens the streams. Those of a recorded run that cannot be opened are left out, unless none can be opened; live ones
/// are opened by their readers. Of growing files one is waited for, until `is_stopped` returns true or the timeout is
/// over. A wait of more than two seconds is reported to `on_wait`, again at each search.
///
/// # Errors
/// No stream can be found or opened, or two have the same rank.
pub fn open_streams(
    options: &StreamOptions,
    registry: Registry,
    is_stopped: &dyn Fn() -> bool,
    on_wait: &mut dyn FnMut(String),
) -> Result<OpenedStreams, PipelineError> {
    let of_engine = |engine| LiveOptions {
        program: options.program,
        connect_timeout: options.connect_timeout,
        ..LiveOptions::new(engine)
    };
    let opened = match &options.input {
        StreamInput::Growing(input) => {
            let files = GrowingFiles::new(registry, input, of_engine(LiveEngine::Bp))?;
            let (streams, late) = files.first(is_stopped, on_wait)?;
            OpenedStreams {
                streams,
                late: Some(late),
                ..OpenedStreams::default()
            }
        }
        StreamInput::Recorded(input) => {
            open_parts(registry.open(input)?.into_parts()?, options.program)?
        }
        StreamInput::Live(names) => {
            let library = library()?;
            let live = of_engine(LiveEngine::Sst);
            let paths = live_streams(names)?.into_iter();
            let streams = paths.map(|path| {
                let rank = rank_in_name(&path).map(RankId);
                let rank = rank.ok_or_else(|| no_rank(&path))?;
                let gone = WriterGone::default();
                Ok(live_stream(path, rank, live.clone(), library.clone(), gone))
            });
            OpenedStreams {
                streams: streams.collect::<Result<_, PipelineError>>()?,
                ..OpenedStreams::default()
            }
        }
    };
    let ranks = opened.streams.iter();
    check_ranks(ranks.map(|it| ((options.program, it.rank), Path::new(&it.path))))?;
    Ok(opened)
}

/// Opens the parts of a recorded run, all concurrently.
fn open_parts(
    parts: Vec<Box<dyn Part>>,
    program: ProgramId,
) -> Result<OpenedStreams, PipelineError> {
    let parts: Vec<Arc<dyn Part>> = parts.into_iter().map(Arc::from).collect();
    let opened: Vec<Result<OpenedStreams, PipelineError>> = std::thread::scope(|scope| {
        let openers: Vec<_> = parts
            .iter()
            .map(|part| scope.spawn(move || open_recorded(part, program)))
            .collect();
        let opened = openers.into_iter().map(|opener| {
            opener
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        opened.collect()
    });
    let (mut all, mut failure) = (OpenedStreams::default(), None);
    for (part, opened) in parts.iter().zip(opened) {
        match opened {
            Ok(opened) => {
                all.streams.extend(opened.streams);
                all.warnings.join(opened.warnings);
            }
            Err(error) => {
                let rank = part.named_rank();
                let place = || error.with_causes();
                all.warnings.count(WarningKind::RankUnreadable, rank, place);
                failure = failure.or(Some(error));
            }
        }
    }
    match failure {
        Some(error) if all.streams.is_empty() => Err(error),
        _ => Ok(all),
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
            writer_gone: WriterGone::default(),
        })
    });
    Ok(OpenedStreams {
        streams: streams.collect::<Result<_, PipelineError>>()?,
        late: None,
        warnings,
    })
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
