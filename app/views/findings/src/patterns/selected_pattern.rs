//! The selected pattern.

use callgrove_session::{JudgedPattern, ListedPattern, PatternReference};

/// The selected pattern, with its usual duration.
#[derive(Clone, Copy)]
pub(super) struct SelectedPattern<'a> {
    pub(super) pattern: &'a ListedPattern,
    /// The reference that it was judged by; until an answer arrives, not the one requested last.
    pub(super) reference: PatternReference,
    pub(super) judged: JudgedPattern,
}
