//! Faults of a file that leave nothing to show.

/// The reason why a file cannot be shown.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChromeError {
    /// The file has no calls.
    #[error(
        "it has no calls, only {0} other events; record calls (phases X, B and E), as torch.profiler and VizTracer do"
    )]
    NoCalls(u64),
    /// The file is cut before the first call.
    #[error("it ends before the first call ({0}); copy it again from where it was written")]
    Cut(String),
    /// The text is damaged before the first call.
    #[error(
        "it is no valid JSON at byte {0} of its text, and no calls were found after it; copy it again from where it was \
         written"
    )]
    Damaged(u64),
}
