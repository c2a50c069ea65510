//! The bars of one row, in adjacent tiles: while the window moves, each tile is laid out only once.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use callgrove_model::LaneIdx;
use callgrove_session::{Bar, BarsOf, Calls, LaneBars, RowKind};

use super::window::TileGrid;

/// The bars of a row.
pub(super) struct RowBars {
    kind: RowKind,
    grid: TileGrid,
    tiles: BTreeMap<i64, Arc<LaneBars>>,
    /// All bars, in order of level, then time.
    joined: Vec<Bar>,
}

impl RowBars {
    /// Returns whether the given tiles are laid out.
    pub(super) fn has(&self, kind: RowKind, grid: TileGrid, tiles: &RangeInclusive<i64>) -> bool {
        let mut tiles = tiles.clone();
        self.kind == kind
            && self.grid == grid
            && tiles.all(|number| self.tiles.contains_key(&number))
    }

    /// Returns all bars that are laid out, in order of level, then time.
    pub(super) fn bars(&self) -> &[Bar] {
        &self.joined
    }

    /// Lays out the missing ones of the wanted tiles and drops the others. If the kind or the grid of the row has
    /// changed, the old bars stay until all new tiles are there.
    pub(super) fn lay_out(
        before: Option<Self>,
        calls: &Calls,
        (lane, kind, grid): (LaneIdx, RowKind, TileGrid),
        wanted: &RangeInclusive<i64>,
    ) -> Option<Self> {
        let (is_same, known) = match &before {
            Some(row) if row.kind == kind && row.grid == grid => (true, Some(&row.tiles)),
            _ => (false, None),
        };
        let mut tiles = BTreeMap::new();
        let mut has_all = true;
        for number in wanted.clone() {
            let known = known.and_then(|tiles| tiles.get(&number)).cloned();
            let tile = grid.tile(number);
            match known.or_else(|| calls.ask(&BarsOf { lane, kind, tile })) {
                Some(bars) => {
                    tiles.insert(number, bars);
                }
                None => has_all = false,
            }
        }
        if !has_all && !is_same {
            return before;
        }
        if let Some(row) = before.filter(|row| is_same && row.tiles.keys().eq(tiles.keys())) {
            return Some(row);
        }
        Some(Self {
            joined: join(tiles.values()),
            kind,
            grid,
            tiles,
        })
    }
}

/// Joins the bars of tiles: a bar that crosses an edge between tiles becomes one bar again.
fn join<'a>(tiles: impl Iterator<Item = &'a Arc<LaneBars>>) -> Vec<Bar> {
    let mut joined: Vec<Bar> = tiles.flat_map(|bars| bars.0.iter().copied()).collect();
    joined.sort_by_key(|bar| (bar.level, bar.from, bar.to, bar.exec));
    joined.dedup_by(|next, bar| {
        let is_continued = (next.level, next.exec) == (bar.level, bar.exec) && next.from <= bar.to;
        if is_continued {
            bar.to = bar.to.max(next.to);
            bar.num_calls = bar.num_calls.max(next.num_calls);
        }
        is_continued
    });
    joined
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::snapshot;
    use callgrove_session::{Tile, layout_lane};

    use super::super::window::Window;
    use super::*;

    #[test]
    fn joined_bars_of_tiles_equal_those_of_one_tile() {
        let demo = snapshot(2, 5);
        let (trace, calls) = (demo.trace().unwrap(), demo.calls().unwrap());
        let (from, to) = trace.time_span().unwrap();
        let lane = LaneIdx(1);
        for kind in [RowKind::Strip, RowKind::Stack] {
            for length_ns in [7_777_777, 100_000_003, to.since(from).0] {
                let min_bar_ns = 10_000;
                let grid = TileGrid {
                    length_ns,
                    min_bar_ns,
                };
                let tiles = grid.touching(Window { from, to });
                let row = RowBars::lay_out(None, calls, (lane, kind, grid), &tiles).unwrap();
                assert!(row.has(kind, grid, &tiles));
                let whole = Tile {
                    from,
                    to,
                    min_bar_ns,
                };
                let bars = layout_lane(trace, lane, kind, whole);
                assert_eq!(row.bars(), bars, "{kind:?} in tiles of {length_ns} ns");
            }
        }
    }

    #[test]
    fn a_known_tile_is_not_queried_again() {
        let calls = snapshot(1, 9).calls().cloned().unwrap();
        let (from, to) = calls.time_span().unwrap();
        let grid = TileGrid {
            length_ns: to.since(from).0 / 8,
            min_bar_ns: 100_000,
        };
        let first = grid.touching(Window { from, to });
        let place = (LaneIdx(0), RowKind::Strip, grid);
        let row = RowBars::lay_out(None, &calls, place, &first).unwrap();
        let kept = Arc::clone(&row.tiles[first.end()]);
        let next = *first.end()..=first.end() + 1;
        let moved = RowBars::lay_out(Some(row), &calls, place, &next).unwrap();
        assert!(Arc::ptr_eq(&moved.tiles[first.end()], &kept));
        assert_eq!(moved.tiles.len(), 2);
    }
}
