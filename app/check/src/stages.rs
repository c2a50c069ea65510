//! Long work in stages, whose progress is shown by the caller.

use callgrove_model::Progress;

/// Runs stages of work.
pub trait Stages {
    /// Runs a stage of this name, and shows its progress.
    fn run<T>(&self, name: &str, work: impl FnOnce(Progress<'_>) -> T) -> T;
}
