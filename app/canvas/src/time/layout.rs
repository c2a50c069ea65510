//! Geometry of rows, bars, arrows and marks; independent of the screen.

use std::ops::Range;

use callgrove_model::{DurationNs, LaneIdx, TimeNs};
use callgrove_session::{Bar, LaneRow, MergedSpan, RowKind, Span, SpanIndex, merge_spans};
use egui::{Pos2, Rangef};

use super::window::Window;

/// Height of a level of the selected tree's stack, in points.
const OWN_LEVEL: f32 = 18.0;
/// Height of such a level if the stack has more than [`MANY_LEVELS`], in points.
const OWN_LEVEL_OF_MANY: f32 = 14.0;
/// Number of levels above which [`OWN_LEVEL_OF_MANY`] applies.
const MANY_LEVELS: usize = 12;
/// Minimum number of levels of the selected tree's stack.
const MIN_OWN_LEVELS: usize = 3;
/// Height of a level of another lane's stack, in points.
const OTHER_LEVEL: f32 = 14.0;
/// Height of a strip, in points.
const STRIP: f32 = 18.0;
/// Height of the strip of a rank unrelated to the selection, in points.
const FOLDED_STRIP: f32 = 13.0;
/// Height above the bars of a row for the marks of abnormal executions, in points.
const MARKS: f32 = 8.0;
/// The same height on the row of an unrelated rank.
const FOLDED_MARKS: f32 = 5.0;
/// Height below a row, in which arrows between rows are visible, in points.
const BELOW: f32 = 10.0;
/// The same height below the row of an unrelated rank.
const FOLDED_BELOW: f32 = 2.0;
/// Minimum width of a mark, in points.
pub(crate) const MIN_MARK_WIDTH: f32 = 3.0;

/// A row and its position, in points from the top of the first row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlacedRow {
    /// The lane, and why it has a row.
    pub lane: LaneRow,
    /// Content of the row.
    pub kind: RowKind,
    pub(crate) num_levels: usize,
    /// Top of the marks.
    pub(crate) top: f32,
    /// Top of the bars.
    pub bars_top: f32,
    pub(crate) level_height: f32,
    /// Top of the next row.
    pub bottom: f32,
}

/// Flagged spans as drawn on a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlagMark {
    pub(crate) row: usize,
    pub(crate) x: Rangef,
    /// The spans that it covers.
    pub spans: MergedSpan,
}

impl PlacedRow {
    pub(crate) fn bars_bottom(&self) -> f32 {
        self.bars_top + self.level_height * self.num_levels as f32
    }

    /// Returns the level at a height; `None` above and below the bars.
    pub(crate) fn level_at(&self, y: f32) -> Option<usize> {
        let level = (y - self.bars_top) / self.level_height;
        (level >= 0.0 && level < self.num_levels as f32).then_some(level as usize)
    }
}

/// Places rows below each other and returns them with their total height. A tree has at least [`MIN_OWN_LEVELS`]. Rows
/// of unrelated ranks are lower.
pub(crate) fn place_rows(
    rows: impl Iterator<Item = (LaneRow, RowKind, usize)>,
) -> (Vec<PlacedRow>, f32) {
    let mut top = 0.0;
    let place = |(lane, kind, num_levels): (LaneRow, RowKind, usize)| {
        let is_folded = !lane.is_relevant && kind == RowKind::Strip;
        let num_levels = match kind {
            RowKind::Tree(_) => num_levels.max(MIN_OWN_LEVELS),
            RowKind::Stack | RowKind::Strip => num_levels,
        };
        let level_height = match kind {
            RowKind::Tree(_) if num_levels > MANY_LEVELS => OWN_LEVEL_OF_MANY,
            RowKind::Tree(_) => OWN_LEVEL,
            RowKind::Stack => OTHER_LEVEL,
            RowKind::Strip if is_folded => FOLDED_STRIP,
            RowKind::Strip => STRIP,
        };
        let (marks, below) = if is_folded {
            (FOLDED_MARKS, FOLDED_BELOW)
        } else {
            (MARKS, BELOW)
        };
        let mut row = PlacedRow {
            lane,
            kind,
            num_levels,
            top,
            bars_top: top + marks,
            level_height,
            bottom: 0.0,
        };
        row.bottom = row.bars_bottom() + below;
        top = row.bottom;
        row
    };
    let rows: Vec<PlacedRow> = rows.map(place).collect();
    (rows, top)
}

/// Returns the rows that are at least partly between two heights.
pub(crate) fn rows_between(rows: &[PlacedRow], heights: Rangef) -> Range<usize> {
    rows.partition_point(|row| row.bottom <= heights.min)
        ..rows.partition_point(|row| row.top < heights.max)
}

/// Returns the bar of a level at a time. Bars that end up to `slack_ns` earlier or begin up to `slack_ns` later count
/// too, so that the narrowest bars can be hit.
pub(crate) fn bar_at(bars: &[Bar], level: usize, time: TimeNs, slack_ns: i64) -> Option<&Bar> {
    let after = bars.partition_point(|bar| (bar.level, bar.from) <= (level, time));
    let on_level = |bar: &&Bar| bar.level == level;
    let before = bars[..after].last().filter(on_level);
    let next = bars.get(after).filter(on_level);
    before
        .filter(|bar| bar.to > time)
        .or_else(|| next.filter(|bar| bar.from.since(time).0 <= slack_ns))
        .or_else(|| before.filter(|bar| time.since(bar.to).0 <= slack_ns))
}

/// Returns the bars of a level that are at least partly in a window.
pub(crate) fn bars_between(bars: &[Bar], level: usize, window: Window) -> &[Bar] {
    let start = bars.partition_point(|bar| (bar.level, bar.to) < (level, window.from));
    let end = bars.partition_point(|bar| (bar.level, bar.from) <= (level, window.to));
    &bars[start..end]
}

/// Returns the marks of all spans of a lane that touch the window: each is at least [`MIN_MARK_WIDTH`] wide, and
/// overlapping ones are merged.
pub(crate) fn marks_of_row(
    spans: &SpanIndex,
    (row, lane): (usize, LaneIdx),
    window: Window,
    plot: Rangef,
) -> Vec<FlagMark> {
    let spans = spans.touching(lane, window.from, window.to).copied();
    merged_marks(spans, row, window, plot)
}

/// Returns the same marks for any spans of one lane, in order of start.
pub(crate) fn merged_marks(
    spans: impl Iterator<Item = Span>,
    row: usize,
    window: Window,
    plot: Rangef,
) -> Vec<FlagMark> {
    let pixel_ns = window.length_ns() as f64 / f64::from(plot.span().max(1.0));
    let gap = DurationNs((pixel_ns * f64::from(MIN_MARK_WIDTH)) as i64);
    merge_spans(spans, gap)
        .into_iter()
        .map(|spans| FlagMark {
            row,
            x: span(window, plot, spans.from, spans.to, MIN_MARK_WIDTH),
            spans,
        })
        .collect()
}

/// Returns the horizontal range of a time range: inside `plot`, at least `min_width` wide.
pub fn span(window: Window, plot: Rangef, from: TimeNs, to: TimeNs, min_width: f32) -> Rangef {
    let x = |time| plot.min + (window.share_of(time).clamp(0.0, 1.0) as f32) * plot.span();
    let (left, right) = (x(from), x(to));
    if right - left >= min_width {
        return Rangef::new(left, right);
    }
    let left =
        ((left + right - min_width) / 2.0).clamp(plot.min, (plot.max - min_width).max(plot.min));
    Rangef::new(left, left + min_width)
}

/// Returns the ends of an arrow between two rows: it leaves the sender's row and enters the receiver's row on the sides
/// that face each other; within one row it runs below the bars.
pub(crate) fn arrow_ends(
    rows: &[PlacedRow],
    ends: (usize, usize),
    xs: (f32, f32),
) -> Option<[Pos2; 2]> {
    let (sender, receiver) = (rows.get(ends.0)?, rows.get(ends.1)?);
    let (y_sent, y_received) = match ends.0.cmp(&ends.1) {
        std::cmp::Ordering::Less => (sender.bars_bottom(), receiver.bars_top),
        std::cmp::Ordering::Greater => (sender.bars_top, receiver.bars_bottom()),
        std::cmp::Ordering::Equal => (
            sender.bars_bottom() + BELOW / 3.0,
            receiver.bars_bottom() + BELOW / 3.0,
        ),
    };
    Some([Pos2::new(xs.0, y_sent), Pos2::new(xs.1, y_received)])
}

/// Returns the line closest to `point`, at most `radius` away; the first of equally close ones.
pub(crate) fn nearest_line(
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

/// Returns as much of a name as fits into `width`, where a letter is `letter` wide: the whole name, its beginning with
/// an ellipsis, or `None` if fewer than `MIN_LETTERS` would remain.
pub(crate) fn fitted_name(name: &str, width: f32, letter: f32) -> Option<String> {
    const MIN_LETTERS: usize = 3;
    let max_letters = (width / letter).max(0.0) as usize;
    let num_letters = name.chars().count();
    match max_letters {
        _ if max_letters >= num_letters => Some(name.to_owned()),
        0..=MIN_LETTERS => None,
        _ => Some(name.chars().take(max_letters - 1).chain(['…']).collect()),
    }
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::snapshot;
    use callgrove_session::{Tile, layout_lane};

    use super::*;

    fn lane_row(lane: u32, is_relevant: bool) -> LaneRow {
        LaneRow {
            lane: LaneIdx(lane),
            is_relevant,
            is_pinned: false,
            is_first: true,
        }
    }

    fn rows() -> Vec<PlacedRow> {
        let kinds = [
            (
                lane_row(0, true),
                RowKind::Tree(callgrove_model::ExecIdx(0)),
                5,
            ),
            (lane_row(1, true), RowKind::Strip, 1),
            (lane_row(2, false), RowKind::Stack, 3),
            (lane_row(3, false), RowKind::Strip, 1),
        ];
        place_rows(kinds.into_iter()).0
    }

    fn window(from: i64, to: i64) -> Window {
        Window {
            from: TimeNs(from),
            to: TimeNs(to),
        }
    }

    #[test]
    fn rows_follow_each_other_and_those_in_view_are_found() {
        let rows = rows();
        let levels: Vec<_> = rows.iter().map(|row| row.num_levels).collect();
        assert_eq!(levels, [5, 1, 3, 1]);
        assert!(
            rows.windows(2)
                .all(|pair| pair[0].bars_bottom() < pair[1].top)
        );
        assert_eq!(rows[1].level_at(rows[1].bars_top + 1.0), Some(0));
        assert_eq!(rows[1].level_at(rows[1].bars_bottom() + 1.0), None);
        let between = |from: f32, to: f32| rows_between(&rows, Rangef::new(from, to));
        assert_eq!(between(0.0, 1e4), 0..4);
        assert_eq!(between(rows[1].top + 1.0, rows[2].top + 1.0), 1..3);
        assert_eq!(between(0.0, rows[1].top), 0..1);
    }

    #[test]
    fn the_pointer_hits_the_bar_under_it_and_a_narrow_one_next_to_it() {
        let demo = snapshot(1, 1);
        let trace = demo.trace().expect("it is read");
        let (from, to) = trace.time_span().expect("calls");
        let tile = Tile {
            from,
            to,
            min_bar_ns: 1,
        };
        let bars = layout_lane(trace, LaneIdx(0), RowKind::Stack, tile);
        for bar in &bars {
            let middle = TimeNs(bar.from.0 + bar.to.since(bar.from).0 / 2);
            assert_eq!(bar_at(&bars, bar.level, middle, 0), Some(bar));
        }
        let second = bars
            .iter()
            .find(|bar| bar.level == 1)
            .expect("calls inside");
        let before = TimeNs(second.from.0 - 10);
        assert_eq!(bar_at(&bars, 1, before, 0), None);
        assert_eq!(bar_at(&bars, 1, before, 10), Some(second));
        assert_eq!(bar_at(&bars, 7, before, 10), None);
        for level in 0..8 {
            let part = window(second.from.0 + 1, second.to.0 + 5);
            let by_look_at_all: Vec<Bar> = bars
                .iter()
                .filter(|bar| bar.level == level && bar.to >= part.from && bar.from <= part.to)
                .copied()
                .collect();
            assert_eq!(bars_between(&bars, level, part), by_look_at_all);
        }
    }

    #[test]
    fn every_abnormal_execution_is_seen_at_every_zoom() {
        let demo = snapshot(3, 40);
        let (analysis, detection) = (
            demo.analysis().expect("analysed"),
            demo.detection().expect("trained"),
        );
        let trace = analysis.forest.trace();
        let (from, to) = trace.time_span().expect("calls");
        let flagged = SpanIndex::of_trees(&analysis.forest, |tree| detection.is_abnormal(tree));
        assert_eq!(flagged.all().len(), detection.num_abnormal);
        let plot = Rangef::new(100.0, 900.0);
        let length_ns = to.since(from).0;
        for num_parts in [1, 7, 100, 3_000] {
            for part in 0..num_parts {
                let window = window(
                    from.0 + length_ns * part / num_parts,
                    from.0 + length_ns * (part + 1) / num_parts,
                );
                for flag in flagged.all() {
                    let marks = marks_of_row(&flagged, (0, flag.exec.lane), window, plot);
                    assert!(marks.iter().all(|mark| plot.contains(mark.x.min)
                        && plot.contains(mark.x.max)
                        && mark.x.span() >= MIN_MARK_WIDTH - 1e-3));
                    if flag.from > window.to || flag.to < window.from {
                        continue;
                    }
                    let own = span(window, plot, flag.from, flag.to, 0.0);
                    let is_covered = |mark: &FlagMark| {
                        mark.x.min <= own.min + 2.0 * MIN_MARK_WIDTH
                            && mark.x.max >= own.max - 2.0 * MIN_MARK_WIDTH
                            && (mark.spans.from..=mark.spans.to).contains(&flag.from)
                    };
                    assert!(marks.iter().any(is_covered), "{flag:?} in {window:?}");
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
        let rows = rows();
        let ys =
            |from, to| arrow_ends(&rows, (from, to), (1.0, 2.0)).map(|ends| ends.map(|end| end.y));
        assert_eq!(ys(0, 1), Some([rows[0].bars_bottom(), rows[1].bars_top]));
        assert_eq!(ys(1, 0), Some([rows[1].bars_top, rows[0].bars_bottom()]));
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
