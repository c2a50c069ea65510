//! The underlined occurrences of a pattern that take too long, queried row by row.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::{DurationNs, LaneIdx};
use callgrove_session::{Calls, OccurrencesIn, PatternId, Span, Tile};

/// A pattern, and the duration above which its occurrences are underlined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkedOccurrences {
    /// The pattern.
    pub pattern: PatternId,
    /// The duration above which its occurrences are underlined.
    pub limit: DurationNs,
}

/// The known occurrences on the rows that were in view last.
#[derive(Default)]
pub(super) struct KnownOccurrences {
    by_lane: BTreeMap<LaneIdx, (OccurrencesIn, Arc<Vec<Span>>)>,
}

impl KnownOccurrences {
    /// Queries the occurrences on some lanes; a lane keeps its previous ones while its answer is in flight.
    pub(super) fn follow(
        &mut self,
        calls: &Calls,
        wanted: Option<MarkedOccurrences>,
        (lanes, tile): (impl Iterator<Item = LaneIdx>, Tile),
    ) {
        let mut before = std::mem::take(&mut self.by_lane);
        let Some(MarkedOccurrences { pattern, limit }) = wanted else {
            return;
        };
        for lane in lanes {
            let known = before.remove(&lane);
            let known = known.filter(|(of, _)| of.pattern == pattern);
            let wanted = OccurrencesIn {
                pattern,
                limit,
                lane,
                tile,
            };
            let is_known = known.as_ref().is_some_and(|(of, _)| *of == wanted);
            let answer = Some(&wanted).filter(|_| !is_known);
            let answer = answer.and_then(|wanted| calls.ask(wanted));
            if let Some(known) = answer.map(|spans| (wanted, spans)).or(known) {
                self.by_lane.insert(lane, known);
            }
        }
    }

    /// Returns the occurrences on a lane, in order of start.
    pub(super) fn on_lane(&self, lane: LaneIdx) -> &[Span] {
        let known = self.by_lane.get(&lane);
        known.map_or(&[], |(_, spans)| spans)
    }
}
