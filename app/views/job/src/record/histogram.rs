//! The detector's histogram, with the position of the execution.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::points::Axis;
use callgrove_watch::ExecutionDocument;
use callgrove_watch::document::RecordHistogram;
use callgrove_widgets::text::{duration, number};
use egui::{Align2, FontId, Pos2, Rect, Role, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo};

/// Height of the histogram, in points.
const HEIGHT: f32 = 130.0;
/// Height of the labels below, in points.
const BOTTOM: f32 = 18.0;

/// The positions of bins, as fractions of width and height.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct BinLayout {
    /// The time axis, logarithmic if it spans more than a factor of 50.
    axis: Axis,
    /// The bins with executions: index, then left, right and height, each 0 to 1.
    bins: Vec<(usize, [f32; 3])>,
}

impl BinLayout {
    /// Lays out the bins and includes `time_us` in the axis. Heights are logarithmic, so that a bin of one execution is
    /// visible next to one of a million.
    pub(crate) fn new(histogram: &RecordHistogram, time_us: Option<f64>) -> Self {
        let positive = |value: f64| value.max(0.5);
        let times = || histogram.edges.iter().copied().chain(time_us);
        let largest = times().fold(0.0, f64::max);
        let smallest = times().map(positive).fold(f64::INFINITY, f64::min);
        let is_log = largest / smallest > 50.0;
        let axis = if is_log {
            Axis::around(times().map(positive), true)
        } else {
            Axis::around(times(), false)
        };
        let most = histogram.counts.iter().copied().fold(1.0, f64::max);
        let bins = histogram
            .counts
            .iter()
            .zip(histogram.edges.windows(2))
            .enumerate()
            .filter(|(_, (count, _))| **count > 0.0)
            .map(|(at, (count, edges))| {
                let place = |edge: f64| {
                    let edge = if is_log { positive(edge) } else { edge };
                    axis.share_of(edge) as f32
                };
                let height = (count.ln_1p() / most.ln_1p()) as f32;
                (at, [place(edges[0]), place(edges[1]), height])
            })
            .collect();
        Self { axis, bins }
    }
}

/// Draws the histogram and the position of the execution.
pub(super) fn histogram_ui(
    ctx: &ViewContext<'_>,
    histogram: &RecordHistogram,
    document: &ExecutionDocument,
    ui: &mut Ui,
) {
    let time_us = document.runtime_exclusive_us;
    let layout = BinLayout::new(histogram, time_us);
    let size = Vec2::new(ui.available_width(), HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let plot = rect.with_max_y(rect.bottom() - BOTTOM);
    let summary = summary(histogram, time_us);
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &summary));
    let painter = ui.painter_at(rect);
    painter.rect_filled(plot, 0.0, ctx.theme.canvas());
    let own_bin = time_us.and_then(|time_us| histogram.bin_of(time_us));
    let mut hovered = None;
    for &(bin, [left, right, height]) in &layout.bins {
        let left = plot.left() + plot.width() * left;
        let right = (plot.left() + plot.width() * right).max(left + 1.0);
        let top = plot.bottom() - (plot.height() - 4.0) * height;
        let place = Rect::from_min_max(Pos2::new(left, top), Pos2::new(right, plot.bottom()));
        let color = if own_bin == Some(bin) {
            ctx.theme.abnormal()
        } else {
            ctx.theme.normal()
        };
        painter.rect_filled(place, 0.0, color);
        let is_hovered = response
            .hover_pos()
            .is_some_and(|pointer| (left..right).contains(&pointer.x));
        if is_hovered {
            hovered = Some(bin);
        }
    }
    let font = FontId::proportional(11.5);
    for value in layout.axis.ticks(4) {
        let x = plot.left() + plot.width() * layout.axis.share_of(value) as f32;
        let at = Pos2::new(x, plot.bottom() + 2.0);
        painter.text(
            at,
            Align2::CENTER_TOP,
            duration(value),
            font.clone(),
            ctx.theme.weak_text(),
        );
    }
    if let Some(time_us) = time_us {
        let x = plot.left() + plot.width() * layout.axis.share_of(time_us.max(0.5)) as f32;
        let stroke = Stroke::new(1.5, ctx.theme.abnormal());
        painter.vline(x, plot.y_range(), stroke);
        let tip = Pos2::new(x, plot.top() + 8.0);
        let corners = vec![tip, tip + Vec2::new(-5.0, -8.0), tip + Vec2::new(5.0, -8.0)];
        painter.add(Shape::convex_polygon(
            corners,
            ctx.theme.abnormal(),
            Stroke::NONE,
        ));
    }
    ui.label(summary);
    if let Some(threshold) = histogram.threshold {
        ui.weak(format!("Threshold on scores: {}", number(threshold)));
    }
    if let Some(bin) = hovered {
        let text = format!(
            "{} executions took {} to {}",
            number(histogram.counts[bin]),
            duration(histogram.edges[bin].max(0.0)),
            duration(histogram.edges[bin + 1])
        );
        response.on_hover_text(text);
    }
}

/// Returns the position of the execution among all, as a sentence.
fn summary(histogram: &RecordHistogram, time_us: Option<f64>) -> String {
    let total: f64 = histogram.counts.iter().sum();
    let Some(time_us) = time_us else {
        return format!("{} executions", number(total));
    };
    match histogram.bin_of(time_us) {
        None => format!(
            "{} is outside all {} executions",
            duration(time_us),
            number(total)
        ),
        Some(bin) => format!(
            "{} is in a bin of {} out of {} executions; {} took longer",
            duration(time_us),
            number(histogram.counts[bin]),
            number(total),
            number(histogram.num_longer(time_us))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(edges: &[f64], counts: &[f64]) -> RecordHistogram {
        RecordHistogram {
            counts: counts.to_vec(),
            edges: edges.to_vec(),
            threshold: None,
        }
    }

    #[test]
    fn bins_and_the_execution_are_on_the_axis() {
        for (edges, time_us) in [
            (&[-0.5, 0.5, 1.5, 9.5][..], 3.0),
            (&[-0.5, 9.5, 99.5, 9_999.5][..], 1e6),
        ] {
            let layout = BinLayout::new(&histogram(edges, &[5.0, 0.0, 1e6]), Some(time_us));
            assert_eq!(layout.bins.len(), 2, "empty bins are not drawn");
            for (_, [left, right, height]) in &layout.bins {
                assert!((0.0..=1.0).contains(left) && (0.0..=1.0).contains(right) && left < right);
                assert!((0.05..=1.0).contains(height), "a rare bin is visible too");
            }
            assert!((0.0..=1.0).contains(&layout.axis.share_of(time_us)));
        }
    }

    #[test]
    fn the_summary_describes_the_position_of_the_execution() {
        let histogram = histogram(&[-0.5, 9.5, 99.5], &[9.0, 1.0]);
        assert_eq!(
            summary(&histogram, Some(50.0)),
            "50 µs is in a bin of 1 out of 10 executions; 0 took longer"
        );
        assert_eq!(
            summary(&histogram, Some(500.0)),
            "500 µs is outside all 10 executions"
        );
    }
}
