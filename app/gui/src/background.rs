//! Files that are made while the window is used.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use callgrove_model::Progress;
use callgrove_session::Work;

/// Makes the content of a file; an error is a sentence without its period.
pub type FileMaker = Box<dyn FnOnce(Progress<'_>) -> Result<Vec<u8>, String> + Send>;

/// The progress and the result of a file that is made, shared by the window and the maker.
#[derive(Clone, Default)]
pub struct ExportProgress {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The bits of the fraction that is done.
    fraction: AtomicU32,
    is_cancelled: AtomicBool,
    result: Mutex<Option<Result<(), String>>>,
}

impl ExportProgress {
    /// Makes a file and writes it with `save`, unless it is cancelled. The window gets the result.
    pub fn run(self, make: FileMaker, save: impl FnOnce(&[u8]) -> Result<(), String>) {
        let sink = |fraction: f32| {
            let bits = fraction.to_bits();
            self.shared.fraction.store(bits, Ordering::Relaxed);
            if self.shared.is_cancelled.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let made = make(Progress::new(&sink));
        self.finish(made.and_then(|content| save(&content)));
    }

    /// Gives the window the result of a file that was not made by [`Self::run`].
    pub fn finish(self, result: Result<(), String>) {
        let known = self.shared.result.lock();
        *known.unwrap_or_else(PoisonError::into_inner) = Some(result);
    }
}

/// A file that is made, as the window sees it.
pub(crate) struct ExportJob {
    /// The exported item, such as `the table of waits`.
    subject: String,
    path: String,
    progress: ExportProgress,
}

impl ExportJob {
    pub(crate) fn new(subject: String, path: String) -> Self {
        Self {
            subject,
            path,
            progress: ExportProgress::default(),
        }
    }

    /// Returns what the maker reports to.
    pub(crate) fn progress(&self) -> ExportProgress {
        self.progress.clone()
    }

    /// Returns the progress for the status bar.
    pub(crate) fn work(&self) -> Work {
        let bits = self.progress.shared.fraction.load(Ordering::Relaxed);
        Work {
            stage: format!("Exporting {}", self.subject),
            fraction: f32::from_bits(bits),
        }
    }

    /// Asks the maker to stop.
    pub(crate) fn cancel(&self) {
        let is_cancelled = &self.progress.shared.is_cancelled;
        is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns the result as a sentence, once it is known; an error if there is no file.
    pub(crate) fn result(&self) -> Option<Result<String, String>> {
        let result = self.progress.shared.result.lock();
        let mut result = result.unwrap_or_else(PoisonError::into_inner);
        let (subject, path) = (&self.subject, &self.path);
        Some(match result.take()? {
            Ok(()) => Ok(format!("Exported {subject} to {path}.")),
            Err(cause) => Err(format!("Could not export {subject}: {cause}.")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_file_is_not_written() {
        let job = ExportJob::new("the table".to_owned(), "a.csv".to_owned());
        let make = || -> FileMaker {
            Box::new(|progress| {
                progress.at(0.5).map_err(|cause| cause.to_string())?;
                Ok(b"content".to_vec())
            })
        };
        let mut written = Vec::new();
        job.progress().run(make(), |content| {
            written.extend_from_slice(content);
            Ok(())
        });
        assert_eq!(written, b"content");
        assert!((job.work().fraction - 0.5).abs() < 1e-6);
        let done = "Exported the table to a.csv.".to_owned();
        assert_eq!(job.result(), Some(Ok(done)));
        assert_eq!(job.result(), None);

        job.cancel();
        job.progress().run(make(), |_| panic!("written"));
        let refused = "Could not export the table: cancelled.".to_owned();
        assert_eq!(job.result(), Some(Err(refused)));
    }
}
