//! The anomalous occurrences of the pattern that is looked at, underlined while q and s are dragged.

use callgrove_session::{JudgedBy, Snapshot};

use crate::asked::Asked;
use crate::canvas::time::MarkedOccurrences;

/// From which duration on the occurrences of the pattern that is looked at are anomalous.
#[derive(Default)]
pub(super) struct PatternMarks {
    judged: Asked<JudgedBy>,
    shown: Option<MarkedOccurrences>,
}

impl PatternMarks {
    /// Takes over pattern and reference.
    pub(super) fn follow(&mut self, snapshot: &Snapshot) {
        self.shown = self.long(snapshot);
    }

    fn long(&mut self, snapshot: &Snapshot) -> Option<MarkedOccurrences> {
        let (patterns, calls) = (snapshot.patterns.as_ref()?, snapshot.calls.as_ref()?);
        let pattern = snapshot.pattern?;
        let at = patterns.place_of(pattern)?;
        let (_, judged) = self.judged.ask(calls, &JudgedBy(snapshot.reference))?;
        let limit = judged.get(at)?.limit;
        Some(MarkedOccurrences { pattern, limit })
    }

    /// The occurrences that take longer.
    pub(super) fn shown(&self) -> Option<MarkedOccurrences> {
        self.shown
    }
}
