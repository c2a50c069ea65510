//! Draws points: sizes and opacities by how many there are, in layers that hide nothing that matters.
//!
//! From below: points that do not stand out, as marks or, when they are many, as a density; rings of
//! what is selected; points that stand out; what is selected once more, so that no ring lies on it.

use egui::{Painter, Pos2, Rect, Shape, Stroke, StrokeKind, TextureId};

use super::cloud::PointCloud;
use super::density::{self, Density};
use super::geometry::{Bounds, Transform};
use super::sprites::{Marks, Sprite};
use crate::theme::{RADIUS, Theme};

/// Marks in one mesh; more become a density, or one square for each cell of the screen.
pub(super) const MAX_MARKS: usize = 40_000;
/// Radii of marks that do not stand out, in points of the screen.
const CROWD_RADII: std::ops::RangeInclusive<f32> = 1.5..=3.8;
/// Radii of marks that do.
const STANDING_RADII: std::ops::RangeInclusive<f32> = 2.4..=5.2;
/// Share of its part of the screen that a mark may have.
const SHARE: f32 = 0.3;
/// Opacity of a mark that overlaps no other.
const FULL: f32 = 0.9;
/// Least opacity of a mark that does not stand out, of one that does, and of a ring.
const LEAST_CROWD: f32 = 0.25;
const LEAST_STANDING: f32 = 0.5;
const LEAST_RING: f32 = 0.18;
/// Opacity of the others while a group is selected.
const DIMMED: f32 = 0.5;

/// What of a canvas is drawn.
pub(super) struct Picture<'a> {
    pub(super) cloud: &'a PointCloud,
    pub(super) transform: &'a Transform,
    pub(super) theme: &'a Theme,
    /// Selected points.
    pub(super) selected: &'a [u32],
    texture: TextureId,
    sizes: Sizes,
}

/// How many points are seen, and how large they are drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sizes {
    num_crowd: usize,
    num_standing: usize,
    crowd: f32,
    standing: f32,
}

impl Sizes {
    fn of(cloud: &PointCloud, transform: &Transform) -> Self {
        let (mut num_points, mut num_standing) = (0, 0);
        for slots in cloud.grid().rows_in(transform.seen(0.0)) {
            num_standing += cloud.standing_in(&slots).len();
            num_points += slots.len();
        }
        let num_crowd = num_points - num_standing;
        let area = transform.rect().area();
        let radius = |count: usize, radii: &std::ops::RangeInclusive<f32>| {
            let share = SHARE * (area / count.max(1) as f32).sqrt();
            share.clamp(*radii.start(), *radii.end())
        };
        Self {
            num_crowd,
            num_standing,
            crowd: radius(num_crowd, &CROWD_RADII),
            standing: radius(num_standing, &STANDING_RADII),
        }
    }
}

impl<'a> Picture<'a> {
    pub(super) fn new(
        cloud: &'a PointCloud,
        transform: &'a Transform,
        theme: &'a Theme,
        selected: &'a [u32],
        texture: TextureId,
    ) -> Self {
        Self {
            sizes: Sizes::of(cloud, transform),
            cloud,
            transform,
            theme,
            selected,
            texture,
        }
    }

    /// Draws all layers.
    pub(super) fn paint(&self, known: &mut Option<Density>, painter: &Painter) {
        if self.is_density() {
            let opacity = if self.is_group() { DIMMED } else { 1.0 };
            density::paint(known, self.cloud, self.transform, opacity, painter);
        } else {
            *known = None;
            painter.add(Shape::mesh(self.crowd().into_mesh()));
        }
        for layer in [self.rings(), self.standing(), self.selected_crowd()] {
            painter.add(Shape::mesh(layer.into_mesh()));
        }
    }

    /// Radius of the mark of a point.
    pub(super) fn radius(&self, point: usize) -> f32 {
        if self.cloud.marks()[point].stands_out {
            self.sizes.standing
        } else {
            self.sizes.crowd
        }
    }

    fn is_density(&self) -> bool {
        self.sizes.num_crowd > MAX_MARKS
    }

    fn is_group(&self) -> bool {
        self.selected.len() > 1
    }

    fn marks(&self) -> Marks {
        Marks::new(self.texture, self.transform.rect())
    }

    /// What may reach into the canvas.
    fn seen(&self) -> Bounds {
        self.transform.seen(*STANDING_RADII.end() * 2.0)
    }

    fn place(&self, point: u32) -> Pos2 {
        self.transform
            .to_screen(self.cloud.places()[point as usize])
    }

    /// Opacity of marks of `radius` where `count` of them share a cell of the grid.
    fn opacity(&self, count: usize, radius: f32, least: f32) -> f32 {
        let [width, height] = self.cloud.grid().cell_size();
        let [x, y] = self.transform.scale();
        let area = (width * x * height * y) as f32;
        let overlap = count as f32 * std::f32::consts::PI * radius * radius / area;
        (FULL / overlap.max(1.0).sqrt()).max(least)
    }

    /// Points that do not stand out, one by one.
    pub(super) fn crowd(&self) -> Marks {
        let mut marks = self.marks();
        let radius = self.sizes.crowd;
        let dimming = if self.is_group() { DIMMED } else { 1.0 };
        for slots in self.cloud.grid().slots_by_cell(self.seen()) {
            let opacity = self.opacity(slots.len(), radius, LEAST_CROWD) * dimming;
            for &point in &self.cloud.grid().order()[slots] {
                let mark = self.cloud.marks()[point as usize];
                if !mark.stands_out {
                    let color = mark.color.gamma_multiply(opacity);
                    marks.add(mark.shape.into(), self.place(point), radius, color);
                }
            }
        }
        marks
    }

    /// Rings of selected points, below all marks that they could hide.
    pub(super) fn rings(&self) -> Marks {
        let mut marks = self.marks();
        if self.selected.len() > MAX_MARKS {
            let color = self.theme.selection().gamma_multiply(LEAST_RING * 2.0);
            let places = self.cloud.places();
            let points = self.selected.iter();
            let points = points.map(|&point| (point, places[point as usize]));
            self.thinned(points, &mut marks, |_| color);
            return marks;
        }
        for &point in self.selected.iter().filter(|&&point| self.is_seen(point)) {
            let radius = self.radius(point as usize) + 2.5;
            let count = self
                .cloud
                .grid()
                .crowding(self.cloud.places()[point as usize]);
            let opacity = self.opacity(count, radius, LEAST_RING);
            let color = self.theme.selection().gamma_multiply(opacity);
            marks.add(Sprite::Ring, self.place(point), radius, color);
        }
        marks
    }

    /// Points that stand out, each with ink at its place whatever their number.
    pub(super) fn standing(&self) -> Marks {
        let mut marks = self.marks();
        let grid = self.cloud.grid();
        if self.sizes.num_standing > MAX_MARKS {
            let rows = grid.rows_in(self.seen());
            let points = rows.flat_map(|slots| self.cloud.standing_at(&slots));
            let color = |point: u32| {
                let color = self.cloud.marks()[point as usize].color;
                color.gamma_multiply(FULL)
            };
            self.thinned(points, &mut marks, color);
            return marks;
        }
        let radius = self.sizes.standing;
        for slots in grid.slots_by_cell(self.seen()) {
            let standing = self.cloud.standing_in(&slots);
            if standing.is_empty() {
                continue;
            }
            let opacity = self.opacity(standing.len(), radius, LEAST_STANDING);
            // An edge keeps marks apart, but where they lie upon each other it would hide what is below.
            let edge = self
                .theme
                .canvas()
                .gamma_multiply(if opacity < FULL { 0.0 } else { 0.8 });
            for &point in standing {
                let (mark, at) = (self.cloud.marks()[point as usize], self.place(point));
                let sprite = mark.shape.into();
                marks.add(sprite, at, radius + 1.2, edge);
                marks.add(sprite, at, radius, mark.color.gamma_multiply(opacity));
                let ring = mark.ring.gamma_multiply(opacity);
                marks.add(Sprite::Ring, at, radius + 2.5, ring);
            }
        }
        marks
    }

    /// Selected points that do not stand out, once more and above their rings.
    pub(super) fn selected_crowd(&self) -> Marks {
        let mut marks = self.marks();
        if self.selected.len() > MAX_MARKS {
            return marks;
        }
        for &point in self.selected.iter().filter(|&&point| self.is_seen(point)) {
            let mark = self.cloud.marks()[point as usize];
            if !mark.stands_out {
                let radius = self.sizes.crowd;
                let color = mark.color.gamma_multiply(FULL);
                marks.add(mark.shape.into(), self.place(point), radius, color);
            }
        }
        marks
    }

    fn is_seen(&self, point: u32) -> bool {
        self.place(point).is_finite()
    }

    /// One square for each cell of the screen that has any of `points`, in the colour of the first. The
    /// cells lie still on the plane while it is moved.
    fn thinned(
        &self,
        points: impl Iterator<Item = (u32, [f64; 2])>,
        marks: &mut Marks,
        color: impl Fn(u32) -> egui::Color32,
    ) {
        let rect = self.transform.rect();
        let side = (rect.area() / MAX_MARKS as f32).sqrt().max(2.0);
        let anchor = self.transform.to_screen(self.cloud.bounds().center());
        let corner = Pos2::new(
            rect.left() - (rect.left() - anchor.x).rem_euclid(side),
            rect.top() - (rect.top() - anchor.y).rem_euclid(side),
        );
        let num_columns = (rect.width() / side) as usize + 2;
        let num_rows = (rect.height() / side) as usize + 2;
        let mut is_taken = vec![false; num_columns * num_rows];
        for (point, place) in points {
            let place = self.transform.to_screen(place);
            if !rect.contains(place) {
                continue;
            }
            let cell = ((place - corner) / side).floor();
            let taken = &mut is_taken[cell.y as usize * num_columns + cell.x as usize];
            if !std::mem::replace(taken, true) {
                let cell = Rect::from_min_size(corner + cell * side, egui::Vec2::splat(side));
                marks.add_square(cell, color(point));
            }
        }
    }
}

/// The ground below all points.
pub(super) fn paint_ground(rect: Rect, has_focus: bool, theme: &Theme, painter: &Painter) {
    let outline = if has_focus {
        Stroke::new(2.0, theme.accent())
    } else {
        Stroke::new(1.0, theme.outline())
    };
    painter.rect(rect, RADIUS, theme.canvas(), outline, StrokeKind::Inside);
}
