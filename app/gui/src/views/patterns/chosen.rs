//! The pattern that is looked at.

use callgrove_session::{JudgedPattern, ListedPattern, PatternReference};

/// The pattern that is looked at, and what is usual of it.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    pub(super) pattern: &'a ListedPattern,
    /// What it is judged by: where that takes its time, not yet what was asked for last.
    pub(super) reference: PatternReference,
    pub(super) judged: JudgedPattern,
}
