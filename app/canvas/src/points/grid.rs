//! A spatial index: finds points near a position, in a box or in a polygon, without a scan of all points.

use std::ops::Range;

use super::geometry::{Bounds, is_finite, polygon_contains};

/// Mean number of points in a cell of the grid.
const POINTS_PER_CELL: usize = 4;

/// Points ordered by cell of a grid over their bounds. A slot is an index into that order.
#[derive(Clone, Debug)]
pub struct PointGrid {
    bounds: Bounds,
    /// Number of cells along each axis.
    side: usize,
    /// First slot of each cell, shape `[n_cells + 1]`.
    starts: Vec<u32>,
    /// The point of each slot.
    order: Vec<u32>,
}

/// The centre and scale of a search.
#[derive(Clone, Copy)]
struct PlaneSearch {
    place: [f64; 2],
    /// Points of the screen per unit of each axis.
    scale: [f64; 2],
}

impl PointGrid {
    /// Sorts `places` into cells; positions that are not finite are left out.
    pub fn new(places: &[[f64; 2]]) -> Self {
        let bounds = Bounds::of(places.iter().copied());
        let side = ((places.len() / POINTS_PER_CELL) as f64)
            .sqrt()
            .ceil()
            .max(1.0) as usize;
        let mut grid = Self {
            bounds,
            side,
            starts: vec![0; side * side + 1],
            order: Vec::new(),
        };
        let cells: Vec<u32> = places
            .iter()
            .map(|&place| {
                if is_finite(place) {
                    grid.cell_index(grid.cell(place)) as u32
                } else {
                    u32::MAX
                }
            })
            .collect();
        for &cell in cells.iter().filter(|cell| **cell != u32::MAX) {
            grid.starts[cell as usize + 1] += 1;
        }
        for cell in 0..side * side {
            grid.starts[cell + 1] += grid.starts[cell];
        }
        let mut next = grid.starts.clone();
        grid.order = vec![0; grid.starts[side * side] as usize];
        for (point, &cell) in cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| **cell != u32::MAX)
        {
            let slot = &mut next[cell as usize];
            grid.order[*slot as usize] = point as u32;
            *slot += 1;
        }
        grid
    }

    /// Returns the bounding box of the points.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Returns the point of each slot.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns width and height of a cell.
    pub fn cell_size(&self) -> [f64; 2] {
        self.bounds.size().map(|length| length / self.side as f64)
    }

    /// Returns the slots in the cells that a box touches: one range for each row of cells. They may contain points
    /// outside the box.
    pub fn rows_in(&self, part: Bounds) -> impl Iterator<Item = Range<usize>> + '_ {
        self.cells_in(part)
            .map(|(first, last)| self.starts[first] as usize..self.starts[last + 1] as usize)
    }

    /// Returns the same slots cell by cell.
    pub fn slots_by_cell(&self, part: Bounds) -> impl Iterator<Item = Range<usize>> + '_ {
        self.cells_in(part)
            .flat_map(|(first, last)| first..=last)
            .map(|cell| self.starts[cell] as usize..self.starts[cell + 1] as usize)
            .filter(|slots| !slots.is_empty())
    }

    /// Returns the number of points in the cell of a position.
    pub fn num_in_cell(&self, place: [f64; 2]) -> usize {
        let cell = self.cell_index(self.cell(place));
        (self.starts[cell + 1] - self.starts[cell]) as usize
    }

    /// Returns the first and last cell of each row of cells that a box touches.
    fn cells_in(&self, part: Bounds) -> impl Iterator<Item = (usize, usize)> + '_ {
        let (low, high) = (self.cell(part.min), self.cell(part.max));
        (low[1]..=high[1])
            .map(move |y| (self.cell_index([low[0], y]), self.cell_index([high[0], y])))
    }

    /// Returns the point closest on the screen to `place`, at most `radius` points of the screen away, where `scale` is
    /// in points of the screen per unit of each axis. Of two at the same distance it returns the lower index.
    pub fn nearest(
        &self,
        places: &[[f64; 2]],
        place: [f64; 2],
        scale: [f64; 2],
        radius: f64,
    ) -> Option<usize> {
        let near = PlaneSearch { place, scale };
        self.around(places, near, radius)
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            .map(|(_, point)| point)
    }

    /// Returns the `count` points closest to a point on the screen, the point itself first.
    pub fn nearest_to(
        &self,
        places: &[[f64; 2]],
        point: usize,
        scale: [f64; 2],
        count: usize,
    ) -> Vec<usize> {
        let near = PlaneSearch {
            place: places[point],
            scale,
        };
        let wanted = (count + 1).min(self.order.len());
        let mut found: Vec<(f64, usize)> = self
            .growing(near)
            .map(|radius| self.around(places, near, radius).collect::<Vec<_>>())
            .find(|found| found.len() >= wanted)
            .unwrap_or_default();
        found.sort_by(|a, b| {
            (a.1 != point, a.0)
                .partial_cmp(&(b.1 != point, b.0))
                .unwrap_or(std::cmp::Ordering::Equal)
                .then(a.1.cmp(&b.1))
        });
        found
            .into_iter()
            .take(wanted)
            .map(|(_, point)| point)
            .collect()
    }

    /// Returns the closest point in a direction of the screen (x to the right, y upwards) from a point: its offset
    /// along the direction exceeds the one across.
    pub fn nearest_toward(
        &self,
        places: &[[f64; 2]],
        point: usize,
        scale: [f64; 2],
        direction: [f64; 2],
    ) -> Option<usize> {
        let from = places[point];
        let near = PlaneSearch { place: from, scale };
        let is_ahead = |other: usize| {
            let [dx, dy] = [0, 1].map(|axis| (places[other][axis] - from[axis]) * scale[axis]);
            let ahead = dx * direction[0] + dy * direction[1];
            let aside = dx * direction[1] - dy * direction[0];
            ahead > 0.0 && aside.abs() <= ahead
        };
        self.growing(near).find_map(|radius| {
            self.around(places, near, radius)
                .filter(|&(_, other)| is_ahead(other))
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
                .map(|(_, other)| other)
        })
    }

    /// Returns the points inside `polygon`, ascending.
    pub fn in_polygon(&self, places: &[[f64; 2]], polygon: &[[f64; 2]]) -> Vec<usize> {
        if polygon.len() < 3 {
            return Vec::new();
        }
        let around = Bounds::of(polygon.iter().copied());
        let mut inside: Vec<usize> = self
            .points_in(around)
            .filter(|&point| polygon_contains(polygon, places[point]))
            .collect();
        inside.sort_unstable();
        inside
    }

    fn points_in(&self, part: Bounds) -> impl Iterator<Item = usize> + '_ {
        self.rows_in(part)
            .flat_map(|slots| &self.order[slots])
            .map(|&point| point as usize)
    }

    /// Returns the points at most `radius` away, each with its squared distance.
    fn around<'a>(
        &'a self,
        places: &'a [[f64; 2]],
        near: PlaneSearch,
        radius: f64,
    ) -> impl Iterator<Item = (f64, usize)> + 'a {
        let reach = near.scale.map(|scale| radius / scale);
        let part = Bounds {
            min: [0, 1].map(|axis| near.place[axis] - reach[axis]),
            max: [0, 1].map(|axis| near.place[axis] + reach[axis]),
        };
        self.points_in(part)
            .map(move |point| {
                let [dx, dy] =
                    [0, 1].map(|axis| (places[point][axis] - near.place[axis]) * near.scale[axis]);
                (dx * dx + dy * dy, point)
            })
            .filter(move |(squared, _)| *squared <= radius * radius)
    }

    /// Returns growing radii on the screen, from the size of a cell to one that covers all points.
    fn growing(&self, near: PlaneSearch) -> impl Iterator<Item = f64> + use<> {
        let size = self.bounds.size();
        let cell = self.cell_size();
        let first = (cell[0] * near.scale[0]).min(cell[1] * near.scale[1]);
        let whole = 1.001 * (size[0] * near.scale[0]).hypot(size[1] * near.scale[1]);
        std::iter::successors(Some(first), |radius| Some(radius * 2.0))
            .take_while(move |radius| *radius < whole)
            .chain([whole])
    }

    fn cell(&self, place: [f64; 2]) -> [usize; 2] {
        let size = self.bounds.size();
        [0, 1].map(|axis| {
            let share = (place[axis] - self.bounds.min[axis]) / size[axis];
            let cell = share * self.side as f64;
            (cell.max(0.0) as usize).min(self.side - 1)
        })
    }

    fn cell_index(&self, cell: [usize; 2]) -> usize {
        cell[1] * self.side + cell[0]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCALE: [f64; 2] = [100.0, 40.0];

    /// A spiral: no two points have the same distance to another point.
    fn spiral() -> Vec<[f64; 2]> {
        (0..200)
            .map(|i| f64::from(i) * 0.1)
            .map(|t| [t.cos() * t / 20.0, t.sin() * t / 20.0])
            .collect()
    }

    fn squared(a: [f64; 2], b: [f64; 2]) -> f64 {
        ((a[0] - b[0]) * SCALE[0]).powi(2) + ((a[1] - b[1]) * SCALE[1]).powi(2)
    }

    #[test]
    fn the_grid_finds_the_same_as_a_scan_of_all_points() {
        let places = spiral();
        let grid = PointGrid::new(&places);
        for at in 0..400 {
            let place = [
                f64::from(at % 20) / 10.0 - 1.0,
                f64::from(at / 20) / 10.0 - 1.0,
            ];
            let by_search = (0..places.len())
                .filter(|&point| squared(places[point], place) <= 15.0 * 15.0)
                .min_by(|&a, &b| squared(places[a], place).total_cmp(&squared(places[b], place)));
            assert_eq!(
                grid.nearest(&places, place, SCALE, 15.0),
                by_search,
                "at {place:?}"
            );
        }
    }

    #[test]
    fn neighbours_equal_those_of_a_full_sort() {
        let places = spiral();
        let grid = PointGrid::new(&places);
        for point in [0, 57, 199] {
            let mut order: Vec<usize> = (0..places.len()).collect();
            order.sort_by(|&a, &b| {
                squared(places[a], places[point]).total_cmp(&squared(places[b], places[point]))
            });
            assert_eq!(grid.nearest_to(&places, point, SCALE, 12), order[..13]);
        }
        assert_eq!(grid.nearest_to(&places, 3, SCALE, 1000).len(), places.len());
    }

    #[test]
    fn arrows_go_to_the_nearest_point_ahead() {
        let places = [
            [0.0, 0.0],
            [1.0, 0.1],
            [0.3, 0.5],
            [3.0, 0.0],
            [-2.0, 0.5],
            [0.0, -9.0],
        ];
        let grid = PointGrid::new(&places);
        let toward = |direction| grid.nearest_toward(&places, 0, [1.0, 1.0], direction);
        assert_eq!(toward([1.0, 0.0]), Some(1));
        assert_eq!(toward([-1.0, 0.0]), Some(4));
        assert_eq!(toward([0.0, 1.0]), Some(2));
        assert_eq!(toward([0.0, -1.0]), Some(5));
        assert_eq!(
            grid.nearest_toward(&places, 5, [1.0, 1.0], [0.0, -1.0]),
            None
        );
    }

    #[test]
    fn points_without_a_position_are_never_found() {
        let places = [[f64::NAN, 0.0], [0.0, 0.0]];
        let grid = PointGrid::new(&places);
        assert_eq!(grid.nearest(&places, [0.0, 0.0], SCALE, 1.0), Some(1));
        assert_eq!(grid.order(), [1]);
        assert_eq!(
            PointGrid::new(&[]).nearest(&[], [0.0, 0.0], SCALE, 1.0),
            None
        );
    }

    fn any_places() -> impl Strategy<Value = Vec<[f64; 2]>> {
        let any = prop_oneof![-1.0..1.0_f64, 1.7e15..1.8e15_f64, Just(0.0)];
        proptest::collection::vec((any.clone(), any).prop_map(|(x, y)| [x, y]), 1..80)
    }

    proptest! {
        #[test]
        fn every_point_is_found_at_its_place(places in any_places()) {
            let grid = PointGrid::new(&places);
            for &place in &places {
                let hit = grid.nearest(&places, place, SCALE, 1.0);
                prop_assert_eq!(hit.map(|hit| places[hit]), Some(place));
            }
        }

        #[test]
        fn a_lasso_selects_exactly_the_points_inside(places in any_places(), corners in any_places()) {
            let expected: Vec<usize> = (0..places.len())
                .filter(|&point| corners.len() > 2 && polygon_contains(&corners, places[point]))
                .collect();
            prop_assert_eq!(PointGrid::new(&places).in_polygon(&places, &corners), expected);
        }

        #[test]
        fn each_point_is_in_the_cells_of_every_box_around_it(places in any_places()) {
            let grid = PointGrid::new(&places);
            for (point, &place) in places.iter().enumerate() {
                let part = Bounds { min: place, max: place };
                let slots: Vec<usize> = grid.slots_by_cell(part).flatten().collect();
                prop_assert!(slots.iter().any(|&slot| grid.order()[slot] as usize == point));
            }
        }
    }
}
