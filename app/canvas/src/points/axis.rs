//! Geometry of a plot axis: range, round ticks, zoom.

use crate::round_step::round_step;

/// The range of an axis in data units, and its scale.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Axis {
    /// Value at the start.
    pub from: f64,
    /// Value at the end; greater than `from`.
    pub to: f64,
    /// True if the scale is logarithmic.
    pub is_log: bool,
}

impl Axis {
    /// Returns an axis over all finite values, with a margin. A logarithmic axis leaves out values that are not
    /// positive.
    pub fn around(values: impl Iterator<Item = f64>, is_log: bool) -> Self {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && !(is_log && *value <= 0.0)) {
            from = from.min(value);
            to = to.max(value);
        }
        if from > to {
            (from, to) = (1.0, 10.0);
        }
        if is_log {
            let margin = ((to / from).ln() * 0.05).max(0.1);
            return Self {
                from: from * (-margin).exp(),
                to: to * margin.exp(),
                is_log,
            };
        }
        let margin = (to - from) * 0.05;
        let margin = if margin > 0.0 {
            margin
        } else {
            (from.abs() * 0.05).max(1.0)
        };
        Self {
            from: from - margin,
            to: to + margin,
            is_log,
        }
    }

    /// Returns the position of a value: 0 at the start, 1 at the end. Not finite if the value cannot be shown.
    pub fn share_of(self, value: f64) -> f64 {
        if self.is_log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        }
    }

    /// Returns the value at a position of the axis.
    pub fn value_at(self, share: f64) -> f64 {
        if self.is_log {
            self.from * (share * (self.to / self.from).ln()).exp()
        } else {
            self.from + share * (self.to - self.from)
        }
    }

    /// Returns the axis zoomed in by `factor` > 1; the value at `anchor` (0 to 1) keeps its position.
    #[must_use]
    pub fn zoomed(self, factor: f64, anchor: f64) -> Self {
        let start = anchor - anchor / factor;
        self.part(start, start + 1.0 / factor)
    }

    /// Returns the axis moved by a fraction of its length.
    #[must_use]
    pub fn panned(self, share: f64) -> Self {
        self.part(share, 1.0 + share)
    }

    /// Returns the part from one position to another; `self` if the values could no longer be distinguished.
    fn part(self, start: f64, end: f64) -> Self {
        let (from, to) = (self.value_at(start), self.value_at(end));
        let length = to - from;
        let is_sound = from.is_finite()
            && to.is_finite()
            && length > from.abs().max(to.abs()) * 1e-12
            && (!self.is_log || from > 0.0);
        if is_sound {
            Self { from, to, ..self }
        } else {
            self
        }
    }

    /// Returns at most `max_count` round values on the axis, in order.
    pub fn ticks(self, max_count: usize) -> Vec<f64> {
        let max_count = max_count.max(1);
        if self.is_log && self.to / self.from > 20.0 {
            let (first, last) = (
                self.from.log10().ceil() as i32,
                self.to.log10().floor() as i32,
            );
            let num_decades = (last - first + 1).max(0) as usize;
            let step = num_decades.div_ceil(max_count).max(1);
            return (first..=last)
                .step_by(step)
                .map(|power| 10_f64.powi(power))
                .collect();
        }
        let step = round_step((self.to - self.from) / max_count as f64);
        let (first, last) = ((self.from / step).ceil(), (self.to / step).floor());
        let num_ticks = (last - first + 1.0).clamp(0.0, max_count as f64 + 1.0) as usize;
        (0..num_ticks)
            .map(|at| (first + at as f64) * step)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearly(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
    }

    #[test]
    fn shares_and_values_are_inverse_on_both_kinds_of_axis() {
        for is_log in [false, true] {
            let axis = Axis::around([3.0, 4_000.0, 50.0].into_iter(), is_log);
            for share in [0.0, 0.3, 1.0] {
                assert!(nearly(axis.share_of(axis.value_at(share)), share));
            }
        }
    }

    #[test]
    fn zooming_keeps_the_value_under_the_pointer() {
        for is_log in [false, true] {
            let axis = Axis::around([2.0, 900.0].into_iter(), is_log);
            let value = axis.value_at(0.25);
            assert!(nearly(axis.zoomed(4.0, 0.25).share_of(value), 0.25));
            let back = axis.zoomed(4.0, 0.25).zoomed(0.25, 0.25);
            assert!(nearly(back.from, axis.from) && nearly(back.to, axis.to));
        }
    }

    #[test]
    fn zooming_ends_where_values_cannot_be_distinguished() {
        let mut axis = Axis::around([1.8e15, 1.9e15].into_iter(), false);
        for _ in 0..200 {
            axis = axis.zoomed(2.0, 0.5);
        }
        assert!(axis.to > axis.from);
    }

    #[test]
    fn ticks_are_round_ordered_and_on_the_axis() {
        let axis = Axis {
            from: -0.3,
            to: 10.2,
            is_log: false,
        };
        assert_eq!(axis.ticks(6), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        let log = Axis {
            from: 0.5,
            to: 2e6,
            is_log: true,
        };
        assert_eq!(log.ticks(4), [1.0, 100.0, 10_000.0, 1_000_000.0]);
        for (from, to) in [(0.0, 1e-7), (1.8e15, 1.8e15 + 50.0), (-5.0, 5.0)] {
            let axis = Axis {
                from,
                to,
                is_log: false,
            };
            let ticks = axis.ticks(8);
            assert!(!ticks.is_empty() && ticks.len() <= 9, "{ticks:?}");
            assert!(ticks.iter().all(|tick| (from..=to).contains(tick)));
        }
    }

    #[test]
    fn one_value_or_none_still_has_an_axis() {
        for values in [vec![], vec![5.0], vec![0.0, 0.0], vec![-1.0]] {
            for is_log in [false, true] {
                let axis = Axis::around(values.iter().copied(), is_log);
                assert!(axis.to > axis.from && axis.from.is_finite());
            }
        }
    }
}
