//! The registration of an instance, which may come before that of the server it needs.

use std::time::{Duration, Instant};

use callgrove_pserver::{PserverError, Refusal, Registered};

/// Interval between attempts to register.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Tries to register for a time: until then it waits for a server that has not started yet, and for a rank whose former
/// instance has died but whose lease is not over.
///
/// # Errors
/// Those of the last attempt.
pub(crate) fn register_within(
    wait: Duration,
    mut attempt: impl FnMut() -> Result<Registered, PserverError>,
) -> Result<Registered, PserverError> {
    let give_up = Instant::now() + wait;
    loop {
        let result = attempt();
        let may_wait = match &result {
            Err(PserverError::NotConnected { .. }) => true,
            Err(PserverError::Refused { about, .. }) => *about == Refusal::Rank,
            _ => false,
        };
        if !may_wait || Instant::now() + RETRY_INTERVAL > give_up {
            return result;
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}
