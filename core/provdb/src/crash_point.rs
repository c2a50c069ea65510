//! A process that ends at a chosen commit, so that tests can end it at each of them in turn, as those of SQLite do.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable with the number of the commit before which the process ends as if it were killed; a number
/// beyond the last commit ends nothing. While it is set, the state of a parameter server is saved without a pause.
const VARIABLE: &str = "CALLGROVE_CRASH_AT_COMMIT";

/// The number of commits until the process ends; 0 if it does not.
static NUM_LEFT: LazyLock<AtomicU64> = LazyLock::new(|| {
    let number = std::env::var(VARIABLE).ok();
    AtomicU64::new(number.and_then(|it| it.parse().ok()).unwrap_or(0))
});

/// Returns whether the process is to end at a commit.
pub fn is_armed() -> bool {
    NUM_LEFT.load(Ordering::Relaxed) > 0
}

/// Ends the process if this is the chosen commit. Stores call it before each commit.
pub fn before_commit() {
    if is_armed() && NUM_LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
        std::process::abort();
    }
}
