//! The files of a running job, found as they appear, whether the job writes them or a relay.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_ad::{ExpectedStreams, LateStreams, Stream, WriterGone};
use callgrove_adios2_sys::{Library, LibraryOnDemand};
use callgrove_model::RankId;
use callgrove_source::{Next, Part as _, Registry, SourceError, rank_in_name};
use callgrove_tau::{LiveOptions, RelayState, TauFormat, expected_streams, is_named_by, open_live};

use super::live_stream::{library, live_stream, no_rank};
use crate::error::PipelineError;

/// Pause between two searches for files.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Duration of a wait after which it is reported.
const REPORT_AFTER: Duration = Duration::from_secs(2);

/// The files that an input names, of a job that may not have created all of them.
pub(super) struct GrowingFiles {
    registry: Registry,
    input: PathBuf,
    library: Library,
    options: LiveOptions,
    /// The number of ranks that the run states, once it is known.
    num_ranks: Option<u32>,
    /// The streams that searches have returned.
    taken: BTreeSet<PathBuf>,
    /// The folders of the streams, each with the state of its writers.
    folders: BTreeMap<PathBuf, WriterGone>,
    since: Instant,
}

/// The outcome of a search.
#[derive(Default)]
struct Found {
    new: Vec<Stream>,
    /// The expected ranks without a stream, in ascending order; `None` while it is unknown which are expected.
    missing: Option<Vec<RankId>>,
    /// The folders of relays.
    relays: Vec<PathBuf>,
    /// True if none of the relays, of which there are some, was running before the search.
    have_relays_ended: bool,
}

impl GrowingFiles {
    /// Returns the files that `input` names. `options` are those of streams that are opened.
    ///
    /// # Errors
    /// ADIOS2 is missing or unusable.
    pub(super) fn new(
        registry: Registry,
        input: &Path,
        options: LiveOptions,
    ) -> Result<Self, PipelineError> {
        Ok(Self {
            registry,
            input: input.to_owned(),
            library: library()?,
            options,
            num_ranks: None,
            taken: BTreeSet::new(),
            folders: BTreeMap::from([(input.to_owned(), WriterGone::default())]),
            since: Instant::now(),
        })
    }

    /// Waits for the first streams, for at most the timeout of the options or until `is_stopped` returns true; of a relay
    /// at most until it ends. A longer wait is reported to `on_wait`, again at each search. Also returns what finds the
    /// others.
    ///
    /// # Errors
    /// As [`Registry::find`], if no stream appears in time; [`PipelineError::NoRank`]; [`PipelineError::Thread`].
    pub(super) fn first(
        mut self,
        is_stopped: &dyn Fn() -> bool,
        on_wait: &mut dyn FnMut(String),
    ) -> Result<(Vec<Stream>, Box<dyn LateStreams>), PipelineError> {
        let timeout = self.options.connect_timeout;
        loop {
            let relay = RelayState::read(&self.input);
            let is_over = relay.is_some_and(|relay| !relay.is_running);
            let is_last = is_over || is_stopped() || self.since.elapsed() >= timeout;
            match self.search() {
                Ok(mut found) if !found.new.is_empty() => {
                    let streams = std::mem::take(&mut found.new);
                    return Ok((streams, Box::new(LaterFiles::start(self, found)?)));
                }
                Err(error) if is_last || !may_appear(&error) => return Err(error),
                Ok(_) | Err(_) => {}
            }
            if self.since.elapsed() > REPORT_AFTER {
                on_wait(format!(
                    "{} has no complete step yet; waiting for it up to {} s",
                    self.input.display(),
                    timeout.as_secs()
                ));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Searches for the streams that no search has returned.
    fn search(&mut self) -> Result<Found, PipelineError> {
        let (relays, streams) = loop {
            // The states first: after the end of a relay, the search finds all of its files.
            let relays = self.relays();
            let streams = self.registry.find(&self.input)?;
            let num_folders = self.folders.len();
            for folder in streams.iter().filter_map(|stream| stream.parent()) {
                self.folders.entry(folder.to_owned()).or_default();
            }
            if self.folders.len() == num_folders {
                break (relays, streams);
            }
        };
        let have_relays_ended = self.note_ends(&relays);
        let to_come = self.expected(&relays, &streams);
        let present: BTreeSet<RankId> = ranks(&streams).collect();
        let new: Result<Vec<Option<Stream>>, PipelineError> =
            streams.iter().map(|stream| self.take(stream)).collect();
        Ok(Found {
            new: new?.into_iter().flatten().collect(),
            missing: to_come.map(|to_come| {
                let missing: BTreeSet<RankId> = ranks(&to_come).collect();
                missing.difference(&present).copied().collect()
            }),
            have_relays_ended,
            relays: relays.into_iter().map(|(folder, _)| folder).collect(),
        })
    }

    /// Returns the states of the relays that write into the folders.
    fn relays(&self) -> Vec<(PathBuf, RelayState)> {
        let folders = self.folders.keys();
        let relays = folders.filter_map(|it| Some((it.clone(), RelayState::read(it)?)));
        relays.collect()
    }

    /// Lets the streams of relays that were killed end. Returns whether there are relays, and none of them runs.
    fn note_ends(&self, relays: &[(PathBuf, RelayState)]) -> bool {
        for (folder, relay) in relays {
            if !relay.is_running && !relay.has_ended {
                self.folders[folder].set();
            }
        }
        !relays.is_empty() && relays.iter().all(|it| !it.1.is_running)
    }

    /// Returns the streams that are expected, those that are there included; `None` while it is unknown which.
    fn expected(
        &mut self,
        relays: &[(PathBuf, RelayState)],
        streams: &[PathBuf],
    ) -> Option<Vec<PathBuf>> {
        let Some(first) = streams.first().filter(|first| **first != self.input) else {
            return Some(streams.to_vec());
        };
        if !relays.is_empty() {
            let relayed = relays.iter().flat_map(|(_, relay)| &relay.streams);
            let relayed = relayed.filter(|stream| is_named_by(&self.input, stream));
            return Some(relayed.cloned().collect());
        }
        if self.num_ranks.is_none() {
            self.num_ranks = self.stated_num_ranks(first);
        }
        let num_ranks = self.num_ranks?;
        Some(expected_streams(&self.input, streams, num_ranks))
    }

    /// Returns a stream, unless it was returned before. Its rank is that of its contents, or else of its name.
    fn take(&mut self, path: &Path) -> Result<Option<Stream>, PipelineError> {
        if self.taken.contains(path) {
            return Ok(None);
        }
        let written = TauFormat::new(LibraryOnDemand::of_this_machine(), None).part(path);
        let written = written.stated_ranks().unwrap_or_default();
        let rank = written.first().map(|&(_, rank)| rank);
        let rank = rank.or_else(|| rank_in_name(path).map(RankId));
        let rank = rank.ok_or_else(|| no_rank(path))?;
        self.taken.insert(path.to_owned());
        let folder = path.parent().and_then(|folder| self.folders.get(folder));
        let gone = folder.cloned().unwrap_or_default();
        let (options, library) = (self.options.clone(), self.library.clone());
        let stream = live_stream(path.to_owned(), rank, options, library, gone);
        Ok(Some(stream))
    }

    /// Returns the number of ranks that the first step of a stream states; `None` while it has no step.
    fn stated_num_ranks(&self, stream: &Path) -> Option<u32> {
        let options = LiveOptions {
            connect_timeout: POLL_INTERVAL,
            ..self.options.clone()
        };
        let opened = match open_live(stream, &options, &self.library) {
            Err(SourceError::NoWriter { .. }) => return None,
            opened => opened,
        };
        // An unreadable stream is reported when it is opened to be followed.
        let Ok(mut source) = opened else {
            return Some(0);
        };
        match source.next_step(POLL_INTERVAL) {
            Ok(Next::NotReady | Next::Reading) => None,
            Ok(Next::Step(_) | Next::End) | Err(_) => Some(source.num_ranks().unwrap_or_default()),
        }
    }
}

/// The files that a thread finds after the first ones.
struct LaterFiles {
    /// The outcome of the newest search. The thread ends once it has the only reference.
    found: Arc<Mutex<Found>>,
    since: Instant,
    timeout: Duration,
}

impl LaterFiles {
    /// Starts the thread; `found` is the outcome of the search before.
    fn start(mut files: GrowingFiles, found: Found) -> Result<Self, PipelineError> {
        let later = Self {
            found: Arc::new(Mutex::new(found)),
            since: files.since,
            timeout: files.options.connect_timeout,
        };
        let shared = Arc::clone(&later.found);
        let search = move || {
            while Arc::strong_count(&shared) > 1 {
                thread::sleep(POLL_INTERVAL);
                let missing = lock(&shared).missing.as_ref().map(Vec::len);
                if missing == Some(0) {
                    // All streams are there. A search reads the beginning of each.
                    let relays = files.relays();
                    let have_ended = files.note_ends(&relays);
                    lock(&shared).have_relays_ended = have_ended;
                    if relays.is_empty() || have_ended {
                        return;
                    }
                    continue;
                }
                // The folder of a job that ends may be removed; what was found stays.
                if let Ok(mut found) = files.search() {
                    let mut held = lock(&shared);
                    let mut new = std::mem::take(&mut held.new);
                    new.append(&mut found.new);
                    *held = Found { new, ..found };
                }
            }
        };
        let thread = thread::Builder::new().name("files".to_owned());
        thread.spawn(search).map_err(PipelineError::Thread)?;
        Ok(later)
    }
}

impl LateStreams for LaterFiles {
    fn take_new(&mut self) -> Vec<Stream> {
        std::mem::take(&mut lock(&self.found).new)
    }

    fn expected(&self) -> ExpectedStreams {
        let found = lock(&self.found);
        // Read now: a relay states what it dropped before it closes a file.
        let relays = found.relays.iter().filter_map(|it| RelayState::read(it));
        ExpectedStreams {
            num_dropped: relays.map(|relay| relay.num_dropped).sum(),
            missing: found.missing.as_ref().map(|missing| {
                let untaken = found.new.iter().map(|stream| stream.rank);
                let all: BTreeSet<RankId> = untaken.chain(missing.iter().copied()).collect();
                all.into_iter().collect()
            }),
            is_given_up: if found.relays.is_empty() {
                self.since.elapsed() >= self.timeout
            } else {
                found.have_relays_ended
            },
        }
    }
}

fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ranks(streams: &[PathBuf]) -> impl Iterator<Item = RankId> {
    let ranks = streams.iter().filter_map(|stream| rank_in_name(stream));
    ranks.map(RankId)
}

/// Returns whether the missing files may still appear.
fn may_appear(error: &PipelineError) -> bool {
    matches!(
        error,
        PipelineError::Source(
            SourceError::NotFound { .. }
                | SourceError::NoMatch { .. }
                | SourceError::NoTrace { .. }
        )
    )
}
