//! The bars of one lane in a time range.

use std::collections::VecDeque;
use std::ops::Range;

use callgrove_model::{ExecIdx, Executions, FuncId, LaneIdx, TimeNs, Trace};
use serde::{Deserialize, Serialize};

/// Number of calls that are examined to choose the colour of a merged bar.
const MERGED_SAMPLE: usize = 4;

/// A time range of a trace and the resolution of its layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tile {
    /// Start.
    pub from: TimeNs,
    /// End.
    pub to: TimeNs,
    /// Bars shorter than this are merged, in nanoseconds (the time of one or two pixels).
    pub min_bar_ns: i64,
}

/// A way to draw a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RowKind {
    /// A stack that starts at the level of this call, the root of a tree whose calls are highlighted.
    Tree(ExecIdx),
    /// A stack.
    Stack,
    /// The sequence of its innermost functions.
    Strip,
}

/// A call, or several merged ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bar {
    /// The (first) call.
    pub exec: ExecIdx,
    /// Its function; for merged calls, that of the longest of the first ones.
    pub func: FuncId,
    /// Start.
    pub from: TimeNs,
    /// End.
    pub to: TimeNs,
    /// Level from the top of the row.
    pub level: usize,
    /// Number of calls in the bar, including all callees of merged calls; 1 for a single call.
    pub num_calls: usize,
    /// True if the bar belongs to the tree of the row or contains calls of it.
    pub in_tree: bool,
}

/// Returns the bars of a lane, in order of level, then time. Bars of one level do not overlap.
pub fn layout_lane(trace: &Trace, lane: LaneIdx, kind: RowKind, tile: Tile) -> Vec<Bar> {
    Sweep::new(&trace.lane(lane).executions, kind, tile).bars()
}

/// Returns the number of levels that a row needs over the whole run: those of its tree, or of the whole lane.
pub fn num_levels(trace: &Trace, lane: LaneIdx, kind: RowKind) -> usize {
    let executions = &trace.lane(lane).executions;
    let deepest = |rows: Range<usize>| executions.depth[rows].iter().max().copied().unwrap_or(0);
    match kind {
        RowKind::Strip => 1,
        RowKind::Stack => usize::from(deepest(0..executions.len())) + 1,
        RowKind::Tree(root) => {
            let top = executions.depth[root.index()];
            usize::from(deepest(executions.subtree(root)) - top) + 1
        }
    }
}

/// A traversal of the part of a lane inside the tile, level by level.
struct Sweep<'a> {
    executions: &'a Executions,
    kind: RowKind,
    from: TimeNs,
    to: TimeNs,
    min_bar_ns: i64,
    /// Calls of the row's tree.
    tree_rows: Range<usize>,
    /// Depth of the calls on the topmost level of the row.
    top_depth: usize,
    /// The call entered last before the tile, with its callers, by depth.
    last_before: Vec<usize>,
    /// Siblings still to be visited, outer ones first.
    pending: VecDeque<Siblings>,
    /// Number of calls that the last search skipped.
    last_count: usize,
    bars: Vec<Bar>,
}

/// Calls of one depth, with their callees.
struct Siblings {
    rows: Range<usize>,
    depth: usize,
}

impl<'a> Sweep<'a> {
    fn new(executions: &'a Executions, kind: RowKind, tile: Tile) -> Self {
        let (tree_rows, top_depth) = match kind {
            RowKind::Tree(root) => (
                executions.subtree(root),
                usize::from(executions.depth[root.index()]),
            ),
            RowKind::Stack | RowKind::Strip => (0..0, 0),
        };
        Self {
            executions,
            kind,
            from: tile.from,
            to: tile.to,
            min_bar_ns: tile.min_bar_ns.max(1),
            tree_rows,
            top_depth,
            last_before: last_before(executions, tile.from),
            pending: VecDeque::from([Siblings {
                rows: 0..executions.len(),
                depth: 0,
            }]),
            last_count: 0,
            bars: Vec::new(),
        }
    }

    /// Returns the bars in order of level, then time.
    fn bars(mut self) -> Vec<Bar> {
        while let Some(siblings) = self.pending.pop_front() {
            self.level(&siblings);
        }
        self.bars
            .sort_by_key(|bar| (bar.level, bar.from, bar.to, bar.exec));
        self.bars
    }

    /// Draws siblings. The callees of wide ones are queued.
    fn level(&mut self, siblings: &Siblings) {
        let (depth, end) = (siblings.depth, siblings.rows.end);
        let mut row = self.first_in_window(siblings.rows.clone(), depth);
        while row < end && self.executions.entry[row] < self.to {
            let next = self.subtree_end(row);
            if self.executions.entry[row] < self.from && self.exit(row) <= self.from {
                row = next;
            } else if self.executions.inclusive[row].0 < self.min_bar_ns {
                row = self.merge(row..end, depth);
            } else {
                match self.kind {
                    RowKind::Strip => self.strip_segments(row, depth),
                    RowKind::Tree(_) | RowKind::Stack => {
                        self.push(row..row + 1, depth, self.exit(row));
                    }
                }
                if row + 1 < next {
                    self.pending.push_back(Siblings {
                        rows: row + 1..next,
                        depth: depth + 1,
                    });
                }
                row = next;
            }
        }
    }

    /// Returns the first of the siblings that can reach into the window: the one that was running, or the last
    /// one that ran, at its start.
    fn first_in_window(&self, siblings: Range<usize>, depth: usize) -> usize {
        match self.last_before.get(depth) {
            Some(row) if siblings.contains(row) => *row,
            _ => siblings.start,
        }
    }

    /// Draws one bar for the first sibling and those after it within the smallest width. Returns the sibling after
    /// them.
    fn merge(&mut self, siblings: Range<usize>, depth: usize) -> usize {
        let row = siblings.start;
        let limit =
            TimeNs(self.executions.entry[row].0.saturating_add(self.min_bar_ns)).min(self.to);
        let last = self.last_entered_before(siblings, limit, depth);
        // The call that is running at the limit may be wide and then gets its own bar.
        let next = if last > row && self.exit(last) >= limit {
            last
        } else {
            self.subtree_end(last)
        };
        let to = self.exit(self.ancestor_at(next - 1, depth));
        self.push(row..next, depth, to);
        next
    }

    /// Draws the time ranges in which `row` is the innermost function.
    fn strip_segments(&mut self, row: usize, depth: usize) {
        let end = self.subtree_end(row);
        let mut idle_from = self.executions.entry[row].max(self.from);
        let mut child = self.first_in_window(row + 1..end, depth + 1);
        while child < end && self.executions.entry[child] < self.to {
            self.segment(row, idle_from, self.executions.entry[child]);
            idle_from = idle_from.max(self.exit(child));
            // Gaps shorter than the smallest width are invisible, so the calls in them are skipped.
            let limit = TimeNs(idle_from.0.saturating_add(self.min_bar_ns));
            let last = self.last_entered_before(child..end, limit, depth + 1);
            idle_from = idle_from.max(self.exit(last));
            child = self.subtree_end(last);
        }
        self.segment(row, idle_from, self.exit(row).min(self.to));
    }

    fn segment(&mut self, row: usize, from: TimeNs, to: TimeNs) {
        // A segment cut by the edge of the tile continues in the next tile, so it is drawn even if it is short in this
        // one.
        let is_cut = to > from && (from == self.from || to == self.to);
        if is_cut || to.since(from).0 >= self.min_bar_ns {
            self.bars.push(Bar {
                exec: ExecIdx::from_index(row),
                func: self.executions.func[row],
                from,
                to,
                level: 0,
                num_calls: 1,
                in_tree: false,
            });
        }
    }

    /// Draws one bar for the calls in `rows`, the first of which is at `depth`. Callers of the tree's root
    /// are not drawn, unless they are too narrow to show their callees.
    fn push(&mut self, rows: Range<usize>, depth: usize, to: TimeNs) {
        let is_merged = rows.len() > 1 || self.executions.inclusive[rows.start].0 < self.min_bar_ns;
        if depth < self.top_depth && !is_merged {
            return;
        }
        let level = match self.kind {
            RowKind::Strip => 0,
            RowKind::Tree(_) | RowKind::Stack => depth.saturating_sub(self.top_depth),
        };
        let siblings = std::iter::successors(Some(rows.start), |&row| {
            Some(self.subtree_end(row)).filter(|next| rows.contains(next))
        });
        let longest = siblings
            .take(MERGED_SAMPLE)
            .max_by_key(|&row| (self.executions.inclusive[row], std::cmp::Reverse(row)));
        self.bars.push(Bar {
            exec: ExecIdx::from_index(rows.start),
            func: self.executions.func[longest.unwrap_or(rows.start)],
            from: self.executions.entry[rows.start],
            to,
            level,
            num_calls: rows.len(),
            in_tree: rows.start < self.tree_rows.end && rows.end > self.tree_rows.start,
        });
    }

    fn exit(&self, row: usize) -> TimeNs {
        self.executions.exit(ExecIdx::from_index(row))
    }

    fn subtree_end(&self, row: usize) -> usize {
        self.executions.subtree_end[row].index()
    }

    /// Returns the last of the siblings entered before `limit`, at least the first.
    ///
    /// The search starts at the offset where the last one ended, because the density of calls changes little from pixel
    /// to pixel. This saves most of the reads.
    fn last_entered_before(
        &mut self,
        siblings: Range<usize>,
        limit: TimeNs,
        depth: usize,
    ) -> usize {
        let entry = &self.executions.entry;
        let (mut low, mut high) = (siblings.start, siblings.end);
        let guess = low + self.last_count.min(siblings.len() - 1);
        let mut step = 1 + self.last_count / 32;
        if entry[guess] < limit {
            low = guess;
            while low + step < high && entry[low + step] < limit {
                low += step;
                step *= 2;
            }
            high = high.min(low + step);
        } else {
            high = guess;
            while high > low + step && entry[high - step] >= limit {
                high -= step;
                step *= 2;
            }
            low = low.max(high.saturating_sub(step));
        }
        let num_entered = entry[low..high].partition_point(|&entry| entry < limit);
        let last = (low + num_entered).saturating_sub(1).max(siblings.start);
        self.last_count = last - siblings.start;
        self.ancestor_at(last, depth)
    }

    fn ancestor_at(&self, row: usize, depth: usize) -> usize {
        let callers = std::iter::successors(Some(row), |&row| {
            self.executions
                .parent(ExecIdx::from_index(row))
                .map(ExecIdx::index)
        });
        let mut callers =
            callers.skip_while(|&row| usize::from(self.executions.depth[row]) > depth);
        callers.next().unwrap_or(row)
    }
}

/// Returns the call entered last before `time` and its callers, outermost first.
fn last_before(executions: &Executions, time: TimeNs) -> Vec<usize> {
    let innermost = executions.first_entered_from(time).checked_sub(1);
    let mut chain: Vec<usize> = std::iter::successors(innermost, |&row| {
        executions
            .parent(ExecIdx::from_index(row))
            .map(ExecIdx::index)
    })
    .collect();
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::{executions, forest, name, rank, tile, walked, walks};
    use super::*;

    const CALLS: &str = "+main@0 +a@10 +b@20 -b@30 +b@32 -b@34 -a@60 +c@70 -c@90 -main@100";

    /// Returns the bars as `level:function from-to`, with `×calls` if merged and `*` if in the tree.
    fn drawn(calls: &str, root: &str, kind: RowKind, window: (i64, i64, i64)) -> Vec<String> {
        let forest = forest(vec![rank(0, calls, &[])], root);
        let tile = tile(window.0, window.1, window.2);
        // `Tree` means the first tree of the forest.
        let kind = match kind {
            RowKind::Tree(_) => RowKind::Tree(forest.trees()[0].root.exec),
            other => other,
        };
        layout_lane(forest.trace(), LaneIdx(0), kind, tile)
            .iter()
            .map(|bar| {
                let times = if bar.num_calls > 1 {
                    format!("×{}", bar.num_calls)
                } else {
                    String::new()
                };
                let mark = if bar.in_tree { "*" } else { "" };
                let name = name(&forest, bar.func);
                format!(
                    "{}:{name}{times}{mark} {}-{}",
                    bar.level, bar.from.0, bar.to.0
                )
            })
            .collect()
    }

    #[test]
    fn the_smallest_width_draws_every_call_exactly() {
        let bars = drawn(CALLS, "main", RowKind::Stack, (0, 100, 1));
        let expected = [
            "0:main 0-100",
            "1:a 10-60",
            "1:c 70-90",
            "2:b 20-30",
            "2:b 32-34",
        ];
        assert_eq!(bars, expected);
    }

    #[test]
    fn a_window_shows_only_calls_that_reach_into_it() {
        let bars = drawn(CALLS, "main", RowKind::Stack, (30, 70, 1));
        assert_eq!(bars, ["0:main 0-100", "1:a 10-60", "2:b 32-34"]);
    }

    #[test]
    fn narrow_calls_merge_with_those_that_follow_and_wide_ones_do_not() {
        let calls = "+main@0 +s@1 +t@1 -t@2 -s@2 +s@3 -s@4 +w@5 -w@50 +s@51 -s@52 -main@60";
        let bars = drawn(calls, "main", RowKind::Stack, (0, 60, 10));
        assert_eq!(bars, ["0:main 0-60", "1:s×3 1-4", "1:w 5-50", "1:s 51-52"]);
    }

    #[test]
    fn a_merged_bar_has_the_function_of_its_longest_call() {
        let calls = "+main@0 +s@1 -s@2 +m@2 -m@6 +s@6 -s@7 -main@100";
        let bars = drawn(calls, "main", RowKind::Stack, (0, 100, 10));
        assert_eq!(bars, ["0:main 0-100", "1:m×3 1-7"]);
    }

    #[test]
    fn the_selected_lane_begins_at_the_root_and_marks_its_tree() {
        let bars = drawn(CALLS, "a", RowKind::Tree(ExecIdx(0)), (0, 100, 1));
        assert_eq!(
            bars,
            ["0:a* 10-60", "0:c 70-90", "1:b* 20-30", "1:b* 32-34"]
        );
    }

    #[test]
    fn a_tree_inside_calls_too_narrow_to_draw_is_still_visible() {
        let calls =
            "+main@0 +step@10 +a@11 -a@12 -step@13 +step@14 +a@15 -a@16 -step@17 -main@9000";
        let bars = drawn(calls, "a", RowKind::Tree(ExecIdx(0)), (0, 9000, 100));
        assert_eq!(bars, ["0:step×4* 10-17"]);
    }

    #[test]
    fn a_strip_shows_the_innermost_function() {
        let bars = drawn(CALLS, "main", RowKind::Strip, (0, 100, 1));
        let expected = [
            "0:main 0-10",
            "0:a 10-20",
            "0:b 20-30",
            "0:a 30-32",
            "0:b 32-34",
            "0:a 34-60",
            "0:main 60-70",
            "0:c 70-90",
            "0:main 90-100",
        ];
        assert_eq!(bars, expected);
    }

    #[test]
    fn very_deep_stacks_are_drawn() {
        let event = |sign| move |time_ns: i64| format!("{sign}f@{time_ns}");
        let events: Vec<String> = (0..30_000)
            .map(event('+'))
            .chain((30_000..60_000).map(event('-')))
            .collect();
        let bars = drawn(&events.join(" "), "f", RowKind::Stack, (29_000, 31_000, 1));
        assert_eq!(bars.len(), 30_000);
    }

    /// Counts the calls that reach into the window, or are inside a narrow call that does. (A call
    /// without duration at the time when its caller ends and the window begins does not.)
    fn calls_in_window(executions: &Executions, from: i64, to: i64, min_bar_ns: i64) -> usize {
        let reaches = |row: usize| {
            let (entry, exit) = (
                executions.entry[row].0,
                executions.exit(ExecIdx::from_index(row)).0,
            );
            entry < to && (entry >= from || exit > from)
        };
        let with_callers = |row: usize| {
            std::iter::successors(Some(row), |&row| {
                executions
                    .parent(ExecIdx::from_index(row))
                    .map(ExecIdx::index)
            })
        };
        let is_narrow = |row: &usize| executions.inclusive[*row].0 < min_bar_ns;
        let is_counted = |&row: &usize| {
            let drawn_call = with_callers(row).filter(is_narrow).last().unwrap_or(row);
            with_callers(drawn_call).all(reaches)
        };
        (0..executions.len()).filter(is_counted).count()
    }

    /// Returns the innermost call that runs for the nanosecond after `time_ns`.
    fn innermost_at(executions: &Executions, time_ns: i64) -> Option<usize> {
        (0..executions.len()).rfind(|&row| {
            executions.entry[row].0 <= time_ns
                && executions.exit(ExecIdx::from_index(row)).0 > time_ns
        })
    }

    proptest! {
        #[test]
        fn bars_represent_every_call_in_the_window_once(
            walk in walks(), from in -50_i64..3000, length in 1_i64..3000, min_bar_ns in 1_i64..200,
        ) {
            let forest = walked(&walk);
            let tile = tile(from, from + length, min_bar_ns);
            let bars = layout_lane(forest.trace(), LaneIdx(0), RowKind::Stack, tile);
            let num_calls: usize = bars.iter().map(|bar| bar.num_calls).sum();
            prop_assert_eq!(num_calls, calls_in_window(executions(&forest), from, from + length, min_bar_ns));
        }

        #[test]
        fn bars_of_a_level_do_not_overlap_and_are_limited_by_the_window_width(
            walk in walks(), from in -50_i64..3000, length in 1_i64..3000, min_bar_ns in 1_i64..200,
            is_strip in any::<bool>(),
        ) {
            let forest = walked(&walk);
            let tile = tile(from, from + length, min_bar_ns);
            let kind = if is_strip { RowKind::Strip } else { RowKind::Stack };
            let bars = layout_lane(forest.trace(), LaneIdx(0), kind, tile);
            for pair in bars.windows(2) {
                prop_assert!(pair[0].level < pair[1].level || pair[0].to <= pair[1].from, "{pair:?}");
            }
            let max_depth = executions(&forest).depth.iter().max().copied().unwrap_or(0);
            let max_on_level = 2 * (length / min_bar_ns) as usize + 4;
            prop_assert!(bars.len() <= max_on_level * (usize::from(max_depth) + 1), "{}", bars.len());
            prop_assert!(bars.iter().all(|bar| bar.from.0 < from + length && bar.to.0 >= from));
        }

        #[test]
        fn a_strip_at_the_smallest_width_is_the_innermost_call_at_every_moment(
            walk in walks(), from in 0_i64..2000, length in 1_i64..300,
        ) {
            let forest = walked(&walk);
            let tile = tile(from, from + length, 1);
            let bars = layout_lane(forest.trace(), LaneIdx(0), RowKind::Strip, tile);
            for time in from..from + length {
                let bar = bars.iter().find(|bar| bar.from.0 <= time && bar.to.0 > time);
                prop_assert_eq!(
                    bar.map(|bar| bar.exec.index()), innermost_at(executions(&forest), time)
                );
            }
        }
    }
}
