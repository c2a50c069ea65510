//! The lines of the list and their positions; independent of the screen.

use std::collections::BTreeSet;
use std::ops::Range;

use callgrove_model::TreeIdx;
use egui::Rangef;

/// Height of a line of an execution, in points.
pub(super) const HIT_HEIGHT: f32 = 22.0;
/// Space below a card, and below the last line of an unfolded one.
const GAP: f32 = 4.0;

/// A line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListLine {
    /// A trend.
    Trend(usize),
    /// An incident.
    Card(usize),
    /// An execution that the incident delayed.
    Hit(usize, TreeIdx),
    /// The number of other calls that it delayed, if known.
    Others(usize, Option<usize>),
}

impl ListLine {
    /// Returns the incident of the line; trends come before all incidents.
    fn incident(&self) -> Option<usize> {
        match *self {
            Self::Trend(_) => None,
            Self::Card(number) | Self::Hit(number, _) | Self::Others(number, _) => Some(number),
        }
    }
}

/// All lines, from the top.
#[derive(Default, Debug)]
pub(super) struct ListLines {
    lines: Vec<ListLine>,
    /// Top of each line, then the end of the last.
    tops: Vec<f32>,
}

impl ListLines {
    /// Lays out the lines of trends, given their heights, then of `num_incidents` cards with the lines of the unfolded
    /// ones below them.
    pub(super) fn new(
        trends: &[f32],
        num_incidents: usize,
        unfolded: &BTreeSet<usize>,
        height: impl Fn(usize) -> f32,
        hits: impl Fn(usize) -> (Vec<TreeIdx>, Option<usize>),
    ) -> Self {
        let mut made = Self {
            lines: Vec::with_capacity(trends.len() + num_incidents),
            tops: vec![0.0],
        };
        for (number, height) in trends.iter().enumerate() {
            made.push(ListLine::Trend(number), height + GAP);
        }
        for number in 0..num_incidents {
            made.push(ListLine::Card(number), height(number) + GAP);
            if unfolded.contains(&number) {
                let (trees, num_others) = hits(number);
                for tree in trees {
                    made.push(ListLine::Hit(number, tree), HIT_HEIGHT);
                }
                made.push(ListLine::Others(number, num_others), HIT_HEIGHT + GAP);
            }
        }
        made
    }

    fn push(&mut self, line: ListLine, height: f32) {
        self.lines.push(line);
        self.tops.push(self.height() + height);
    }

    /// Returns the total height.
    pub(super) fn height(&self) -> f32 {
        self.tops.last().copied().unwrap_or(0.0)
    }

    /// Returns the line at an index.
    pub(super) fn line(&self, at: usize) -> ListLine {
        self.lines[at]
    }

    /// Returns the span from its top to its bottom, without the gap below it.
    pub(super) fn span(&self, at: usize) -> Rangef {
        let below = match self.lines[at] {
            ListLine::Hit(..) => 0.0,
            ListLine::Trend(_) | ListLine::Card(_) | ListLine::Others(..) => GAP,
        };
        Rangef::new(self.tops[at], self.tops[at + 1] - below)
    }

    /// Returns the lines that are at least partly between two heights.
    pub(super) fn between(&self, heights: Rangef) -> Range<usize> {
        let num_lines = self.lines.len();
        let first = self.tops.partition_point(|&top| top <= heights.min);
        let end = self.tops[..num_lines].partition_point(|&top| top < heights.max);
        first.saturating_sub(1).min(end)..end
    }

    /// Returns the index of the card of an incident.
    pub(super) fn place_of(&self, number: usize) -> Option<usize> {
        let at = self
            .lines
            .partition_point(|line| line.incident() < Some(number));
        (self.lines.get(at) == Some(&ListLine::Card(number))).then_some(at)
    }

    /// Returns the index of the line of a trend.
    pub(super) fn line_of_trend(&self, number: usize) -> Option<usize> {
        (self.lines.get(number) == Some(&ListLine::Trend(number))).then_some(number)
    }

    /// Returns the index of the last line of an incident.
    pub(super) fn end_of(&self, number: usize) -> usize {
        let after = self
            .lines
            .partition_point(|line| line.incident() <= Some(number));
        after.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_follow_each_other_and_those_in_view_are_found() {
        let hits = |number: usize| (vec![TreeIdx(3); number], Some(7));
        let lines = ListLines::new(&[50.0], 4, &[1, 2].into(), |_| 80.0, hits);
        let kinds: Vec<ListLine> = (0..lines.lines.len()).map(|at| lines.line(at)).collect();
        let hit = |number| ListLine::Hit(number, TreeIdx(3));
        assert_eq!(
            kinds,
            [
                ListLine::Trend(0),
                ListLine::Card(0),
                ListLine::Card(1),
                hit(1),
                ListLine::Others(1, Some(7)),
                ListLine::Card(2),
                hit(2),
                hit(2),
                ListLine::Others(2, Some(7)),
                ListLine::Card(3),
            ]
        );
        for at in 1..kinds.len() {
            assert!(lines.span(at - 1).max <= lines.span(at).min);
        }
        let all = Rangef::new(-10.0, 1e4);
        assert_eq!(lines.between(all), 0..10);
        let second = lines.span(1);
        let inside = Rangef::new(second.min + 1.0, second.max - 1.0);
        assert_eq!(lines.between(inside), 1..2);
        assert_eq!(
            lines.between(Rangef::new(second.min, second.min + 1.0)),
            1..2
        );
        assert_eq!((lines.place_of(2), lines.end_of(2)), (Some(5), 8));
        assert_eq!(lines.place_of(4), None);
        assert_eq!(
            (lines.line_of_trend(0), lines.line_of_trend(1)),
            (Some(0), None)
        );
    }

    #[test]
    fn ten_thousand_incidents_need_only_those_in_view() {
        let lines = ListLines::new(
            &[],
            10_000,
            &BTreeSet::new(),
            |_| 80.0,
            |_| (Vec::new(), None),
        );
        let seen = lines.between(Rangef::new(400_000.0, 400_500.0));
        assert!(seen.len() <= 8 && seen.start > 4_000, "{seen:?}");
        assert_eq!(ListLines::default().between(Rangef::new(0.0, 9.0)), 0..0);
    }
}
