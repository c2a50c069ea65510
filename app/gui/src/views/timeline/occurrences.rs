//! The anomalous occurrences of the pattern that is looked at, underlined while q and s are dragged.

use std::sync::Arc;

use callgrove_model::DurationNs;
use callgrove_session::{LongOccurrences, PatternId, RunPatterns, Snapshot};

use crate::canvas::time::PickedCalls;

/// The pattern that is looked at, and from which duration on its occurrences are anomalous.
#[derive(Default)]
pub(super) struct PatternMarks {
    known: Option<(Arc<RunPatterns>, PatternId, LongOccurrences)>,
    limit: DurationNs,
}

impl PatternMarks {
    /// Takes over pattern and reference: O(n) for another pattern, O(log n) for another reference.
    pub(super) fn follow(&mut self, snapshot: &Snapshot) {
        let chosen = snapshot.patterns.as_ref().zip(snapshot.pattern);
        let Some((patterns, id)) = chosen else {
            self.known = None;
            return;
        };
        let is_known = |(of, known, _): &(Arc<RunPatterns>, PatternId, LongOccurrences)| {
            Arc::ptr_eq(of, patterns) && *known == id
        };
        if !self.known.as_ref().is_some_and(is_known) {
            let long = patterns.get(id).map(LongOccurrences::new);
            self.known = long.map(|long| (Arc::clone(patterns), id, long));
        }
        let curve = patterns.curve(id);
        self.limit = curve.map_or(DurationNs(i64::MAX), |it| it.limit(snapshot.reference));
    }

    /// The occurrences that take longer.
    pub(super) fn shown(&self) -> Option<PickedCalls<'_>> {
        let (patterns, id, long) = self.known.as_ref()?;
        Some(PickedCalls::Long(long, patterns.get(*id)?, self.limit))
    }
}
