//! Positions of shares and durations on the curve; independent of the screen.
//!
//! The vertical axis is the duration, on a logarithmic scale. The horizontal axis is the share of occurrences, fastest
//! first ([`CurveAxis`]).

use callgrove_model::DurationNs;
use callgrove_session::{CurveAxis, ListedPattern, PatternReference};
use egui::{Pos2, Rect};

/// Minimum number of visible decades.
const MIN_DECADES: f64 = 0.5;
/// Maximum number of visible decades below the longest duration.
const MAX_DECADES: f64 = 7.0;
/// Margin above the longest and below the shortest duration, in decades.
const MARGIN: f64 = 0.08;
/// Shortest duration with a position of its own, in nanoseconds; shorter ones are on the bottom line.
const SHORTEST_NS: f64 = 10.0;
/// Inverse of the step that q is rounded to.
const SHARE_STEPS: f64 = 1e4;
/// Inverse of the step that s is rounded to.
const FACTOR_STEPS: f64 = 1e2;
/// The largest s that can be set by dragging.
const MAX_FACTOR: f64 = 1e6;

/// The scales of one curve in its area.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurveScale {
    pub(super) area: Rect,
    axis: CurveAxis,
    /// Logarithm of the duration at the bottom.
    low: f64,
    /// Logarithm of the duration at the top.
    high: f64,
}

impl CurveScale {
    /// Returns the scales for the curve of a pattern and its handles, in `area`; longer durations than `limit` are
    /// anomalous.
    pub(super) fn new(area: Rect, pattern: &ListedPattern, limit: DurationNs) -> Self {
        let high = log(pattern.longest.max(limit)) + MARGIN;
        let low = log(pattern.shortest).max(high - MAX_DECADES) - MARGIN;
        let num = pattern.num_occurrences;
        Self {
            area,
            axis: CurveAxis { num },
            low: low.min(high - MIN_DECADES),
            high,
        }
    }

    /// Returns the position where a share of the occurrences ends.
    pub(super) fn x(&self, share: f64) -> f32 {
        self.area.left() + self.axis.place_of(share) as f32 * self.area.width()
    }

    /// Returns the share that ends at a position.
    pub(super) fn share_at(&self, x: f32) -> f64 {
        self.axis.share_at(self.place(x))
    }

    fn place(&self, x: f32) -> f64 {
        f64::from((x - self.area.left()) / self.area.width().max(1.0))
    }

    /// Returns the height of a duration.
    pub(super) fn y(&self, duration: DurationNs) -> f32 {
        let place = (log(duration) - self.low) / (self.high - self.low);
        self.area.bottom() - place.clamp(0.0, 1.0) as f32 * self.area.height()
    }

    /// Returns the duration at a height.
    fn duration_at(&self, y: f32) -> f64 {
        let place = f64::from((self.area.bottom() - y) / self.area.height().max(1.0));
        10_f64.powf(self.low + place.clamp(0.0, 1.0) * (self.high - self.low))
    }

    /// Returns the rank, in ascending order of duration, of the occurrence drawn at `x`.
    pub(super) fn rank_at(&self, x: f32) -> usize {
        self.axis.rank_at(self.place(x))
    }

    /// Returns the column drawn at `x`, of `num_columns`.
    pub(super) fn column_at(&self, x: f32, num_columns: usize) -> usize {
        let column = (self.place(x).max(0.0) * num_columns as f64) as usize;
        column.min(num_columns.saturating_sub(1))
    }

    /// Returns the position where the first `count` occurrences end.
    pub(super) fn x_after(&self, count: usize) -> f32 {
        self.x(count as f64 / self.axis.num.max(1) as f64)
    }

    /// Returns the reference with q at the pointer.
    pub(super) fn with_share_at(&self, x: f32, reference: PatternReference) -> PatternReference {
        let share = (self.share_at(x) * SHARE_STEPS).round() / SHARE_STEPS;
        PatternReference { share, ..reference }
    }

    /// Returns the reference with s at the pointer, relative to a usual duration.
    pub(super) fn with_factor_at(
        &self,
        y: f32,
        usual: DurationNs,
        reference: PatternReference,
    ) -> PatternReference {
        // A duration shorter than a clock tick is compared with the tick.
        let usual_ns = usual.as_secs_f64().max(1e-6) * 1e9;
        let factor = self.duration_at(y) / usual_ns;
        PatternReference {
            factor: rounded_factor(factor),
            ..reference
        }
    }

    /// Returns the shares to label at the bottom, with their texts.
    pub(super) fn share_ticks(&self) -> Vec<(f32, String)> {
        let mut ticks = vec![(0.0, "0 %".to_owned()), (0.5, "50 %".to_owned())];
        let mut rest = 0.1;
        let mut decimals = 0;
        while rest >= self.axis.least() * 2.0 && decimals <= 6 {
            ticks.push((1.0 - rest, format!("{:.decimals$} %", (1.0 - rest) * 100.0)));
            decimals += usize::from(rest < 0.05);
            rest /= 10.0;
        }
        let placed = ticks.into_iter().map(|(share, text)| (self.x(share), text));
        placed.collect()
    }

    /// Returns the round durations to label at the left: powers of ten.
    pub(super) fn duration_ticks(&self) -> Vec<DurationNs> {
        let decades = self.low.ceil() as i32..=self.high.floor() as i32;
        decades
            .map(|decade| DurationNs::nearest(10_f64.powi(decade)))
            .collect()
    }

    /// Returns the positions of the two handles: q at the top, s at the right.
    pub(super) fn handles(&self, share: f64, limit: DurationNs) -> [Pos2; 2] {
        [
            Pos2::new(self.x(share), self.area.top()),
            Pos2::new(self.area.right(), self.y(limit)),
        ]
    }
}

/// Formats q in per cent.
pub(super) fn share_text(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} %")
}

/// Formats s, as short as possible.
pub(super) fn factor_text(factor: f64) -> String {
    let text = format!("{factor:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns s as it can be set by dragging: rounded, and never below 1.
pub(super) fn rounded_factor(factor: f64) -> f64 {
    ((factor * FACTOR_STEPS).round() / FACTOR_STEPS).clamp(1.0, MAX_FACTOR)
}

fn log(duration: DurationNs) -> f64 {
    (duration.as_secs_f64() * 1e9).max(SHORTEST_NS).log10()
}
