//! The excesses of own work, and the delays that they form.

use callgrove_model::{DurationNs, LaneIdx, TimeNs};
use callgrove_segments::{MIN_WORK, Segments, index};

use super::delay_root::{DelayRoot, RootIdx};
use super::usual::{ExcessSource, PlaceExcess};

/// Maximum distance of delays of own work that are one.
const JOINED: DurationNs = DurationNs::from_us(300);

/// An excess of own work: the number of operations before it, its end, and its root.
#[derive(Clone, Copy)]
pub(super) struct LaneExcess {
    pub(super) operations_before: usize,
    pub(super) end: TimeNs,
    pub(super) root: RootIdx,
    pub(super) amount: DurationNs,
}

/// Returns the excesses of own work by lane, and adds their roots.
pub(super) fn work_excesses(
    segments: &Segments,
    source: ExcessSource<'_>,
    roots: &mut Vec<DelayRoot>,
) -> Vec<Vec<LaneExcess>> {
    let mut found = source.of_work(segments).into_iter().peekable();
    let mut first = 0;
    let mut by_lane = Vec::with_capacity(segments.lanes.len());
    for (lane_at, lane) in segments.lanes.iter().enumerate() {
        let mut of_lane: Vec<LaneExcess> = Vec::new();
        let end = first + lane.gaps.len();
        let mut last: Option<LaneExcess> = None;
        for (at, gap) in lane.gaps.iter().enumerate() {
            let unusual = found.next_if(|it| it.visit == first + at);
            // A tracer write at a place without a usual duration is a root, too.
            let write = (gap.is_written && gap.duration() > MIN_WORK)
                .then(|| PlaceExcess::whole(first + at, gap.duration()));
            let Some(it) = unusual.or(write) else {
                continue;
            };
            let operations_before = index(gap.operations_before);
            let goes_on = last.filter(|last| {
                let known = &roots[last.root.index()];
                let is_close = gap.start.since(known.end) < JOINED;
                is_close && !gap.is_written && !known.is_written
            });
            let root = goes_on.map_or_else(
                || {
                    let lane = LaneIdx::from_index(lane_at);
                    let mut root = DelayRoot::new(lane, gap.call, gap.start, gap.end);
                    root.is_written = gap.is_written;
                    (root.is_set_up, root.is_by_design) = (true, true);
                    roots.push(root);
                    RootIdx::from_index(roots.len() - 1)
                },
                |last| last.root,
            );
            let path = segments.places.path_of(gap.place);
            roots[root.index()].extend(path, gap.call, gap.end, it.usual, it.amount);
            roots[root.index()].is_set_up &= it.is_set_up;
            roots[root.index()].is_by_design &= it.is_by_design;
            let excess = LaneExcess {
                operations_before,
                end: gap.end,
                root,
                amount: it.amount,
            };
            of_lane.push(excess);
            last = Some(excess);
        }
        first = end;
        by_lane.push(of_lane);
    }
    by_lane
}
