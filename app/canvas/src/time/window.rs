//! The visible time range.

use std::ops::RangeInclusive;

use callgrove_model::{DurationNs, TimeNs};
use callgrove_session::Tile;

/// Minimum length of a window: single events of a trace with microsecond timestamps are well separated in it.
const MIN_LENGTH_NS: i64 = 1_000;

/// A time range, at least a microsecond long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its begin.
    pub from: TimeNs,
    /// Its end, at least a microsecond later.
    pub to: TimeNs,
}

/// Tiles of one length, counted from time 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TileGrid {
    /// Length of a tile.
    pub(super) length_ns: i64,
    /// Bars shorter than this are merged.
    pub(super) min_bar_ns: i64,
}

impl Window {
    /// Returns the window from `from` to `to` with `margin` (a fraction of the length) on both sides.
    pub fn around(from: TimeNs, to: TimeNs, margin: f64) -> Self {
        let length_ns = to.since(from).0.max(0) as f64;
        let margin_ns = (length_ns * margin) as i64;
        let (from, to) = (
            from.0.saturating_sub(margin_ns),
            to.0.saturating_add(margin_ns),
        );
        Self::centred(from.midpoint(to.max(from)), to.saturating_sub(from))
    }

    /// Returns the window moved by a time.
    #[must_use]
    pub fn shifted(self, by: DurationNs) -> Self {
        let [from, to] = [self.from, self.to].map(|time| TimeNs(time.0.saturating_add(by.0)));
        Self { from, to }
    }

    /// Returns the length in nanoseconds.
    pub fn length_ns(self) -> i64 {
        self.to.since(self.from).0
    }

    /// Returns the window zoomed in by `factor` > 1; the time at `anchor` (0 to 1) keeps its position.
    #[must_use]
    pub(crate) fn zoomed(self, factor: f64, anchor: f64, bounds: Self) -> Self {
        let length_ns = self.length_ns() as f64;
        let new_length_ns = (length_ns / factor)
            .max(MIN_LENGTH_NS as f64)
            .min(bounds.length_ns() as f64);
        let from = self
            .from
            .0
            .saturating_add(((length_ns - new_length_ns) * anchor).round() as i64);
        let to = from.saturating_add(new_length_ns.round() as i64);
        Self {
            from: TimeNs(from),
            to: TimeNs(to),
        }
        .within(bounds)
    }

    /// Returns the window moved by a fraction of its length; positive values move it later.
    #[must_use]
    pub(crate) fn panned(self, share: f64, bounds: Self) -> Self {
        let shift_ns = (self.length_ns() as f64 * share).round() as i64;
        let moved = |time: TimeNs| TimeNs(time.0.saturating_add(shift_ns));
        Self {
            from: moved(self.from),
            to: moved(self.to),
        }
        .within(bounds)
    }

    /// Returns the window moved, and cut if necessary, to lie inside `bounds`.
    #[must_use]
    pub fn within(self, bounds: Self) -> Self {
        let length_ns = self.length_ns().min(bounds.length_ns());
        let from = self.from.0.clamp(bounds.from.0, bounds.to.0 - length_ns);
        Self {
            from: TimeNs(from),
            to: TimeNs(from + length_ns),
        }
    }

    /// Returns a window of the same length around `middle`.
    #[must_use]
    pub fn centred_at(self, middle: TimeNs) -> Self {
        Self::centred(middle.0, self.length_ns())
    }

    /// Returns the position of a time: 0 at the start, 1 at the end of the window.
    pub fn share_of(self, time: TimeNs) -> f64 {
        time.since(self.from).0 as f64 / self.length_ns() as f64
    }

    /// Returns the time at a position of the window.
    pub fn time_at(self, share: f64) -> TimeNs {
        TimeNs(
            self.from
                .0
                .saturating_add((self.length_ns() as f64 * share).round() as i64),
        )
    }

    /// Returns the tile to query for this window on `width_px` pixels. It stays the same while the window moves by less
    /// than half its length and the zoom changes by less than a factor of two.
    pub(crate) fn tile(self, width_px: f32) -> Tile {
        let octave_ns = self.octave_ns();
        let step_ns = octave_ns / 2;
        let down = |time_ns: i64| time_ns.div_euclid(step_ns).saturating_mul(step_ns);
        Tile {
            from: TimeNs(down(self.from.0)),
            to: TimeNs(down(self.to.0.saturating_sub(1)).saturating_add(step_ns)),
            min_bar_ns: ((octave_ns as f64 / f64::from(width_px.max(1.0))) as i64).max(1),
        }
    }

    /// Returns the tiles in which bars are laid out for this window on `width_px` pixels. They stay the same while the
    /// zoom changes by less than a factor of two.
    pub(super) fn grid(self, width_px: f32) -> TileGrid {
        TileGrid {
            length_ns: self.octave_ns(),
            min_bar_ns: self.tile(width_px).min_bar_ns,
        }
    }

    fn octave_ns(self) -> i64 {
        (self.length_ns() as u64).next_power_of_two().min(1 << 62) as i64
    }

    fn centred(middle_ns: i64, length_ns: i64) -> Self {
        let length_ns = length_ns.max(MIN_LENGTH_NS);
        let from = middle_ns.saturating_sub(length_ns / 2);
        Self {
            from: TimeNs(from),
            to: TimeNs(from.saturating_add(length_ns)),
        }
    }
}

impl TileGrid {
    /// Returns the tiles that a window touches.
    pub(super) fn touching(self, window: Window) -> RangeInclusive<i64> {
        let last = window.to.0.saturating_sub(1);
        window.from.0.div_euclid(self.length_ns)..=last.div_euclid(self.length_ns)
    }

    /// Returns the tiles of a window with a margin on both sides, in which the next tile can be laid out row by row
    /// before the window reaches it.
    pub(super) fn around(self, window: Window) -> RangeInclusive<i64> {
        let margin_ns = self.length_ns / 4;
        self.touching(Window {
            from: TimeNs(window.from.0.saturating_sub(margin_ns)),
            to: TimeNs(window.to.0.saturating_add(margin_ns)),
        })
    }

    /// Returns a tile by its number.
    pub(super) fn tile(self, number: i64) -> Tile {
        let from_ns = number.saturating_mul(self.length_ns);
        Tile {
            from: TimeNs(from_ns),
            to: TimeNs(from_ns.saturating_add(self.length_ns)),
            min_bar_ns: self.min_bar_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from: i64, to: i64) -> Window {
        Window {
            from: TimeNs(from),
            to: TimeNs(to),
        }
    }

    const BOUNDS: Window = Window {
        from: TimeNs(0),
        to: TimeNs(1_000_000),
    };

    #[test]
    fn a_margin_is_left_on_both_sides_and_a_moment_gets_the_shortest_window() {
        assert_eq!(
            Window::around(TimeNs(1_000), TimeNs(101_000), 0.1),
            window(-9_000, 111_000)
        );
        assert_eq!(
            Window::around(TimeNs(5_000), TimeNs(5_000), 0.1),
            window(4_500, 5_500)
        );
    }

    #[test]
    fn zooming_keeps_the_moment_under_the_pointer() {
        let zoomed = window(100_000, 200_000).zoomed(2.0, 0.25, BOUNDS);
        assert_eq!(zoomed, window(112_500, 162_500));
        assert_eq!(zoomed.time_at(0.25), TimeNs(125_000));
        assert_eq!(zoomed.zoomed(0.5, 0.25, BOUNDS), window(100_000, 200_000));
    }

    #[test]
    fn zoom_ends_at_the_shortest_window_and_at_the_bounds() {
        assert_eq!(
            window(0, 4_000).zoomed(1e9, 0.5, BOUNDS).length_ns(),
            MIN_LENGTH_NS
        );
        assert_eq!(window(0, 4_000).zoomed(1e-9, 0.5, BOUNDS), BOUNDS);
    }

    #[test]
    fn panning_stops_at_the_bounds() {
        assert_eq!(window(0, 10_000).panned(0.5, BOUNDS), window(5_000, 15_000));
        assert_eq!(window(0, 10_000).panned(-0.5, BOUNDS), window(0, 10_000));
        assert_eq!(
            window(0, 10_000).panned(1e6, BOUNDS),
            window(990_000, 1_000_000)
        );
    }

    #[test]
    fn the_tile_holds_the_window_and_its_bars_are_one_or_two_pixels_wide() {
        for length_ns in [1_000, 1_023, 1_024, 1_025, 500_000, 123_456_789] {
            for from in [-77_777_i64, 0, 1, 1_795_231_715_233_994_000] {
                let window = window(from, from + length_ns);
                let tile = window.tile(500.0);
                assert!(tile.from <= window.from && tile.to >= window.to, "{tile:?}");
                assert!(tile.to.since(tile.from).0 <= 3 * length_ns, "{tile:?}");
                let pixels = tile.min_bar_ns as f64 * 500.0 / length_ns as f64;
                assert!((0.9..=2.0).contains(&pixels), "{pixels} pixels");
            }
        }
    }

    #[test]
    fn small_moves_keep_the_tile() {
        let start = window(1_000_000, 1_900_000);
        let tile = start.tile(800.0);
        let moved: Vec<_> = (0..100)
            .map(|step| start.panned(0.001 * f64::from(step), window(0, 1 << 40)))
            .collect();
        let num_tiles = moved
            .windows(2)
            .filter(|pair| pair[0].tile(800.0) != pair[1].tile(800.0))
            .count();
        assert!(
            num_tiles <= 1,
            "{num_tiles} new tiles for a tenth of the window"
        );
        assert_eq!(
            start
                .zoomed(1.1, 0.5, window(0, 2_000_000))
                .tile(800.0)
                .min_bar_ns,
            tile.min_bar_ns
        );
    }

    #[test]
    fn tiles_are_adjacent_and_contain_the_window() {
        let grid = TileGrid {
            length_ns: 1_024,
            min_bar_ns: 2,
        };
        let start = 1_795_231_715_233_994_000;
        for from in [-5_000, -1, 0, 1_023, start] {
            let window = Window {
                from: TimeNs(from),
                to: TimeNs(from + 1_000),
            };
            let tiles: Vec<Tile> = grid.touching(window).map(|it| grid.tile(it)).collect();
            assert!(tiles.len() <= 2, "{tiles:?}");
            assert!(tiles.windows(2).all(|pair| pair[0].to == pair[1].from));
            assert!(tiles[0].from <= window.from && tiles[tiles.len() - 1].to >= window.to);
            let around = grid.around(window);
            assert!((2..=3).contains(&around.clone().count()), "{around:?}");
        }
    }
}
