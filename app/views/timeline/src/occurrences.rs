//! The anomalous occurrences of the selected pattern, underlined while q and s are dragged.

use callgrove_actions::latest_answer::LatestAnswer;
use callgrove_canvas::time::MarkedOccurrences;
use callgrove_session::{JudgedBy, Snapshot};

/// The duration above which occurrences of the selected pattern are anomalous.
#[derive(Default)]
pub(crate) struct PatternMarks {
    judged: LatestAnswer<JudgedBy>,
    shown: Option<MarkedOccurrences>,
}

impl PatternMarks {
    /// Takes over pattern and reference.
    pub(crate) fn follow(&mut self, snapshot: &Snapshot) {
        self.shown = self.longer_occurrences(snapshot);
    }

    fn longer_occurrences(&mut self, snapshot: &Snapshot) -> Option<MarkedOccurrences> {
        let (patterns, calls) = (snapshot.patterns()?, snapshot.calls()?);
        let pattern = snapshot.inspected.pattern?;
        let at = patterns.place_of(pattern)?;
        let (_, judged) = self
            .judged
            .ask(calls, &JudgedBy(snapshot.inspected.reference))?;
        let limit = judged.get(at)?.limit;
        Some(MarkedOccurrences { pattern, limit })
    }

    /// Returns the occurrences that take longer.
    pub(crate) fn shown(&self) -> Option<MarkedOccurrences> {
        self.shown
    }
}
