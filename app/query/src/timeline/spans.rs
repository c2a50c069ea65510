//! Spans that must be visible at any zoom: flagged executions, hits of a search. They are kept separately from the
//! bars, which may be merged.

use std::borrow::Borrow;

use callgrove_model::{DurationNs, ExecRef, Forest, LaneIdx, TimeNs, Trace, TreeIdx};
use serde::{Deserialize, Serialize};

/// An execution that must be visible at any zoom.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Span {
    /// The execution.
    pub exec: ExecRef,
    /// The tree of the forest whose root it is, if any.
    pub tree: Option<TreeIdx>,
    /// Entry.
    pub from: TimeNs,
    /// Exit.
    pub to: TimeNs,
}

/// Spans that are drawn as one because they are too close to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MergedSpan {
    /// Start of the first.
    pub from: TimeNs,
    /// End of the last.
    pub to: TimeNs,
    /// Number of spans.
    pub num_spans: usize,
    /// The longest span.
    pub longest: Span,
}

/// Spans by lane, searchable by time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SpanIndex {
    /// In order of lane, then start.
    spans: Vec<Span>,
    /// For each lane with spans, in order of lane: lane, index of its first span, and longest duration.
    lanes: Vec<(LaneIdx, usize, DurationNs)>,
}

impl Span {
    /// Returns the span of an execution.
    pub fn of(trace: &Trace, exec: ExecRef) -> Self {
        let executions = &trace.lane(exec.lane).executions;
        Self {
            exec,
            tree: None,
            from: executions.entry[exec.exec.index()],
            to: executions.exit(exec.exec),
        }
    }

    /// Returns its duration.
    pub fn duration(&self) -> DurationNs {
        self.to.since(self.from)
    }
}

impl SpanIndex {
    /// Sorts and indexes spans.
    pub fn new(mut spans: Vec<Span>) -> Self {
        spans.sort_unstable_by_key(|span| (span.exec.lane, span.from, span.exec.exec));
        let mut lanes: Vec<(LaneIdx, usize, DurationNs)> = Vec::new();
        for (at, span) in spans.iter().enumerate() {
            match lanes.last_mut() {
                Some((lane, _, longest)) if *lane == span.exec.lane => {
                    *longest = (*longest).max(span.duration());
                }
                _ => lanes.push((span.exec.lane, at, span.duration())),
            }
        }
        Self { spans, lanes }
    }

    /// Returns the spans of the trees of a forest for which `is_flagged` is true.
    pub fn of_trees(forest: &Forest, is_flagged: impl Fn(TreeIdx) -> bool) -> Self {
        let trees = (0..forest.len()).map(TreeIdx::from_index);
        let spans = trees.filter(|&tree| is_flagged(tree)).map(|tree| Span {
            exec: forest.trees()[tree.index()].root,
            tree: Some(tree),
            from: forest.tree(tree).entry()[0],
            to: forest.tree(tree).exit(),
        });
        Self::new(spans.collect())
    }

    /// Returns all spans, in order of lane, then start.
    pub fn all(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the spans of a lane that overlap the time from `from` to `to`, in order of start.
    pub fn touching(&self, lane: LaneIdx, from: TimeNs, to: TimeNs) -> impl Iterator<Item = &Span> {
        let at = self.lanes.binary_search_by_key(&lane, |entry| entry.0).ok();
        let spans = at.map_or(&[][..], |at| {
            let (_, start, longest) = self.lanes[at];
            let end = self
                .lanes
                .get(at + 1)
                .map_or(self.spans.len(), |next| next.1);
            let spans = &self.spans[start..end];
            let earliest = TimeNs(from.0.saturating_sub(longest.0));
            &spans[spans.partition_point(|span| span.from < earliest)
                ..spans.partition_point(|span| span.from <= to)]
        });
        spans.iter().filter(move |span| span.to >= from)
    }
}

/// Merges spans of one lane, in order of start, that are less than `gap` apart.
pub fn merge_spans<S: Borrow<Span>>(
    spans: impl Iterator<Item = S>,
    gap: DurationNs,
) -> Vec<MergedSpan> {
    let mut merged: Vec<MergedSpan> = Vec::new();
    for span in spans {
        let span = span.borrow();
        match merged.last_mut() {
            Some(last) if span.from.since(last.to) < gap => {
                last.to = last.to.max(span.to);
                last.num_spans += 1;
                if span.duration() > last.longest.duration() {
                    last.longest = *span;
                }
            }
            _ => merged.push(MergedSpan {
                from: span.from,
                to: span.to,
                num_spans: 1,
                longest: *span,
            }),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use callgrove_model::ExecIdx;
    use proptest::prelude::*;

    use super::*;

    fn spans() -> impl Strategy<Value = Vec<Span>> {
        let span = (0_u32..4, 0_i64..5_000, 0_i64..400).prop_map(|(lane, from, length)| Span {
            exec: ExecRef {
                lane: LaneIdx(lane),
                exec: ExecIdx(from as u32),
            },
            tree: None,
            from: TimeNs(from),
            to: TimeNs(from + length),
        });
        prop::collection::vec(span, 0..80)
    }

    proptest! {
        #[test]
        fn every_span_that_touches_is_found_and_counted_once(
            spans in spans(), from in -100_i64..5_000, length in 0_i64..3_000, gap in 0_i64..500,
        ) {
            let (from, to) = (TimeNs(from), TimeNs(from + length));
            let index = SpanIndex::new(spans.clone());
            for lane in (0..5).map(LaneIdx) {
                let touches = |span: &&Span| span.exec.lane == lane && span.from <= to && span.to >= from;
                let num_touching = spans.iter().filter(touches).count();
                let merged = merge_spans(index.touching(lane, from, to), DurationNs(gap));
                let num_found: usize = merged.iter().map(|span| span.num_spans).sum();
                prop_assert_eq!(num_found, num_touching);
                for span in spans.iter().filter(touches) {
                    prop_assert!(merged.iter().any(|all| all.from <= span.from && span.to <= all.to));
                }
                for pair in merged.windows(2) {
                    prop_assert!(pair[1].from.since(pair[0].to).0 >= gap);
                }
            }
        }
    }
}
