//! Where rows, bars, arrows and marks are: pure, and tested without a screen.

use callgrove_model::{Forest, LaneIdx, TimeNs, TreeIdx};
use callgrove_session::{Bar, Detection, Row, RowKind};
use egui::{Pos2, Rangef};

use super::window::Window;

/// Height of a level of the tree's own stack, in points.
const OWN_LEVEL: f32 = 18.0;
/// The same where the stack has more than [`MANY_LEVELS`].
const OWN_LEVEL_OF_MANY: f32 = 14.0;
const MANY_LEVELS: usize = 12;
const MIN_OWN_LEVELS: usize = 3;
/// Height of a level of another lane's stack.
const OTHER_LEVEL: f32 = 14.0;
/// Rows grow by this factor at most where there is room.
const MAX_GROWTH: f32 = 1.4;
/// Height of a strip.
const STRIP: f32 = 18.0;
/// Room above the bars of a row for the marks of abnormal trees.
const MARKS: f32 = 8.0;
/// Room below a row, so that arrows are seen between rows.
const BELOW: f32 = 10.0;
/// The narrowest that a mark is ever drawn.
pub(super) const MIN_MARK_WIDTH: f32 = 3.0;

/// Where a row is, in points from the top of the first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct RowBox {
    /// Top of the marks.
    pub(super) top: f32,
    /// Top of the bars.
    pub(super) bars_top: f32,
    pub(super) level_height: f32,
    pub(super) num_levels: usize,
}

/// An abnormal tree on a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AbnormalMark {
    pub(super) row: usize,
    pub(super) tree: TreeIdx,
    pub(super) from: TimeNs,
    pub(super) to: TimeNs,
}

impl RowBox {
    pub(super) fn bars_bottom(&self) -> f32 {
        self.bars_top + self.level_height * self.num_levels as f32
    }

    /// The level at a height; `None` above and below the bars.
    pub(super) fn level_at(&self, y: f32) -> Option<usize> {
        let level = (y - self.bars_top) / self.level_height;
        (level >= 0.0 && level < self.num_levels as f32).then_some(level as usize)
    }
}

/// The boxes of the rows, and their height together. The first row has as many levels as the tree
/// ([`MIN_OWN_LEVELS`] at least), so that it does not jump while the window moves; what is deeper
/// outside the tree is not drawn. Rows grow a little to use a taller `room`.
pub(super) fn row_boxes(rows: &[Row], own_levels: usize, room: f32) -> (Vec<RowBox>, f32) {
    let (boxes, height) = stacked_boxes(rows, own_levels, 1.0);
    let growth = (room / height.max(1.0)).min(MAX_GROWTH);
    if growth > 1.0 {
        stacked_boxes(rows, own_levels, growth)
    } else {
        (boxes, height)
    }
}

fn stacked_boxes(rows: &[Row], own_levels: usize, growth: f32) -> (Vec<RowBox>, f32) {
    let mut top = 0.0;
    let boxes = rows
        .iter()
        .map(|row| {
            let num_levels = match row.kind {
                RowKind::Selected => own_levels.max(MIN_OWN_LEVELS),
                RowKind::Stack => row.num_levels,
                RowKind::Strip => 1,
            };
            let level_height = match row.kind {
                RowKind::Selected if num_levels > MANY_LEVELS => OWN_LEVEL_OF_MANY,
                RowKind::Selected => OWN_LEVEL,
                RowKind::Stack => OTHER_LEVEL,
                RowKind::Strip => STRIP,
            };
            let level_height = (level_height * growth).floor();
            let row_box = RowBox {
                top,
                bars_top: top + MARKS,
                level_height,
                num_levels,
            };
            top = row_box.bars_bottom() + (BELOW * growth * growth).floor();
            row_box
        })
        .collect();
    (boxes, top)
}

/// The bar of a level at a moment; bars that end up to `slack_ns` earlier or begin as much later are
/// hit too, so that the narrowest can be.
pub(super) fn bar_at(row: &Row, level: usize, time: TimeNs, slack_ns: i64) -> Option<&Bar> {
    let after = row
        .bars
        .partition_point(|bar| (bar.level, bar.from) <= (level, time));
    let on_level = |bar: &&Bar| bar.level == level;
    let before = row.bars[..after].last().filter(on_level);
    let next = row.bars.get(after).filter(on_level);
    before
        .filter(|bar| bar.to > time)
        .or_else(|| next.filter(|bar| bar.from.since(time).0 <= slack_ns))
        .or_else(|| before.filter(|bar| time.since(bar.to).0 <= slack_ns))
}

/// Trees of the forest that are abnormal, ran on one of the lanes, and touch the window: all of
/// them, however narrow, in order of row and time.
pub(super) fn abnormal_marks(
    forest: &Forest,
    detection: &Detection,
    lanes: &[LaneIdx],
    window: Window,
) -> Vec<AbnormalMark> {
    let mut row_of_lane = vec![None; forest.trace().lanes.len()];
    for (row, lane) in lanes.iter().enumerate() {
        row_of_lane[lane.index()] = Some(row);
    }
    let mark = |tree: TreeIdx| {
        let row = row_of_lane[forest.trees()[tree.index()].root.lane.index()]?;
        let view = forest.tree(tree);
        let (from, to) = (view.entry()[0], view.exit());
        (from <= window.to && to >= window.from).then_some(AbnormalMark {
            row,
            tree,
            from,
            to,
        })
    };
    let mut marks: Vec<_> = (0..forest.len())
        .map(TreeIdx::from_index)
        .filter(|&tree| detection.is_abnormal(tree))
        .filter_map(mark)
        .collect();
    marks.sort_by_key(|mark| (mark.row, mark.from, mark.tree));
    marks
}

/// Where a stretch of time is drawn: inside `plot`, at least `min_width` wide.
pub(super) fn span(
    window: Window,
    plot: Rangef,
    from: TimeNs,
    to: TimeNs,
    min_width: f32,
) -> Rangef {
    let x = |time| plot.min + (window.share_of(time).clamp(0.0, 1.0) as f32) * plot.span();
    let (left, right) = (x(from), x(to));
    if right - left >= min_width {
        return Rangef::new(left, right);
    }
    let left =
        ((left + right - min_width) / 2.0).clamp(plot.min, (plot.max - min_width).max(plot.min));
    Rangef::new(left, left + min_width)
}

/// The ends of an arrow between two rows: it leaves the sender's row and enters the receiver's on
/// the sides that face each other; within one row it runs below the bars.
pub(super) fn arrow_ends(
    boxes: &[RowBox],
    rows: (usize, usize),
    xs: (f32, f32),
) -> Option<[Pos2; 2]> {
    let (sender, receiver) = (boxes.get(rows.0)?, boxes.get(rows.1)?);
    let (y_sent, y_received) = match rows.0.cmp(&rows.1) {
        std::cmp::Ordering::Less => (sender.bars_bottom(), receiver.bars_top),
        std::cmp::Ordering::Greater => (sender.bars_top, receiver.bars_bottom()),
        std::cmp::Ordering::Equal => (
            sender.bars_bottom() + BELOW / 3.0,
            receiver.bars_bottom() + BELOW / 3.0,
        ),
    };
    Some([Pos2::new(xs.0, y_sent), Pos2::new(xs.1, y_received)])
}

/// The line that is nearest to `point`, at most `radius` away; of equally near ones the first.
pub(super) fn nearest_line(
    lines: impl Iterator<Item = (usize, [Pos2; 2])>,
    point: Pos2,
    radius: f32,
) -> Option<usize> {
    lines
        .map(|(index, line)| (index, distance_to_line(point, line)))
        .filter(|&(_, distance)| distance <= radius)
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(index, _)| index)
}

fn distance_to_line(point: Pos2, [start, end]: [Pos2; 2]) -> f32 {
    let along = end - start;
    let share = if along.length_sq() > 0.0 {
        ((point - start).dot(along) / along.length_sq()).clamp(0.0, 1.0)
    } else {
        0.0
    };
    point.distance(start + along * share)
}

/// As much of a name as fits into `width` where a letter is `letter` wide: all of it, its beginning
/// with an ellipsis, or nothing if that would say too little.
pub(super) fn fitted_name(name: &str, width: f32, letter: f32) -> Option<String> {
    const LEAST_LETTERS: usize = 3;
    let room = (width / letter).max(0.0) as usize;
    let num_letters = name.chars().count();
    match room {
        _ if room >= num_letters => Some(name.to_owned()),
        0..=LEAST_LETTERS => None,
        _ => Some(name.chars().take(room - 1).chain(['…']).collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use callgrove_session::{TimelineQuery, layout_timeline};

    use super::*;
    use crate::test_support::snapshot;

    fn row(kind: RowKind, num_levels: usize) -> Row {
        Row {
            lane: LaneIdx(0),
            kind,
            num_levels,
            bars: Vec::new(),
        }
    }

    fn window(from: i64, to: i64) -> Window {
        Window {
            from: TimeNs(from),
            to: TimeNs(to),
        }
    }

    #[test]
    fn rows_follow_each_other_and_the_own_stack_keeps_its_height() {
        let rows = [
            row(RowKind::Selected, 2),
            row(RowKind::Strip, 1),
            row(RowKind::Stack, 3),
        ];
        let (boxes, height) = row_boxes(&rows, 5, 0.0);
        assert_eq!(
            boxes
                .iter()
                .map(|row_box| row_box.num_levels)
                .collect::<Vec<_>>(),
            [5, 1, 3]
        );
        assert!(
            boxes
                .windows(2)
                .all(|pair| pair[0].bars_bottom() < pair[1].top)
        );
        assert!(boxes[2].bars_bottom() < height);
        assert_eq!(boxes[1].level_at(boxes[1].bars_top + 1.0), Some(0));
        assert_eq!(boxes[1].level_at(boxes[1].bars_bottom() + 1.0), None);
        let (grown, grown_height) = row_boxes(&rows, 5, 1.2 * height);
        assert!(grown[0].level_height > boxes[0].level_height);
        assert!(grown_height <= 1.3 * height, "{grown_height} for {height}");
    }

    #[test]
    fn the_pointer_finds_the_bar_under_it_and_the_narrow_one_beside_it() {
        let demo = snapshot(1, 1);
        let analysis = demo.analysis.as_ref().expect("it is analysed");
        let (from, to) = analysis.forest.trace().time_span().expect("calls");
        let query = TimelineQuery {
            tree: TreeIdx(0),
            from,
            to,
            min_bar_ns: 1,
            expanded: BTreeSet::new(),
            max_lanes: 8,
            max_arrows: 8,
        };
        let row = &layout_timeline(&analysis.forest, &query).rows[0];
        for bar in &row.bars {
            let middle = TimeNs(bar.from.0 + bar.to.since(bar.from).0 / 2);
            assert_eq!(bar_at(row, bar.level, middle, 0), Some(bar));
        }
        let second = row
            .bars
            .iter()
            .find(|bar| bar.level == 1)
            .expect("calls inside");
        let before = TimeNs(second.from.0 - 10);
        assert_eq!(bar_at(row, 1, before, 0), None);
        assert_eq!(bar_at(row, 1, before, 10), Some(second));
        assert_eq!(bar_at(row, 7, before, 10), None);
    }

    #[test]
    fn every_abnormal_execution_that_touches_the_window_has_a_mark() {
        let demo = snapshot(3, 40);
        let (analysis, detection) = (
            demo.analysis.expect("analysed"),
            demo.detection.expect("trained"),
        );
        let (from, to) = analysis.forest.trace().time_span().expect("calls");
        let lanes = [LaneIdx(2), LaneIdx(0)];
        let length_ns = to.since(from).0;
        for num_parts in [1, 7, 100, 3_000] {
            for part in 0..num_parts {
                let window = window(
                    from.0 + length_ns * part / num_parts,
                    from.0 + length_ns * (part + 1) / num_parts,
                );
                let marks = abnormal_marks(&analysis.forest, &detection, &lanes, window);
                for tree in (0..analysis.forest.len()).map(TreeIdx::from_index) {
                    let view = analysis.forest.tree(tree);
                    let row = lanes
                        .iter()
                        .position(|&lane| lane == analysis.forest.trees()[tree.index()].root.lane);
                    let is_flagged = detection.is_abnormal(tree)
                        && view.entry()[0] <= window.to
                        && view.exit() >= window.from;
                    let found: Vec<_> = marks
                        .iter()
                        .filter(|mark| mark.tree == tree)
                        .map(|mark| mark.row)
                        .collect();
                    assert_eq!(
                        found,
                        row.filter(|_| is_flagged).into_iter().collect::<Vec<_>>()
                    );
                }
            }
        }
    }

    #[test]
    fn a_mark_is_wide_enough_and_inside_wherever_its_tree_lies() {
        let plot = Rangef::new(100.0, 900.0);
        let everything = window(0, 1_000_000_000);
        for from in [0, 1, 500_000_000, 999_999_999, 1_000_000_000] {
            let mark = span(
                everything,
                plot,
                TimeNs(from),
                TimeNs(from + 1),
                MIN_MARK_WIDTH,
            );
            assert!(mark.span() >= MIN_MARK_WIDTH - 1e-3, "{mark:?}");
            assert!(mark.min >= plot.min && mark.max <= plot.max, "{mark:?}");
        }
        let wide = span(
            everything,
            plot,
            TimeNs(-5),
            TimeNs(500_000_000),
            MIN_MARK_WIDTH,
        );
        assert_eq!(wide, Rangef::new(100.0, 500.0));
    }

    #[test]
    fn arrows_join_the_sides_of_rows_that_face_each_other() {
        let rows = [row(RowKind::Selected, 1), row(RowKind::Strip, 1)];
        let (boxes, _) = row_boxes(&rows, 1, 0.0);
        let ys =
            |from, to| arrow_ends(&boxes, (from, to), (1.0, 2.0)).map(|ends| ends.map(|end| end.y));
        assert_eq!(ys(0, 1), Some([boxes[0].bars_bottom(), boxes[1].bars_top]));
        assert_eq!(ys(1, 0), Some([boxes[1].bars_top, boxes[0].bars_bottom()]));
        assert_eq!(ys(0, 9), None);
    }

    #[test]
    fn the_pointer_finds_the_nearest_arrow() {
        let line = |x: f32| [Pos2::new(x, 0.0), Pos2::new(x, 100.0)];
        let lines = || [(4, line(10.0)), (5, line(14.0))].into_iter();
        assert_eq!(nearest_line(lines(), Pos2::new(13.0, 50.0), 4.0), Some(5));
        assert_eq!(nearest_line(lines(), Pos2::new(30.0, 50.0), 4.0), None);
        assert_eq!(nearest_line(lines(), Pos2::new(10.0, 103.0), 4.0), Some(4));
    }

    #[test]
    fn names_are_cut_to_what_fits() {
        assert_eq!(
            fitted_name("MPI_Send", 80.0, 8.0).as_deref(),
            Some("MPI_Send")
        );
        assert_eq!(
            fitted_name("MPI_Send", 48.0, 8.0).as_deref(),
            Some("MPI_S…")
        );
        assert_eq!(fitted_name("MPI_Send", 20.0, 8.0), None);
        assert_eq!(fitted_name("run", 24.0, 8.0).as_deref(), Some("run"));
    }
}
