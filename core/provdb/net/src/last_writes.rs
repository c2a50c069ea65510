//! The writers of a server that have not said goodbye.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Maximum length of the token of a writer, in bytes; longer ones are all one writer.
const MAX_TOKEN_BYTES: usize = 64;
/// Number of writers from which on those are forgotten that have written nothing for a while.
const MANY_WRITERS: usize = 1 << 12;
/// Age from which on such a writer is forgotten.
const MAX_AGE: Duration = Duration::from_mins(1);

/// The time of the last write of each writer, by its token.
#[derive(Default)]
pub(super) struct LastWrites(BTreeMap<String, Instant>);

impl LastWrites {
    /// Notes a write.
    pub(super) fn note(&mut self, writer: String) {
        if self.0.len() >= MANY_WRITERS {
            self.0.retain(|_, last| last.elapsed() < MAX_AGE);
        }
        let is_short = writer.len() <= MAX_TOKEN_BYTES;
        let writer = if is_short { writer } else { String::new() };
        self.0.insert(writer, Instant::now());
    }

    /// Forgets a writer, which writes nothing more.
    pub(super) fn forget(&mut self, writer: &str) {
        self.0.remove(writer);
    }

    /// Returns whether no writer has written in the last `silence`.
    pub(super) fn are_older_than(&self, silence: Duration) -> bool {
        self.0.values().all(|last| last.elapsed() >= silence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_writers_that_said_goodbye_are_not_waited_for() {
        let mut writes = LastWrites::default();
        let hour = Duration::from_hours(1);
        assert!(writes.are_older_than(hour));
        writes.note("a".to_owned());
        writes.note("b".to_owned());
        writes.forget("a");
        assert!(!writes.are_older_than(hour), "b may write again");
        assert!(writes.are_older_than(Duration::ZERO));
        writes.forget("b");
        assert!(writes.are_older_than(hour));
        writes.note("x".repeat(MAX_TOKEN_BYTES + 1));
        assert!(!writes.are_older_than(hour));
    }
}
