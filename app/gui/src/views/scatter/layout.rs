//! Pure geometry of the map: where points fall, which one is under the pointer, which are in a lasso.

use egui::{Pos2, Rect, Vec2};

/// Room left around the points of a fitted map, in points.
const MARGIN: f32 = 24.0;
/// Zoom limits against the fitted map.
const ZOOM_RANGE: std::ops::RangeInclusive<f32> = 0.5..=2000.0;
/// Points in a cell of the grid, on average.
const POINTS_PER_CELL: usize = 4;

/// Smallest box around the points of a map; y points up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    min: [f32; 2],
    max: [f32; 2],
}

/// Which part of the map is seen, apart from the size of the canvas.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MapView {
    /// Where the middle of the canvas is, from the middle of the bounds.
    offset: [f32; 2],
    /// Magnification against the fitted map.
    zoom: f32,
}

/// From the map to the screen and back.
#[derive(Clone, Copy, Debug)]
pub struct Transform {
    rect: Rect,
    center: [f32; 2],
    scale: f32,
    zoom: f32,
}

/// Points by cell of a square grid, for look-ups near a place.
#[derive(Clone, Debug)]
pub struct PointGrid {
    bounds: Bounds,
    num_cells: [usize; 2],
    /// Where the points of a cell begin in `order`, shape `[n_cells + 1]`.
    starts: Vec<u32>,
    /// Points by cell.
    order: Vec<u32>,
}

impl Default for MapView {
    fn default() -> Self {
        Self {
            offset: [0.0; 2],
            zoom: 1.0,
        }
    }
}

impl Bounds {
    /// The box of `points`; points that are not finite do not count.
    pub fn of(points: &[[f32; 2]]) -> Self {
        let (mut min, mut max) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
        for point in points.iter().filter(|point| is_finite(**point)) {
            for axis in 0..2 {
                min[axis] = min[axis].min(point[axis]);
                max[axis] = max[axis].max(point[axis]);
            }
        }
        if min[0] <= max[0] {
            Self { min, max }
        } else {
            Self {
                min: [-1.0; 2],
                max: [1.0; 2],
            }
        }
    }

    fn center(&self) -> [f32; 2] {
        [
            f32::midpoint(self.min[0], self.max[0]),
            f32::midpoint(self.min[1], self.max[1]),
        ]
    }

    /// Width and height, never 0.
    fn size(&self) -> Vec2 {
        Vec2::new(self.max[0] - self.min[0], self.max[1] - self.min[1]).max(Vec2::splat(1e-6))
    }
}

impl MapView {
    /// Zoomed by `factor` so that what is under `pointer` stays there.
    #[must_use]
    pub fn zoomed(
        self,
        transform: &Transform,
        pointer: Pos2,
        factor: f32,
        bounds: &Bounds,
    ) -> Self {
        let zoom = (self.zoom * factor).clamp(*ZOOM_RANGE.start(), *ZOOM_RANGE.end());
        let anchor = transform.to_map(pointer);
        let from_middle =
            (pointer - transform.rect.center()) / (transform.scale * zoom / self.zoom);
        let middle = bounds.center();
        Self {
            offset: [
                anchor[0] - from_middle.x - middle[0],
                anchor[1] + from_middle.y - middle[1],
            ],
            zoom,
        }
    }

    /// Moved by `delta` on the screen.
    #[must_use]
    pub fn panned(self, transform: &Transform, delta: Vec2) -> Self {
        let moved = delta / transform.scale;
        Self {
            offset: [self.offset[0] - moved.x, self.offset[1] + moved.y],
            ..self
        }
    }
}

impl Transform {
    /// The view of a map with `bounds` on the canvas `rect`.
    pub fn new(rect: Rect, bounds: Bounds, view: MapView) -> Self {
        let room = (rect.size() - Vec2::splat(2.0 * MARGIN)).max(Vec2::splat(1.0));
        let fit = room / bounds.size();
        let middle = bounds.center();
        Self {
            rect,
            center: [middle[0] + view.offset[0], middle[1] + view.offset[1]],
            scale: fit.min_elem() * view.zoom,
            zoom: view.zoom,
        }
    }

    /// Points of the screen for one unit of the map.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// Magnification against the fitted map.
    pub fn zoom(&self) -> f32 {
        self.zoom
    }

    /// The canvas.
    pub fn rect(&self) -> Rect {
        self.rect
    }

    /// Where a point of the map is on the screen.
    pub fn to_screen(self, point: [f32; 2]) -> Pos2 {
        let from_middle = Vec2::new(point[0] - self.center[0], self.center[1] - point[1]);
        self.rect.center() + from_middle * self.scale
    }

    /// The point of the map at a place on the screen.
    pub fn to_map(self, place: Pos2) -> [f32; 2] {
        let from_middle = (place - self.rect.center()) / self.scale;
        [
            self.center[0] + from_middle.x,
            self.center[1] - from_middle.y,
        ]
    }
}

impl PointGrid {
    /// Sorts `points` into cells; points that are not finite are left out.
    pub fn new(points: &[[f32; 2]]) -> Self {
        let bounds = Bounds::of(points);
        let side = ((points.len() / POINTS_PER_CELL) as f32)
            .sqrt()
            .ceil()
            .max(1.0) as usize;
        let mut grid = Self {
            bounds,
            num_cells: [side, side],
            starts: vec![0; side * side + 1],
            order: Vec::new(),
        };
        let cells: Vec<Option<usize>> = points
            .iter()
            .map(|&point| is_finite(point).then(|| grid.cell_index(grid.cell(point))))
            .collect();
        for &cell in cells.iter().flatten() {
            grid.starts[cell + 1] += 1;
        }
        for cell in 0..side * side {
            grid.starts[cell + 1] += grid.starts[cell];
        }
        let mut next = grid.starts.clone();
        grid.order = vec![0; grid.starts[side * side] as usize];
        for (point, cell) in cells.iter().enumerate() {
            if let Some(cell) = *cell {
                grid.order[next[cell] as usize] = point as u32;
                next[cell] += 1;
            }
        }
        grid
    }

    /// The box of the points.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The point nearest to `place` within `radius`; of two at the same distance the lower index.
    pub fn nearest(&self, points: &[[f32; 2]], place: [f32; 2], radius: f32) -> Option<usize> {
        let low = self.cell([place[0] - radius, place[1] - radius]);
        let high = self.cell([place[0] + radius, place[1] + radius]);
        self.points_in(low, high)
            .map(|point| {
                let (dx, dy) = (points[point][0] - place[0], points[point][1] - place[1]);
                (dx * dx + dy * dy, point)
            })
            .filter(|(squared, _)| *squared <= radius * radius)
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            .map(|(_, point)| point)
    }

    /// The points inside `polygon`, ascending.
    pub fn in_polygon(&self, points: &[[f32; 2]], polygon: &[[f32; 2]]) -> Vec<usize> {
        let around = Bounds::of(polygon);
        let (low, high) = (self.cell(around.min), self.cell(around.max));
        let mut inside: Vec<usize> = self
            .points_in(low, high)
            .filter(|&point| polygon_contains(polygon, points[point]))
            .collect();
        inside.sort_unstable();
        inside
    }

    fn points_in(&self, low: [usize; 2], high: [usize; 2]) -> impl Iterator<Item = usize> + '_ {
        (low[1]..=high[1]).flat_map(move |y| {
            let first = self.starts[self.cell_index([low[0], y])] as usize;
            let last = self.starts[self.cell_index([high[0], y]) + 1] as usize;
            self.order[first..last].iter().map(|&point| point as usize)
        })
    }

    fn cell(&self, point: [f32; 2]) -> [usize; 2] {
        let size = self.bounds.size();
        let along = |axis: usize| {
            let share = (point[axis] - self.bounds.min[axis]) / size[axis];
            let cell = share * self.num_cells[axis] as f32;
            (cell.max(0.0) as usize).min(self.num_cells[axis] - 1)
        };
        [along(0), along(1)]
    }

    fn cell_index(&self, cell: [usize; 2]) -> usize {
        cell[1] * self.num_cells[0] + cell[0]
    }
}

/// Whether `point` is inside the closed `polygon` (even-odd rule).
pub fn polygon_contains(polygon: &[[f32; 2]], point: [f32; 2]) -> bool {
    let mut is_inside = false;
    for (index, &a) in polygon.iter().enumerate() {
        let b = polygon[(index + 1) % polygon.len()];
        if (a[1] > point[1]) != (b[1] > point[1]) {
            let crossing = a[0] + (point[1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0]);
            is_inside ^= point[0] < crossing;
        }
    }
    is_inside
}

fn is_finite(point: [f32; 2]) -> bool {
    point[0].is_finite() && point[1].is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canvas() -> Rect {
        Rect::from_min_size(Pos2::new(100.0, 50.0), Vec2::new(600.0, 400.0))
    }

    /// A spiral: no two points are equally far from anything.
    fn points() -> Vec<[f32; 2]> {
        (0..200)
            .map(|i| i as f32 * 0.1)
            .map(|t| [t.cos() * t / 20.0, t.sin() * t / 20.0])
            .collect()
    }

    #[test]
    fn all_points_of_a_fitted_map_are_on_the_canvas() {
        let points = points();
        let transform = Transform::new(canvas(), Bounds::of(&points), MapView::default());
        let inner = canvas().shrink(MARGIN - 0.01);
        assert!(
            points
                .iter()
                .all(|&point| inner.contains(transform.to_screen(point)))
        );
    }

    #[test]
    fn the_screen_maps_back_to_the_map() {
        let bounds = Bounds::of(&points());
        let view = MapView {
            offset: [0.2, -0.1],
            zoom: 3.0,
        };
        let transform = Transform::new(canvas(), bounds, view);
        let back = transform.to_map(transform.to_screen([0.3, -0.4]));
        assert!(
            (back[0] - 0.3).abs() < 1e-5 && (back[1] + 0.4).abs() < 1e-5,
            "{back:?}"
        );
        assert!(
            transform.to_screen([0.0, 1.0]).y < transform.to_screen([0.0, 0.0]).y,
            "y points up"
        );
    }

    #[test]
    fn zooming_keeps_what_is_under_the_pointer() {
        let bounds = Bounds::of(&points());
        let pointer = Pos2::new(170.0, 390.0);
        let mut view = MapView {
            offset: [0.1, 0.3],
            zoom: 1.5,
        };
        let before = Transform::new(canvas(), bounds, view).to_map(pointer);
        for factor in [1.3, 4.0, 0.2] {
            view = view.zoomed(
                &Transform::new(canvas(), bounds, view),
                pointer,
                factor,
                &bounds,
            );
        }
        let after = Transform::new(canvas(), bounds, view).to_map(pointer);
        assert!((before[0] - after[0]).abs() < 1e-5 && (before[1] - after[1]).abs() < 1e-5);
        assert!((view.zoom - 1.5 * 1.3 * 4.0 * 0.2).abs() < 1e-4);
    }

    #[test]
    fn panning_moves_the_map_with_the_pointer() {
        let bounds = Bounds::of(&points());
        let view = MapView {
            offset: [0.0; 2],
            zoom: 2.0,
        };
        let before = Transform::new(canvas(), bounds, view);
        let delta = Vec2::new(30.0, -12.0);
        let after = Transform::new(canvas(), bounds, view.panned(&before, delta));
        let moved = after.to_screen([0.5, 0.5]) - before.to_screen([0.5, 0.5]);
        assert!((moved - delta).length() < 1e-3, "{moved:?}");
    }

    #[test]
    fn the_grid_finds_what_a_search_through_all_points_finds() {
        let points = points();
        let grid = PointGrid::new(&points);
        for at in 0..400 {
            let place = [(at % 20) as f32 / 10.0 - 1.0, (at / 20) as f32 / 10.0 - 1.0];
            let squared = |p: [f32; 2]| (p[0] - place[0]).powi(2) + (p[1] - place[1]).powi(2);
            let by_search = (0..points.len())
                .filter(|&point| squared(points[point]) <= 0.15 * 0.15)
                .min_by(|&a, &b| squared(points[a]).total_cmp(&squared(points[b])));
            assert_eq!(
                grid.nearest(&points, place, 0.15),
                by_search,
                "at {place:?}"
            );
        }
    }

    #[test]
    fn points_without_a_place_are_never_found() {
        let points = [[f32::NAN, 0.0], [0.0, 0.0]];
        let grid = PointGrid::new(&points);
        assert_eq!(grid.nearest(&points, [0.0, 0.0], 1.0), Some(1));
        assert_eq!(PointGrid::new(&[]).nearest(&[], [0.0, 0.0], 1.0), None);
    }

    #[test]
    fn a_polygon_contains_what_is_inside_its_bay_only() {
        // A square with a bay cut in from the right.
        let bay = [
            [0.0, 0.0],
            [4.0, 0.0],
            [4.0, 1.0],
            [1.0, 2.0],
            [4.0, 3.0],
            [4.0, 4.0],
            [0.0, 4.0],
        ];
        assert!(polygon_contains(&bay, [0.5, 2.0]));
        assert!(polygon_contains(&bay, [3.0, 0.5]));
        assert!(!polygon_contains(&bay, [3.0, 2.0]), "in the bay");
        assert!(!polygon_contains(&bay, [5.0, 2.0]));
        assert!(!polygon_contains(&[], [0.0, 0.0]));
    }

    #[test]
    fn a_lasso_takes_the_points_inside_in_order() {
        let points = points();
        let polygon = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]];
        let expected: Vec<usize> = (0..points.len())
            .filter(|&p| points[p][0].abs() < 0.5 && points[p][1].abs() < 0.5)
            .collect();
        assert_eq!(
            PointGrid::new(&points).in_polygon(&points, &polygon),
            expected
        );
        assert!(expected.len() > 20 && expected.len() < points.len());
    }
}
