//! The provenance database of a pipeline. The processes of a job start in any order, so a writer waits for it.

use std::thread;
use std::time::{Duration, Instant};

use callgrove_provdb::{AccessMode, ProvDbError, Store};
use callgrove_provdb_stores::OpenOptions;
use callgrove_server::api::Documents;

use crate::error::PipelineError;

/// Maximum number of concurrent queries of the provenance database.
const MAX_QUERIES: usize = 4;
/// Timeout for a database that has not started yet.
const STARTUP_WAIT: Duration = Duration::from_secs(30);
/// Pause between two attempts.
const STARTUP_PAUSE: Duration = Duration::from_millis(200);

/// Opens the database. A writer waits for one that has not started yet, and calls `report` once with the reason.
///
/// # Errors
/// As [`callgrove_provdb_stores::open`].
pub fn open_store(
    url: &str,
    options: &OpenOptions,
    report: &dyn Fn(&str),
) -> Result<Box<dyn Store>, ProvDbError> {
    let start = Instant::now();
    let mut is_reported = false;
    loop {
        match callgrove_provdb_stores::open(url, options) {
            Err(error @ ProvDbError::Unreachable { .. })
                if options.mode == AccessMode::ReadWrite && start.elapsed() < STARTUP_WAIT =>
            {
                if !is_reported {
                    report(&format!("{error}; waiting for it"));
                    is_reported = true;
                }
                thread::sleep(STARTUP_PAUSE);
            }
            opened => return opened,
        }
    }
}

/// Opens the database, if there is one, and calls `begin` with it. While the database cannot be reached, or if it goes
/// away meanwhile, it is opened again, and `report` is called with each new reason. Returns `None` if `is_stopped` returns
/// true before.
///
/// # Errors
/// As [`open_store`], and the errors of `begin`.
pub fn begin_with_store<T>(
    url: Option<&str>,
    options: &OpenOptions,
    report: &dyn Fn(&str),
    is_stopped: &dyn Fn() -> bool,
    begin: impl Fn(&mut Option<Box<dyn Store>>) -> Result<T, PipelineError>,
) -> Result<Option<StoreAndResult<T>>, PipelineError> {
    let start = Instant::now();
    let mut reported = String::new();
    while !is_stopped() {
        let opened = url.map(|url| callgrove_provdb_stores::open(url, options));
        let begun = opened.transpose().map_err(PipelineError::from);
        let begun = begun.and_then(|mut store| {
            let result = begin(&mut store)?;
            Ok((store, result))
        });
        match begun {
            Ok(begun) => return Ok(Some(begun)),
            Err(error) if may_end(&error, start.elapsed()) => {
                let reason = format!("{}; waiting for it", error.with_causes());
                if reason != reported {
                    report(&reason);
                    reported = reason;
                }
                thread::sleep(STARTUP_PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The database, if there is one, and what was made with it.
type StoreAndResult<T> = (Option<Box<dyn Store>>, T);

/// Returns whether reopening a database may resolve an error that has lasted for a time. A database that cannot be reached
/// may start at any time.
fn may_end(error: &PipelineError, lasted: Duration) -> bool {
    match error {
        PipelineError::ProvDb(ProvDbError::Unreachable { .. }) => true,
        PipelineError::ProvDb(ProvDbError::Database { .. }) => lasted < STARTUP_WAIT,
        _ => false,
    }
}

/// Returns the database for the JSON interface.
pub fn documents(url: &str, options: &OpenOptions) -> Documents {
    let (url, options) = (url.to_owned(), for_reading(options));
    Documents::new(MAX_QUERIES, move || {
        callgrove_provdb_stores::open(&url, &options)
    })
}

/// Returns the options to read a database that options for a writer name.
pub(crate) fn for_reading(options: &OpenOptions) -> OpenOptions {
    OpenOptions {
        mode: AccessMode::ReadOnly,
        num_shards: None,
        ..options.clone()
    }
}
