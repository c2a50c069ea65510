//! The pattern that is looked at.

use callgrove_session::{Pattern, PatternCurve, RunPatterns, Snapshot};

/// The pattern that is looked at, with its curve.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    pub(super) pattern: &'a Pattern,
    pub(super) curve: &'a PatternCurve,
}

/// The pattern that is looked at, if it recurs.
pub(super) fn chosen<'a>(patterns: &'a RunPatterns, snapshot: &Snapshot) -> Option<Chosen<'a>> {
    let id = snapshot.pattern?;
    Some(Chosen {
        pattern: patterns.get(id)?,
        curve: patterns.curve(id)?,
    })
}
