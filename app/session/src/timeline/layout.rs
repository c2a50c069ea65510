//! The rows of the timeline: the tree's own lane, and the lanes it exchanges messages with.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{ExecIdx, Forest, FuncId, LaneIdx, TimeNs, TreeIdx};

use super::arrows::{ArrowSearch, mates_of_tree};
use super::sweep::Sweep;

/// Which part of the trace to draw, and how finely.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelineQuery {
    /// The tree whose lane is drawn as a stack.
    pub tree: TreeIdx,
    /// Start of the window.
    pub from: TimeNs,
    /// End of the window.
    pub to: TimeNs,
    /// Bars shorter than this are merged, in nanoseconds (the time of a pixel or two).
    pub min_bar_ns: i64,
    /// Context lanes to draw as stacks instead of strips.
    pub expanded: BTreeSet<LaneIdx>,
    /// At most so many context lanes: those that exchange the most messages with the tree.
    pub max_lanes: usize,
    /// At most so many arrows; the tree's own come first.
    pub max_arrows: usize,
}

/// What to draw.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    /// The tree's lane first, then the lanes it exchanges messages with, by rank.
    pub rows: Vec<Row>,
    /// Lanes that `max_lanes` left out.
    pub num_lanes_left_out: usize,
    /// Messages between the rows: the tree's own first, then by time of sending.
    pub arrows: Vec<Arrow>,
    /// Messages in the window that are not among the arrows; an estimate where there are too many
    /// to look at each.
    pub num_arrows_left_out: usize,
}

/// One lane.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Lane.
    pub lane: LaneIdx,
    /// How it is drawn.
    pub kind: RowKind,
    /// Number of stack levels in the window (1 for a strip).
    pub num_levels: usize,
    /// Bars in order of level, then time. Bars of one level do not overlap.
    pub bars: Vec<Bar>,
}

/// How a lane is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKind {
    /// The lane of the selected tree, as a stack from the level of the tree's root on.
    Selected,
    /// Another lane as a stack.
    Stack,
    /// Another lane as the sequence of its innermost functions.
    Strip,
}

/// A call, or several merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    /// The (first) call.
    pub exec: ExecIdx,
    /// Its function; of merged calls the longest of the first ones.
    pub func: FuncId,
    /// Start.
    pub from: TimeNs,
    /// End.
    pub to: TimeNs,
    /// Level from the top of the row.
    pub level: usize,
    /// Calls that the bar stands for, with all they call; 1 for a single call.
    pub num_calls: usize,
    /// Whether it belongs to the selected tree, or holds calls that do.
    pub in_tree: bool,
}

/// A message between two rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrow {
    /// Row of the sender.
    pub from_row: usize,
    /// Row of the receiver.
    pub to_row: usize,
    /// When it was sent.
    pub sent: TimeNs,
    /// When it was received.
    pub received: TimeNs,
    /// Size as the sender states it.
    pub size_bytes: u64,
    /// Tag.
    pub tag: u64,
    /// Whether the selected tree sent or received it.
    pub in_tree: bool,
}

/// Lays out the window of a tree of `forest`.
pub fn layout_timeline(forest: &Forest, query: &TimelineQuery) -> Timeline {
    let own_lane = forest.trees()[query.tree.index()].root.lane;
    let (partners, num_lanes_left_out) = partner_lanes(forest, query);
    let rows: Vec<Row> = std::iter::once((own_lane, RowKind::Selected))
        .chain(partners.into_iter().map(|lane| {
            let is_expanded = query.expanded.contains(&lane);
            (
                lane,
                if is_expanded {
                    RowKind::Stack
                } else {
                    RowKind::Strip
                },
            )
        }))
        .map(|(lane, kind)| {
            let bars = Sweep::new(forest, query, lane, kind).bars();
            let num_levels = bars.last().map_or(1, |bar| bar.level + 1);
            Row {
                lane,
                kind,
                num_levels,
                bars,
            }
        })
        .collect();
    let lanes: Vec<LaneIdx> = rows.iter().map(|row| row.lane).collect();
    let (arrows, num_arrows_left_out) = ArrowSearch::new(forest, query, &lanes).arrows();
    Timeline {
        rows,
        num_lanes_left_out,
        arrows,
        num_arrows_left_out,
    }
}

/// The lanes that exchange messages with the tree, by rank, and how many `max_lanes` left out.
fn partner_lanes(forest: &Forest, query: &TimelineQuery) -> (BTreeSet<LaneIdx>, usize) {
    let own_lane = forest.trees()[query.tree.index()].root.lane;
    let mut num_messages: BTreeMap<LaneIdx, usize> = BTreeMap::new();
    for mate in mates_of_tree(forest, query.tree) {
        if mate.lane != own_lane {
            *num_messages.entry(mate.lane).or_default() += 1;
        }
    }
    let mut busiest: Vec<_> = num_messages.into_iter().collect();
    busiest.sort_by_key(|&(lane, count)| (std::cmp::Reverse(count), lane));
    let num_left_out = busiest.len().saturating_sub(query.max_lanes);
    let lanes = busiest
        .into_iter()
        .take(query.max_lanes)
        .map(|(lane, _)| lane);
    (lanes.collect(), num_left_out)
}

#[cfg(test)]
mod tests {
    use callgrove_model::CommKind::{Recv, Send};

    use super::super::fixture::{forest, query, rank};
    use super::*;

    #[test]
    fn context_lanes_are_strips_until_they_are_expanded() {
        let zero = rank(0, "+a@10 -a@50", &[(Send, 1, 20)]);
        let one = rank(1, "+main@0 +b@10 -b@90 -main@100", &[(Recv, 0, 30)]);
        let forest = forest(vec![zero, one], "a");
        let shape = |query| -> Vec<(RowKind, usize)> {
            layout_timeline(&forest, &query)
                .rows
                .iter()
                .map(|row| (row.kind, row.num_levels))
                .collect()
        };
        let folded = query(0, 100, 1);
        let expanded = TimelineQuery {
            expanded: [LaneIdx(1)].into(),
            ..folded.clone()
        };
        assert_eq!(shape(folded), [(RowKind::Selected, 1), (RowKind::Strip, 1)]);
        assert_eq!(
            shape(expanded),
            [(RowKind::Selected, 1), (RowKind::Stack, 2)]
        );
    }

    #[test]
    fn an_empty_window_has_rows_without_bars() {
        let forest = forest(vec![rank(0, "+a@10 -a@50", &[])], "a");
        let timeline = layout_timeline(&forest, &query(60, 100, 1));
        assert_eq!((timeline.rows.len(), timeline.rows[0].num_levels), (1, 1));
        assert!(timeline.rows[0].bars.is_empty());
    }
}
