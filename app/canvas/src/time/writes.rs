//! Intervals in which the tracer wrote its own data: hatched, so that they need no colour of their own.

use callgrove_model::{DurationNs, LaneIdx, Trace, TracerWrite, thousands};
use callgrove_widgets::theme::Theme;
use egui::{Painter, Pos2, Rangef, Rect, Sense, Stroke, Ui, Vec2};

use super::layout::{PlacedRow, span};
use super::paint::LaneDrawing;
use super::window::Window;

/// Minimum width of a write, in points; writes closer to each other than this are drawn as one.
const MIN_WIDTH: f32 = 1.5;
/// Distance between the lines of the hatching, in points.
const HATCH: f32 = 5.0;
/// Largest distance from the pointer to a narrow write that it hits, in points.
const HIT_RADIUS: f32 = 2.0;

/// Writes of a lane that are drawn as one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct WriteMark {
    x: Rangef,
    num_writes: usize,
    /// Their total duration.
    written: DurationNs,
}

impl WriteMark {
    /// Returns its description.
    pub(super) fn text(&self) -> String {
        match self.num_writes {
            1 => format!("The tracer wrote its own data here: {}", self.written),
            num => format!(
                "The tracer wrote its own data here {} times: {}",
                thousands(num),
                self.written
            ),
        }
    }
}

/// Returns the writes of a lane that touch the window, as drawn between the ends of `plot`.
fn marks_of_lane(trace: &Trace, lane: LaneIdx, window: Window, plot: Rangef) -> Vec<WriteMark> {
    let writes = trace.writes_on(lane);
    let first = writes.partition_point(|write| write.end < window.from);
    let end = writes.partition_point(|write| write.start <= window.to);
    let mut marks: Vec<WriteMark> = Vec::new();
    for write in writes.get(first..end).unwrap_or_default() {
        let x = span(window, plot, write.start, write.end, MIN_WIDTH);
        match marks.last_mut() {
            Some(last) if x.min - last.x.max < MIN_WIDTH => {
                last.x.max = last.x.max.max(x.max);
                last.num_writes += 1;
                last.written += write.duration();
            }
            _ => marks.push(WriteMark {
                x,
                num_writes: 1,
                written: write.duration(),
            }),
        }
    }
    marks
}

impl LaneDrawing<'_> {
    /// Hatches the writes on the rows in view.
    pub(super) fn paint_writes(&self) {
        for (_, row) in self.rows() {
            for mark in self.writes_of(row) {
                let heights = Rangef::new(row.bars_top, row.bars_bottom());
                let rect = Rect::from_x_y_ranges(mark.x, heights);
                let rect = rect.translate(Vec2::new(0.0, self.plot.top()));
                hatch(self.painter, rect, self.shown.theme);
            }
        }
    }

    /// Returns the writes under the pointer.
    pub(super) fn write_at(&self, pointer: Pos2) -> Option<WriteMark> {
        let y = pointer.y - self.plot.top();
        let mut rows = self.rows().map(|(_, row)| row);
        let row = rows.find(|row| (row.bars_top..row.bars_bottom()).contains(&y))?;
        let is_near = |mark: &WriteMark| mark.x.expand(HIT_RADIUS).contains(pointer.x);
        self.writes_of(row).into_iter().find(is_near)
    }

    fn writes_of(&self, row: &PlacedRow) -> Vec<WriteMark> {
        marks_of_lane(
            self.canvas.trace(),
            row.lane.lane,
            self.canvas.view.window(),
            self.plot.x_range(),
        )
    }
}

/// Draws lines that rise to the right; the content below stays visible between them.
pub(super) fn hatch(painter: &Painter, rect: Rect, theme: &Theme) {
    let painter = painter.with_clip_rect(rect.intersect(painter.clip_rect()));
    let rect = rect.intersect(painter.clip_rect().expand(HATCH));
    if !rect.is_positive() {
        return;
    }
    painter.rect_filled(rect, 0.0, theme.canvas().gamma_multiply(0.6));
    let stroke = Stroke::new(1.5, theme.text());
    let (height, num_lines) = (rect.height(), (rect.width() + rect.height()) / HATCH);
    for line in 0..=num_lines as usize {
        let x = rect.left() + line as f32 * HATCH;
        let ends = [
            Pos2::new(x - height, rect.bottom()),
            Pos2::new(x, rect.top()),
        ];
        painter.line_segment(ends, stroke);
    }
}

/// Draws the legend of the hatching, if the trace has any writes.
pub fn write_legend_ui(trace: &Trace, theme: &Theme, ui: &mut Ui) {
    if trace.writes.is_empty() {
        return;
    }
    let written: DurationNs = trace.writes.iter().map(TracerWrite::duration).sum();
    let text = format!(
        "Hatched: the tracer wrote its own data, and the rank stalled. {} times, {written} in all. Ranks \
         on the same host, and those that waited for it, may have been slow too.",
        thousands(trace.writes.len()),
    );
    ui.weak("trace write").on_hover_text(text);
    let (swatch, _) = ui.allocate_exact_size(Vec2::new(16.0, 11.0), Sense::hover());
    hatch(ui.painter(), swatch, theme);
}

#[cfg(test)]
mod tests {
    use callgrove_model::TimeNs;

    use super::*;

    #[test]
    fn writes_are_found_by_time_and_merged_where_they_overlap() {
        let write = |lane, start, end| TracerWrite {
            lane: LaneIdx(lane),
            start: TimeNs(start),
            end: TimeNs(end),
        };
        let writes = vec![
            write(0, 10, 20),
            write(1, 5, 15),
            write(1, 400, 500),
            write(1, 501, 502),
            write(1, 990, 995),
        ];
        let trace = Trace {
            writes,
            ..Trace::default()
        };
        let marks = |from, to| {
            let (from, to) = (TimeNs(from), TimeNs(to));
            marks_of_lane(
                &trace,
                LaneIdx(1),
                Window { from, to },
                Rangef::new(0.0, 100.0),
            )
        };
        let shown = |marks: Vec<WriteMark>| -> Vec<_> {
            marks
                .iter()
                .map(|mark| (mark.num_writes, mark.written.0))
                .collect()
        };
        assert_eq!(shown(marks(0, 1000)), [(1, 10), (2, 101), (1, 5)]);
        assert_eq!(shown(marks(480, 520)), [(1, 100), (1, 1)]);
        assert_eq!(shown(marks(16, 390)), []);
        assert_eq!(
            marks(0, 1000)[1].text(),
            "The tracer wrote its own data here 2 times: 101 ns"
        );
    }
}
