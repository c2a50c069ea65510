//! Lines under selected calls.

use callgrove_session::Span;
use egui::{Color32, Rect};

use super::layout::{PlacedRow, merged_marks};
use super::paint::LaneDrawing;
use super::scene::UnderlinedCalls;

impl LaneDrawing<'_> {
    /// Paints lines under calls of a search or a histogram, and under occurrences of a pattern, however narrow they
    /// are.
    pub(super) fn paint_highlights(&self) {
        let window = self.canvas.view.window();
        for UnderlinedCalls { calls, color } in self.shown.highlights {
            for (at, row) in self.rows() {
                let picked = calls.touching(row.lane.lane, window.from, window.to);
                self.underline((at, row), picked, *color);
            }
        }
        for (at, row) in self.rows() {
            let occurrences = self.canvas.occurrences(row.lane.lane).iter();
            let touching = occurrences.filter(|it| it.from <= window.to && it.to >= window.from);
            self.underline((at, row), touching, self.shown.theme.abnormal());
        }
    }

    fn underline<'s>(
        &self,
        (at, row): (usize, &PlacedRow),
        spans: impl Iterator<Item = &'s Span>,
        color: Color32,
    ) {
        let y = self.plot.top() + row.bars_bottom();
        let window = self.canvas.view.window();
        for mark in merged_marks(spans.copied(), at, window, self.plot.x_range()) {
            let rect = Rect::from_x_y_ranges(mark.x, y - 3.0..=y);
            self.painter.rect_filled(rect, 0.0, color);
        }
    }
}
