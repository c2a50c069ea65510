//! The program's iterations on the axis: ticks where each begins, and as many numbers as fit.

use callgrove_model::{LaneIdx, TimeNs, thousands};
use callgrove_session::{Calls, IterationAt, PatternList};
use egui::{Align2, FontId, Painter, Pos2, Rangef, Rect, Stroke, Vec2};

use super::paint::LaneDrawing;
use super::window::Window;
use crate::round_step::round_step;

/// Height of the band below the times, in points.
pub(super) const ITERATIONS_HEIGHT: f32 = 15.0;
/// Minimum distance between two numbers, in points.
const NUMBER_SPACING: f32 = 62.0;
/// Minimum distance between two ticks, in points.
const TICK_SPACING: f32 = 5.0;
/// Font size of the numbers, in points.
const NUMBER_SIZE: f32 = 11.0;

/// The tick at the beginning of an iteration.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct IterationTick {
    pub(super) iteration: usize,
    pub(super) x: f32,
    pub(super) has_number: bool,
}

/// Returns ticks at the beginnings of iterations inside a window, thinned where they are dense. The iteration at the
/// start of the window comes first, at the edge, if its number fits there. `bounds` are the beginnings of all
/// iterations and the end of the last.
pub(super) fn iteration_ticks(
    bounds: &[TimeNs],
    window: Window,
    plot: Rangef,
) -> Vec<IterationTick> {
    let Some((&end, starts)) = bounds.split_last() else {
        return Vec::new();
    };
    let x = |time| plot.min + window.share_of(time) as f32 * plot.span();
    let first = starts.partition_point(|&start| start < window.from);
    let last = starts.partition_point(|&start| start <= window.to);
    let iteration_width = plot.span() / (last - first).max(1) as f32;
    let step = |spacing: f32| round_step(f64::from(spacing / iteration_width).max(1.0)) as usize;
    let every = step(NUMBER_SPACING);
    let every_tick = step(TICK_SPACING).min(every);
    let mut ticks = Vec::new();
    let mut free_from = f32::NEG_INFINITY;
    let is_inside = first > 0 && end > window.from;
    let next = starts.get(first).filter(|_| first < last);
    if is_inside && next.is_none_or(|&next| x(next) - plot.min >= NUMBER_SPACING) {
        ticks.push(IterationTick {
            iteration: first - 1,
            x: plot.min,
            has_number: true,
        });
    }
    let from = first.next_multiple_of(every_tick);
    for iteration in (from..last).step_by(every_tick) {
        let x = x(starts[iteration]);
        let has_number = iteration.is_multiple_of(every) && x >= free_from;
        if has_number {
            free_from = x + NUMBER_SPACING * 0.8;
        }
        ticks.push(IterationTick {
            iteration,
            x,
            has_number,
        });
    }
    ticks
}

/// Returns the iteration of a lane at a time as text; `None` outside the program's loop, and while it is unknown.
pub fn iteration_text(
    (calls, patterns): (&Calls, Option<&PatternList>),
    lane: LaneIdx,
    time: TimeNs,
) -> Option<String> {
    patterns?.iterations.as_ref()?;
    let iteration = (*calls.ask(&IterationAt { lane, time })?)?;
    Some(format!("iteration {}", thousands(iteration)))
}

/// Splits the axis into the part for times and the band of iterations at its bottom.
pub(super) fn split_axis(axis: Rect, has_iterations: bool) -> (Rect, Rect) {
    let height = if has_iterations {
        ITERATIONS_HEIGHT
    } else {
        0.0
    };
    axis.split_top_bottom_at_y(axis.bottom() - height)
}

impl LaneDrawing<'_> {
    /// Returns the beginnings of all iterations and the end of the last.
    pub(super) fn iteration_bounds(&self) -> &[TimeNs] {
        let patterns = self.shown.patterns;
        patterns.map_or(&[], PatternList::iteration_bounds)
    }

    /// Draws the band: ticks, numbers, and the iteration at the pointer.
    pub(super) fn paint_iterations(&self, above: &Painter, band: Rect, pointer: Option<TimeNs>) {
        let painter = &above.with_clip_rect(band);
        let bounds = self.iteration_bounds();
        let Some(&end) = bounds.last() else { return };
        let theme = self.shown.theme;
        let window = self.canvas.view.window();
        let font = FontId::proportional(NUMBER_SIZE);
        let (inside, middle) = (band.x_range(), band.center().y);
        let from = self.x(bounds[0]).max(inside.min);
        let to = self.x(end).min(inside.max);
        if to > from {
            let ground =
                Rect::from_x_y_ranges(from..=to, band.shrink2(Vec2::new(0.0, 1.0)).y_range());
            painter.rect_filled(ground, 0.0, theme.grid().gamma_multiply(0.5));
        }
        for tick in iteration_ticks(bounds, window, inside) {
            let stroke = Stroke::new(1.0, theme.weak_text());
            let top = if tick.has_number {
                band.top() + 1.0
            } else {
                band.bottom() - 5.0
            };
            painter.vline(tick.x, top..=band.bottom() - 1.0, stroke);
            if tick.has_number {
                let text = thousands(tick.iteration);
                let galley = painter.layout_no_wrap(text, font.clone(), theme.text());
                if tick.x + 3.0 + galley.size().x <= inside.max {
                    let at = Pos2::new(tick.x + 3.0, middle - galley.size().y / 2.0);
                    painter.galley(at, galley, theme.text());
                }
            }
        }
        let at = Pos2::new(band.left() - 6.0, middle);
        let color = theme.weak_text();
        above.text(at, Align2::RIGHT_CENTER, "iteration", font, color);
        let at_pointer = pointer.and_then(|time| {
            let after = bounds.partition_point(|&bound| bound <= time);
            let iteration = after.checked_sub(1)?;
            Some((time, iteration)).filter(|_| after < bounds.len())
        });
        if let Some((time, iteration)) = at_pointer {
            let at = Pos2::new(self.x(time), middle);
            self.paint_sign(painter, band, at, thousands(iteration));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Rangef = Rangef {
        min: 100.0,
        max: 900.0,
    };

    fn ticks(num: i64, from: i64, to: i64) -> Vec<IterationTick> {
        let bounds: Vec<TimeNs> = (0..=num).map(|at| TimeNs(at * 1_000_000)).collect();
        let window = Window {
            from: TimeNs(from),
            to: TimeNs(to),
        };
        iteration_ticks(&bounds, window, PLOT)
    }

    fn numbers(ticks: &[IterationTick]) -> Vec<usize> {
        let numbered = ticks.iter().filter(|tick| tick.has_number);
        numbered.map(|tick| tick.iteration).collect()
    }

    #[test]
    fn few_iterations_have_all_their_numbers() {
        let ticks = ticks(5, 0, 5_000_000);
        assert_eq!(numbers(&ticks), [0, 1, 2, 3, 4]);
        assert!((ticks[1].x - 260.0).abs() < 0.1, "{ticks:?}");
    }

    #[test]
    fn dense_iterations_are_thinned_to_round_numbers_that_do_not_overlap() {
        for num in [100, 1_000, 123_456] {
            let ticks = ticks(num, 0, num * 1_000_000);
            assert!(ticks.len() <= 200, "{} ticks", ticks.len());
            let numbered: Vec<&IterationTick> =
                ticks.iter().filter(|tick| tick.has_number).collect();
            assert!((4..=14).contains(&numbered.len()), "{numbered:?}");
            for pair in numbered.windows(2) {
                assert!(pair[1].x - pair[0].x >= NUMBER_SPACING * 0.8);
            }
        }
        assert_eq!(numbers(&ticks(100, 0, 100_000_000))[..3], [0, 10, 20]);
    }

    #[test]
    fn inside_one_iteration_its_number_is_at_the_edge() {
        let inside = ticks(50, 7_200_000, 7_300_000);
        assert_eq!(numbers(&inside), [7]);
        assert!((inside[0].x - PLOT.min).abs() < 1e-3);
        assert_eq!(ticks(50, 60_000_000, 70_000_000), [], "after the loop");
        assert_eq!(
            iteration_ticks(
                &[],
                Window {
                    from: TimeNs(0),
                    to: TimeNs(9)
                },
                PLOT
            ),
            []
        );
    }
}
