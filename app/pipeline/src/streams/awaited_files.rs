//! Finds the files of a job that has not started yet, or of which some ranks have not created theirs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_model::{WarningKind, Warnings};
use callgrove_source::{Next, Registry, SourceError, rank_in_name};
use callgrove_tau::{LiveEngine, LiveOptions, TauError, expected_streams, open_live};

use crate::error::PipelineError;

/// Pause between two searches for files.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Duration of a wait after which it is reported.
const REPORT_AFTER: Duration = Duration::from_secs(2);

/// Finds the streams that `input` names. Streams of ranks that have not created theirs yet are waited for, for as many
/// ranks as the run states, for at most `timeout` or until `is_stopped` returns true. A longer wait is reported to
/// `on_wait`, again at each search. Streams that are still missing are in the warnings.
///
/// # Errors
/// As [`Registry::find`], if no stream appears in time.
pub(super) fn find_growing(
    registry: &Registry,
    input: &Path,
    timeout: Duration,
    is_stopped: &dyn Fn() -> bool,
    on_wait: &mut dyn FnMut(String),
) -> Result<(Vec<PathBuf>, Warnings), PipelineError> {
    let start = Instant::now();
    let adios2 = LibraryOnDemand::of_this_machine();
    let mut num_ranks = None;
    loop {
        let is_last = is_stopped() || start.elapsed() >= timeout;
        let found = match registry.find(input) {
            Ok(found) => found,
            Err(error) if is_last || !may_appear(&error) => return Err(error.into()),
            Err(_) => Vec::new(),
        };
        if num_ranks.is_none() && found.first().is_some_and(|first| first != input) {
            num_ranks = stated_num_ranks(&found[0], &adios2)?;
        }
        let is_known = num_ranks.is_some() || found.first().is_some_and(|first| first == input);
        let to_come = expected_streams(input, &found, num_ranks.unwrap_or_default());
        let present: BTreeSet<u32> = ranks(&found).collect();
        let missing: Vec<u32> = ranks(&to_come)
            .filter(|rank| !present.contains(rank))
            .collect();
        if is_last || (is_known && missing.is_empty()) {
            let mut warnings = Warnings::default();
            if let Some(first) = missing.first() {
                let location = || format!("rank {first} of {}", num_ranks.unwrap_or_default());
                warnings.count_many(
                    WarningKind::MissingRank,
                    None,
                    missing.len() as u64,
                    location,
                );
            }
            return Ok((found, warnings));
        }
        if start.elapsed() > REPORT_AFTER {
            let what = match missing.first() {
                Some(first) => format!(
                    "{} ranks have no stream yet, the first is {first}",
                    missing.len()
                ),
                None => format!("{} has no complete step yet", input.display()),
            };
            on_wait(format!(
                "{what}; waiting for it up to {} s",
                timeout.as_secs()
            ));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn ranks(streams: &[PathBuf]) -> impl Iterator<Item = u32> {
    streams.iter().filter_map(|stream| rank_in_name(stream))
}

/// Returns whether the missing files may still appear.
fn may_appear(error: &SourceError) -> bool {
    matches!(
        error,
        SourceError::NotFound { .. } | SourceError::NoMatch { .. } | SourceError::NoTrace { .. }
    )
}

/// Returns the number of ranks that the first step of a stream states; `None` while it has no step.
fn stated_num_ranks(stream: &Path, adios2: &LibraryOnDemand) -> Result<Option<u32>, PipelineError> {
    let mut options = LiveOptions::new(LiveEngine::Bp);
    options.connect_timeout = POLL_INTERVAL;
    let library = adios2.get().map_err(TauError::from);
    let library = library.map_err(SourceError::from)?;
    let opened = match open_live(stream, &options, &library) {
        Err(SourceError::NoWriter { .. }) => return Ok(None),
        opened => opened,
    };
    // An unreadable stream is reported when it is opened to be followed.
    let Ok(mut source) = opened else {
        return Ok(Some(0));
    };
    Ok(match source.next_step(POLL_INTERVAL) {
        Ok(Next::NotReady | Next::Reading) => None,
        Ok(Next::Step(_) | Next::End) | Err(_) => Some(source.num_ranks().unwrap_or_default()),
    })
}
