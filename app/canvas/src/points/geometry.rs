//! Geometry of a plane of points: its bounds, the visible part, and the mapping to the screen and back.

use egui::{Pos2, Rect, Vec2};

/// Margin around the points of a fitted plane, in points of the screen.
const MARGIN: f32 = 24.0;
/// Smallest zoom, relative to the fitted plane.
const MIN_ZOOM: f64 = 0.5;
/// Largest zoom where both axes share a scale: those positions are 32-bit numbers.
const MAX_ZOOM: f64 = 1e5;
/// Number of parts of the largest number on an axis that the screen can distinguish.
const PRECISION: f64 = 1e13;

/// The scaling of the two axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aspect {
    /// One scale for both axes: distances are comparable.
    Equal,
    /// Each axis fills the canvas.
    Free,
}

/// The smallest box around points; y points up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// Left and lower edge.
    pub min: [f64; 2],
    /// Right and upper edge.
    pub max: [f64; 2],
}

/// The visible part of the plane, independent of the canvas size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlaneView {
    /// Offset of the middle of the canvas from the middle of the bounds.
    offset: [f64; 2],
    /// Zoom of each axis, relative to the fitted plane.
    zoom: [f64; 2],
}

/// The mapping from the plane to the screen and back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transform {
    rect: Rect,
    bounds: Bounds,
    aspect: Aspect,
    center: [f64; 2],
    /// Points of the screen per unit of each axis.
    scale: [f64; 2],
    zoom: [f64; 2],
}

impl Default for PlaneView {
    fn default() -> Self {
        Self {
            offset: [0.0; 2],
            zoom: [1.0; 2],
        }
    }
}

impl Bounds {
    /// Returns the bounding box of `places`; positions that are not finite do not count. Without any: the unit box.
    pub fn of(places: impl IntoIterator<Item = [f64; 2]>) -> Self {
        let (mut min, mut max) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for place in places.into_iter().filter(|place| is_finite(*place)) {
            for axis in 0..2 {
                min[axis] = min[axis].min(place[axis]);
                max[axis] = max[axis].max(place[axis]);
            }
        }
        if min[0] <= max[0] {
            Self { min, max }
        } else {
            Self {
                min: [0.0; 2],
                max: [1.0; 2],
            }
        }
    }

    /// Returns the middle.
    pub fn center(&self) -> [f64; 2] {
        [0, 1].map(|axis| f64::midpoint(self.min[axis], self.max[axis]))
    }

    /// Returns width and height, never 0.
    pub fn size(&self) -> [f64; 2] {
        [0, 1].map(|axis| {
            let length = self.max[axis] - self.min[axis];
            let magnitude = self.min[axis].abs().max(self.max[axis].abs());
            if length * PRECISION > magnitude {
                length
            } else {
                (magnitude * 0.1).max(1e-6)
            }
        })
    }
}

impl PlaneView {
    /// Returns the view zoomed by a factor for each axis; the position under `pointer` does not move.
    #[must_use]
    pub fn zoomed(self, transform: &Transform, pointer: Pos2, factor: [f64; 2]) -> Self {
        let anchor = transform.to_plane(pointer);
        let from_middle = pointer - transform.rect.center();
        let from_middle = [f64::from(from_middle.x), f64::from(-from_middle.y)];
        let (middle, limits) = (transform.bounds.center(), transform.max_zoom());
        let mut next = self;
        for axis in 0..2 {
            next.zoom[axis] = (self.zoom[axis] * factor[axis]).clamp(MIN_ZOOM, limits[axis]);
            let scale = transform.scale[axis] * next.zoom[axis] / self.zoom[axis];
            next.offset[axis] = anchor[axis] - from_middle[axis] / scale - middle[axis];
        }
        next
    }

    /// Returns the view moved by `delta` on the screen.
    #[must_use]
    pub fn panned(self, transform: &Transform, delta: Vec2) -> Self {
        let [x, y] = transform.scale;
        Self {
            offset: [
                self.offset[0] - f64::from(delta.x) / x,
                self.offset[1] + f64::from(delta.y) / y,
            ],
            ..self
        }
    }

    /// Returns the view with the same zoom and `place` in the middle.
    #[must_use]
    pub fn centered(self, transform: &Transform, place: [f64; 2]) -> Self {
        let middle = transform.bounds.center();
        Self {
            offset: [place[0] - middle[0], place[1] - middle[1]],
            ..self
        }
    }

    /// Returns the view that shows `part` of the canvas of `transform`.
    #[must_use]
    pub fn zoomed_to(self, transform: &Transform, part: Rect) -> Self {
        let whole = transform.rect.size();
        let factor = whole / part.size().max(Vec2::splat(1.0));
        let factor = match transform.aspect {
            Aspect::Equal => [f64::from(factor.min_elem()); 2],
            Aspect::Free => [f64::from(factor.x), f64::from(factor.y)],
        };
        self.zoomed(transform, part.center(), factor)
            .centered(transform, transform.to_plane(part.center()))
    }
}

impl Transform {
    /// Returns the mapping of a plane with `bounds` on the canvas `rect`.
    pub fn new(rect: Rect, bounds: Bounds, aspect: Aspect, view: PlaneView) -> Self {
        let available = (rect.size() - Vec2::splat(2.0 * MARGIN)).max(Vec2::splat(1.0));
        let size = bounds.size();
        let mut fit = [
            f64::from(available.x) / size[0],
            f64::from(available.y) / size[1],
        ];
        if aspect == Aspect::Equal {
            fit = [fit[0].min(fit[1]); 2];
        }
        let middle = bounds.center();
        Self {
            rect,
            bounds,
            aspect,
            center: [0, 1].map(|axis| middle[axis] + view.offset[axis]),
            scale: [0, 1].map(|axis| fit[axis] * view.zoom[axis]),
            zoom: view.zoom,
        }
    }

    /// Returns the largest zoom of each axis; axes that share a scale stop together.
    fn max_zoom(&self) -> [f64; 2] {
        let (bounds, size) = (self.bounds, self.bounds.size());
        let limits = [0, 1].map(|axis| {
            let magnitude = bounds.min[axis].abs().max(bounds.max[axis].abs());
            PRECISION * size[axis] / magnitude.max(size[axis])
        });
        match self.aspect {
            Aspect::Equal => [limits[0].min(limits[1]).min(MAX_ZOOM); 2],
            Aspect::Free => limits.map(|limit| limit.max(1.0)),
        }
    }

    /// Returns the points of the screen per unit of each axis.
    pub fn scale(&self) -> [f64; 2] {
        self.scale
    }

    /// Returns the zoom relative to the fitted plane: the smaller one of the two axes.
    pub fn zoom(&self) -> f64 {
        self.zoom[0].min(self.zoom[1])
    }

    /// Returns the canvas.
    pub fn rect(&self) -> Rect {
        self.rect
    }

    /// Returns the position on the screen of a position of the plane.
    pub fn to_screen(self, place: [f64; 2]) -> Pos2 {
        let x = (place[0] - self.center[0]) * self.scale[0];
        let y = (self.center[1] - place[1]) * self.scale[1];
        self.rect.center() + Vec2::new(x as f32, y as f32)
    }

    /// Returns the position of the plane at a position on the screen.
    pub fn to_plane(self, place: Pos2) -> [f64; 2] {
        let from_middle = place - self.rect.center();
        [
            self.center[0] + f64::from(from_middle.x) / self.scale[0],
            self.center[1] - f64::from(from_middle.y) / self.scale[1],
        ]
    }

    /// Returns the visible part of the plane, extended by `margin` points of the screen.
    pub fn seen(&self, margin: f32) -> Bounds {
        let rect = self.rect.expand(margin);
        Bounds {
            min: self.to_plane(rect.left_bottom()),
            max: self.to_plane(rect.right_top()),
        }
    }
}

/// Returns whether `place` is inside the closed `polygon` (even-odd rule).
pub fn polygon_contains(polygon: &[[f64; 2]], place: [f64; 2]) -> bool {
    let mut is_inside = false;
    for (index, &a) in polygon.iter().enumerate() {
        let b = polygon[(index + 1) % polygon.len()];
        if (a[1] > place[1]) != (b[1] > place[1]) {
            let crossing = a[0] + (place[1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0]);
            is_inside ^= place[0] < crossing;
        }
    }
    is_inside
}

pub(super) fn is_finite(place: [f64; 2]) -> bool {
    place[0].is_finite() && place[1].is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANVAS: Rect = Rect {
        min: Pos2::new(100.0, 50.0),
        max: Pos2::new(700.0, 450.0),
    };

    fn spiral() -> Vec<[f64; 2]> {
        (0..200)
            .map(|i| f64::from(i) * 0.1)
            .map(|t| [t.cos() * t / 20.0, t.sin() * t / 20.0])
            .collect()
    }

    #[test]
    fn all_points_of_a_fitted_plane_are_on_the_canvas() {
        for aspect in [Aspect::Equal, Aspect::Free] {
            let bounds = Bounds::of(spiral());
            let transform = Transform::new(CANVAS, bounds, aspect, PlaneView::default());
            let inner = CANVAS.shrink(MARGIN - 0.01);
            assert!(
                spiral()
                    .iter()
                    .all(|&place| inner.contains(transform.to_screen(place)))
            );
        }
    }

    #[test]
    fn one_value_has_a_margin_around_it() {
        for value in [0.0, 1.8e15, -4.0] {
            let bounds = Bounds::of([[value, value]]);
            let transform = Transform::new(CANVAS, bounds, Aspect::Free, PlaneView::default());
            assert_eq!(transform.to_screen([value, value]), CANVAS.center());
            let seen = transform.seen(0.0);
            assert!(seen.min[0] < value && value < seen.max[0], "{seen:?}");
        }
    }

    #[test]
    fn times_of_a_short_run_are_distinct_though_they_count_from_the_epoch() {
        let places = [0.0, 20.0].map(|after_us| [1.8e15 + after_us * 1e3, 1.0]);
        let bounds = Bounds::of(places);
        let transform = Transform::new(CANVAS, bounds, Aspect::Free, PlaneView::default());
        let [first, last] = places.map(|place| transform.to_screen(place).x);
        assert!(last - first > CANVAS.width() * 0.7, "{first} to {last}");
    }

    #[test]
    fn the_screen_maps_back_to_the_plane_and_y_points_up() {
        let bounds = Bounds::of(spiral());
        let view = PlaneView {
            offset: [0.2, -0.1],
            zoom: [3.0, 5.0],
        };
        let transform = Transform::new(CANVAS, bounds, Aspect::Free, view);
        let back = transform.to_plane(transform.to_screen([0.3, -0.4]));
        assert!((back[0] - 0.3).abs() < 1e-6 && (back[1] + 0.4).abs() < 1e-6);
        assert!(transform.to_screen([0.0, 1.0]).y < transform.to_screen([0.0, 0.0]).y);
    }

    #[test]
    fn zooming_keeps_what_is_under_the_pointer() {
        let bounds = Bounds::of(spiral());
        let pointer = Pos2::new(170.0, 390.0);
        let mut view = PlaneView::default();
        let transform = |view| Transform::new(CANVAS, bounds, Aspect::Equal, view);
        let before = transform(view).to_plane(pointer);
        for factor in [1.3, 4.0, 0.2] {
            view = view.zoomed(&transform(view), pointer, [factor; 2]);
        }
        let after = transform(view).to_plane(pointer);
        assert!((before[0] - after[0]).abs() < 1e-9 && (before[1] - after[1]).abs() < 1e-9);
        assert!((view.zoom[0] - 1.3 * 4.0 * 0.2).abs() < 1e-9);
    }

    #[test]
    fn zooming_ends_where_values_cannot_be_distinguished() {
        let bounds = Bounds::of([[1.8e15, 0.0], [1.8e15 + 1e7, 1.0]]);
        let mut view = PlaneView::default();
        for _ in 0..300 {
            let transform = Transform::new(CANVAS, bounds, Aspect::Free, view);
            view = view.zoomed(&transform, CANVAS.center(), [2.0; 2]);
        }
        let seen = Transform::new(CANVAS, bounds, Aspect::Free, view).seen(0.0);
        assert!(seen.max[0] > seen.min[0] && seen.max[1] > seen.min[1]);
    }

    #[test]
    fn panning_moves_the_plane_with_the_pointer() {
        let bounds = Bounds::of(spiral());
        let view = PlaneView {
            offset: [0.0; 2],
            zoom: [2.0; 2],
        };
        let transform = |view| Transform::new(CANVAS, bounds, Aspect::Free, view);
        let delta = Vec2::new(30.0, -12.0);
        let before = transform(view);
        let after = transform(view.panned(&before, delta));
        let moved = after.to_screen([0.5, 0.5]) - before.to_screen([0.5, 0.5]);
        assert!((moved - delta).length() < 1e-3, "{moved:?}");
    }

    #[test]
    fn a_box_zoom_shows_the_box() {
        let bounds = Bounds::of(spiral());
        let part = Rect::from_min_max(Pos2::new(200.0, 100.0), Pos2::new(320.0, 160.0));
        for aspect in [Aspect::Equal, Aspect::Free] {
            let before = Transform::new(CANVAS, bounds, aspect, PlaneView::default());
            let view = PlaneView::default().zoomed_to(&before, part);
            let after = Transform::new(CANVAS, bounds, aspect, view);
            let corners = [part.left_top(), part.right_bottom()]
                .map(|at| after.to_screen(before.to_plane(at)));
            let shown = Rect::from_two_pos(corners[0], corners[1]);
            assert!(CANVAS.expand(0.1).contains_rect(shown), "{shown:?}");
            assert!((shown.width() - CANVAS.width()).abs() < 0.1);
            assert!((shown.center() - CANVAS.center()).length() < 0.1);
        }
    }

    #[test]
    fn a_polygon_does_not_contain_its_bay() {
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
}
