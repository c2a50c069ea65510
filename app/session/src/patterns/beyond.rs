//! Occurrences of a pattern that last long, found by lane and time without going through all of them.

use callgrove_model::{DurationNs, ExecRef, LaneIdx, TimeNs};
use callgrove_patterns::pattern::{Occurrence, Pattern};

use crate::Span;

/// Occurrences that share one longest duration: blocks in which none is long enough are passed over.
const BLOCK: usize = 64;

/// The longest durations of a pattern's occurrences, by block and by lane.
#[derive(Clone, Debug, Default)]
pub(super) struct LongOccurrences {
    /// The longest of each block of [`Pattern::occurrences`].
    blocks: Vec<DurationNs>,
    /// Of each lane that has any, in order: where its occurrences begin, and how long the longest is.
    lanes: Vec<(LaneIdx, usize, DurationNs)>,
    num_occurrences: usize,
}

impl LongOccurrences {
    /// Goes through a pattern once.
    pub(super) fn new(pattern: &Pattern) -> Self {
        let occurrences = &pattern.occurrences;
        let longest = |part: &[Occurrence]| {
            let durations = part.iter().map(|it| it.duration);
            durations.max().unwrap_or(DurationNs::ZERO)
        };
        let mut start = 0;
        let lanes = occurrences
            .chunk_by(|a, b| a.lane == b.lane)
            .map(|part| {
                let from = start;
                start += part.len();
                (part[0].lane, from, longest(part))
            })
            .collect();
        Self {
            blocks: occurrences.chunks(BLOCK).map(longest).collect(),
            lanes,
            num_occurrences: occurrences.len(),
        }
    }

    /// Occurrences of `pattern`, the one this was made of, on a lane that touch the time from `from` to `to` and
    /// last longer than `limit`; in order of start.
    pub(super) fn beyond<'a>(
        &'a self,
        pattern: &'a Pattern,
        (lane, from, to): (LaneIdx, TimeNs, TimeNs),
        limit: DurationNs,
    ) -> impl Iterator<Item = Span> + 'a {
        let range = self.places(pattern, (lane, from, to), limit);
        let (mut at, end) = (range.start, range.end);
        std::iter::from_fn(move || {
            while at < end {
                if at.is_multiple_of(BLOCK) && self.blocks.get(at / BLOCK)? <= &limit {
                    at += BLOCK;
                    continue;
                }
                let occurrence = pattern.occurrences.get(at)?;
                at += 1;
                if occurrence.duration > limit && occurrence.end() >= from {
                    return Some(span(occurrence));
                }
            }
            None
        })
    }

    /// The occurrences that may do, by their places; none if the longest of the lane is too short.
    fn places(
        &self,
        pattern: &Pattern,
        (lane, from, to): (LaneIdx, TimeNs, TimeNs),
        limit: DurationNs,
    ) -> std::ops::Range<usize> {
        let Ok(place) = self.lanes.binary_search_by_key(&lane, |entry| entry.0) else {
            return 0..0;
        };
        let (_, start, longest) = self.lanes[place];
        let next = self.lanes.get(place + 1);
        let end = next.map_or(self.num_occurrences, |next| next.1);
        let Some(on_lane) = pattern.occurrences.get(start..end) else {
            return 0..0;
        };
        if longest <= limit {
            return 0..0;
        }
        let earliest = TimeNs(from.0.saturating_sub(longest.0));
        let first = on_lane.partition_point(|it| it.start < earliest);
        let last = on_lane.partition_point(|it| it.start <= to);
        start + first..start + last.max(first)
    }
}

/// From when to when it ran; its first call stands for it.
fn span(occurrence: &Occurrence) -> Span {
    Span {
        exec: ExecRef {
            lane: occurrence.lane,
            exec: occurrence.first,
        },
        tree: None,
        from: occurrence.start,
        to: occurrence.end(),
    }
}
