//! Long occurrences of a pattern by lane and time, found without visiting all occurrences.

use callgrove_model::{DurationNs, ExecRef, LaneIdx, TimeNs};
use callgrove_patterns::{Occurrence, Pattern};

use crate::timeline::Span;

/// Number of occurrences per block. Blocks whose longest occurrence is too short are skipped.
const BLOCK_LEN: usize = 64;

/// The longest durations of a pattern's occurrences, by block and by lane.
#[derive(Clone, Debug, Default)]
pub(super) struct LongOccurrences {
    /// Longest duration in each block of [`Pattern::occurrences`].
    blocks: Vec<DurationNs>,
    /// For each lane with occurrences, in order: lane, index of its first occurrence, and longest duration.
    lanes: Vec<(LaneIdx, usize, DurationNs)>,
    num_occurrences: usize,
}

impl LongOccurrences {
    /// Indexes a pattern. Cost: linear in occurrences.
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
            blocks: occurrences.chunks(BLOCK_LEN).map(longest).collect(),
            lanes,
            num_occurrences: occurrences.len(),
        }
    }

    /// Returns the occurrences of `pattern` on a lane that overlap the time from `from` to `to` and last longer than
    /// `limit`, in order of start. `pattern` is the one that was indexed.
    pub(super) fn longer_than<'a>(
        &'a self,
        pattern: &'a Pattern,
        (lane, from, to): (LaneIdx, TimeNs, TimeNs),
        limit: DurationNs,
    ) -> impl Iterator<Item = Span> + 'a {
        let range = self.places(pattern, (lane, from, to), limit);
        let (mut at, end) = (range.start, range.end);
        std::iter::from_fn(move || {
            while at < end {
                if at.is_multiple_of(BLOCK_LEN) && self.blocks.get(at / BLOCK_LEN)? <= &limit {
                    at += BLOCK_LEN;
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

    /// Returns the index range of possible occurrences; empty if the longest of the lane is too short.
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

/// Returns the time span of an occurrence. Its first call represents it.
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
