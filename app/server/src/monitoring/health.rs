//! The health of a database, written by the thread that saves and read by requests.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::document_counts::DocumentCounts;

/// Timeout of a save, after which the database counts as not responding.
const SAVE_TIMEOUT: Duration = Duration::from_secs(30);

/// The health of the database according to the last save.
#[derive(Debug, Default)]
pub struct DatabaseHealth {
    save: Mutex<SaveProgress>,
    documents: DocumentCounts,
}

/// The current save and the outcome of the last one.
#[derive(Debug, Default)]
struct SaveProgress {
    begun_at: Option<Instant>,
    saved_at: Option<Instant>,
    problem: Option<String>,
    has_ended_early: bool,
}

/// Marks the database as failed if the thread that saves panics.
#[derive(Debug)]
pub(crate) struct PanicGuard<'health>(pub(crate) &'health DatabaseHealth);

impl DatabaseHealth {
    /// Notes that a save has begun.
    pub(crate) fn begin(&self) {
        self.progress().begun_at = Some(Instant::now());
    }

    /// Notes the outcome of a save: the reason why nothing can be saved at present, or `None`.
    pub(crate) fn end(&self, problem: Option<String>) {
        let mut progress = self.progress();
        progress.begun_at = None;
        progress.problem = problem;
    }

    /// Notes that the state has been saved.
    pub(crate) fn note_saved(&self) {
        self.progress().saved_at = Some(Instant::now());
    }

    /// Returns the counts of the documents that were saved.
    pub(crate) fn documents(&self) -> &DocumentCounts {
        &self.documents
    }

    /// Returns the time since the state was saved, if it was.
    pub(super) fn save_age(&self) -> Option<Duration> {
        let saved_at = self.progress().saved_at;
        saved_at.map(|saved_at| saved_at.elapsed())
    }

    /// Returns the reason why nothing can be saved at present, for the operator's terminal.
    pub(crate) fn problem(&self) -> Option<String> {
        self.progress().problem.clone()
    }

    /// Checks that the database accepts saves.
    ///
    /// # Errors
    /// The reason as one line without paths and addresses, since anyone may read it.
    pub fn check(&self) -> Result<(), &'static str> {
        self.check_at(Instant::now())
    }

    fn check_at(&self, now: Instant) -> Result<(), &'static str> {
        let progress = self.progress();
        let save_time = progress
            .begun_at
            .map(|begun_at| now.saturating_duration_since(begun_at));
        if progress.has_ended_early {
            Err("the thread that saves has failed")
        } else if progress.problem.is_some() {
            Err("the last save failed")
        } else if save_time.is_some_and(|save_time| save_time > SAVE_TIMEOUT) {
            Err("the database does not answer")
        } else {
            Ok(())
        }
    }

    fn progress(&self) -> MutexGuard<'_, SaveProgress> {
        self.save.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.progress().has_ended_early = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_fails_or_does_not_answer_is_not_ready() {
        let health = DatabaseHealth::default();
        health.begin();
        let now = Instant::now();
        assert_eq!(health.check_at(now), Ok(()));
        let later = now + SAVE_TIMEOUT + Duration::from_secs(1);
        assert_eq!(health.check_at(later), Err("the database does not answer"));
        health.end(Some("/a/path is full".to_owned()));
        let reason = health.check_at(later).expect_err("refused");
        assert!(!reason.contains("/a/path"), "{reason}");
        health.end(None);
        assert_eq!(health.check_at(later), Ok(()));
    }

    #[test]
    fn a_panic_while_saving_is_not_ready() {
        let health = DatabaseHealth::default();
        let saved = std::thread::scope(|scope| {
            let saving = scope.spawn(|| -> () {
                let _guard = PanicGuard(&health);
                panic!("of the test");
            });
            saving.join()
        });
        assert!(saved.is_err() && health.check().is_err());
    }
}
