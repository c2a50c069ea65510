//! Draws points in layers; their number determines sizes and opacities.
//!
//! From bottom to top: points that are not prominent, as marks or, if there are many, as a density; rings of selected
//! points; prominent points; the selected points again, so that no ring covers them.

use callgrove_widgets::theme::{RADIUS, Theme};
use egui::{Painter, Pos2, Rect, Stroke, StrokeKind, TextureId};

use super::cloud::PointCloud;
use super::density::{self, Density};
use super::geometry::{Bounds, Transform};
use super::sprites::{Sprite, SpriteMesh};

/// Maximum number of marks in one mesh; more become a density, or one square for each cell of the screen.
pub(super) const MAX_MARKS: usize = 40_000;
/// Radii of marks that are not prominent, in points of the screen.
const ORDINARY_RADII: std::ops::RangeInclusive<f32> = 1.5..=3.8;
/// Radii of prominent marks, in points of the screen.
const PROMINENT_RADII: std::ops::RangeInclusive<f32> = 2.4..=5.2;
/// Fraction of its share of the screen that a mark may cover.
const COVERED_SHARE: f32 = 0.3;
/// Opacity of a mark that overlaps no other.
const FULL_OPACITY: f32 = 0.9;
/// Smallest opacity of a mark that is not prominent.
const MIN_ORDINARY_OPACITY: f32 = 0.25;
/// Smallest opacity of a prominent mark.
const MIN_PROMINENT_OPACITY: f32 = 0.5;
/// Smallest opacity of a ring.
const MIN_RING_OPACITY: f32 = 0.18;
/// Opacity of the other points while a group is selected.
const DIMMED: f32 = 0.5;

/// Everything that a frame of a canvas draws.
pub(super) struct PointLayers<'a> {
    pub(super) cloud: &'a PointCloud,
    pub(super) transform: &'a Transform,
    pub(super) theme: &'a Theme,
    /// Selected points.
    pub(super) selected: &'a [u32],
    /// The texture of the marks; `None` in a picture.
    texture: Option<TextureId>,
    sizes: MarkSizes,
}

/// The number of visible points, and the radii that they are drawn with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct MarkSizes {
    num_ordinary: usize,
    num_prominent: usize,
    ordinary: f32,
    prominent: f32,
}

impl MarkSizes {
    fn of(cloud: &PointCloud, transform: &Transform) -> Self {
        let (mut num_points, mut num_prominent) = (0, 0);
        for slots in cloud.grid().rows_in(transform.seen(0.0)) {
            num_prominent += cloud.prominent_in(&slots).len();
            num_points += slots.len();
        }
        let num_ordinary = num_points - num_prominent;
        let area = transform.rect().area();
        let radius = |count: usize, radii: &std::ops::RangeInclusive<f32>| {
            let share = COVERED_SHARE * (area / count.max(1) as f32).sqrt();
            share.clamp(*radii.start(), *radii.end())
        };
        Self {
            num_ordinary,
            num_prominent,
            ordinary: radius(num_ordinary, &ORDINARY_RADII),
            prominent: radius(num_prominent, &PROMINENT_RADII),
        }
    }
}

impl<'a> PointLayers<'a> {
    pub(super) fn new(
        cloud: &'a PointCloud,
        transform: &'a Transform,
        theme: &'a Theme,
        selected: &'a [u32],
        texture: Option<TextureId>,
    ) -> Self {
        Self {
            sizes: MarkSizes::of(cloud, transform),
            cloud,
            transform,
            theme,
            selected,
            texture,
        }
    }

    /// Paints all layers.
    pub(super) fn paint(&self, known: &mut Option<Density>, painter: &Painter) {
        if self.is_density() {
            let opacity = if self.is_group() { DIMMED } else { 1.0 };
            if self.theme.is_for_picture() {
                density::paint_plain(self.cloud, self.transform, opacity, painter);
            } else {
                density::paint(known, self.cloud, self.transform, opacity, painter);
            }
        } else {
            *known = None;
            painter.add(self.ordinary().into_shape());
        }
        for layer in [self.rings(), self.prominent(), self.selected_ordinary()] {
            painter.add(layer.into_shape());
        }
    }

    /// Returns the radius of the mark of a point.
    pub(super) fn radius(&self, point: usize) -> f32 {
        if self.cloud.marks()[point].is_prominent {
            self.sizes.prominent
        } else {
            self.sizes.ordinary
        }
    }

    fn is_density(&self) -> bool {
        self.sizes.num_ordinary > MAX_MARKS
    }

    fn is_group(&self) -> bool {
        self.selected.len() > 1
    }

    fn marks(&self) -> SpriteMesh {
        SpriteMesh::new(self.texture, self.transform.rect())
    }

    /// Returns the part of the plane whose marks may reach into the canvas.
    fn seen(&self) -> Bounds {
        self.transform.seen(*PROMINENT_RADII.end() * 2.0)
    }

    fn place(&self, point: u32) -> Pos2 {
        self.transform
            .to_screen(self.cloud.places()[point as usize])
    }

    /// Returns the opacity of marks of `radius` where `count` of them share a cell of the grid.
    fn opacity(&self, count: usize, radius: f32, least: f32) -> f32 {
        let [width, height] = self.cloud.grid().cell_size();
        let [x, y] = self.transform.scale();
        let area = (width * x * height * y) as f32;
        let overlap = count as f32 * std::f32::consts::PI * radius * radius / area;
        (FULL_OPACITY / overlap.max(1.0).sqrt()).max(least)
    }

    /// Returns the points that are not prominent, one by one.
    pub(super) fn ordinary(&self) -> SpriteMesh {
        let mut marks = self.marks();
        let radius = self.sizes.ordinary;
        let dimming = if self.is_group() { DIMMED } else { 1.0 };
        for slots in self.cloud.grid().slots_by_cell(self.seen()) {
            let opacity = self.opacity(slots.len(), radius, MIN_ORDINARY_OPACITY) * dimming;
            for &point in &self.cloud.grid().order()[slots] {
                let mark = self.cloud.marks()[point as usize];
                if !mark.is_prominent {
                    let color = mark.color.gamma_multiply(opacity);
                    marks.add(mark.shape.into(), self.place(point), radius, color);
                }
            }
        }
        marks
    }

    /// Returns the rings of selected points; they are below all marks that they could hide.
    pub(super) fn rings(&self) -> SpriteMesh {
        let mut marks = self.marks();
        if self.selected.len() > MAX_MARKS {
            let color = self
                .theme
                .selection()
                .gamma_multiply(MIN_RING_OPACITY * 2.0);
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
                .num_in_cell(self.cloud.places()[point as usize]);
            let opacity = self.opacity(count, radius, MIN_RING_OPACITY);
            let color = self.theme.selection().gamma_multiply(opacity);
            marks.add(Sprite::Ring, self.place(point), radius, color);
        }
        marks
    }

    /// Returns the prominent points; each covers its position, whatever their number.
    pub(super) fn prominent(&self) -> SpriteMesh {
        let mut marks = self.marks();
        let grid = self.cloud.grid();
        if self.sizes.num_prominent > MAX_MARKS {
            let rows = grid.rows_in(self.seen());
            let points = rows.flat_map(|slots| self.cloud.prominent_at(&slots));
            let color = |point: u32| {
                let color = self.cloud.marks()[point as usize].color;
                color.gamma_multiply(FULL_OPACITY)
            };
            self.thinned(points, &mut marks, color);
            return marks;
        }
        let radius = self.sizes.prominent;
        for slots in grid.slots_by_cell(self.seen()) {
            let prominent = self.cloud.prominent_in(&slots);
            if prominent.is_empty() {
                continue;
            }
            let opacity = self.opacity(prominent.len(), radius, MIN_PROMINENT_OPACITY);
            // An edge separates marks, but where they overlap it would hide the ones below.
            let edge = self
                .theme
                .canvas()
                .gamma_multiply(if opacity < FULL_OPACITY { 0.0 } else { 0.8 });
            for &point in prominent {
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

    /// Returns the selected points that are not prominent, again and above their rings.
    pub(super) fn selected_ordinary(&self) -> SpriteMesh {
        let mut marks = self.marks();
        if self.selected.len() > MAX_MARKS {
            return marks;
        }
        for &point in self.selected.iter().filter(|&&point| self.is_seen(point)) {
            let mark = self.cloud.marks()[point as usize];
            if !mark.is_prominent {
                let radius = self.sizes.ordinary;
                let color = mark.color.gamma_multiply(FULL_OPACITY);
                marks.add(mark.shape.into(), self.place(point), radius, color);
            }
        }
        marks
    }

    fn is_seen(&self, point: u32) -> bool {
        self.place(point).is_finite()
    }

    /// Adds one square for each cell of the screen that contains any of `points`, in the colour of the first. The cells
    /// do not move on the plane when the view pans.
    fn thinned(
        &self,
        points: impl Iterator<Item = (u32, [f64; 2])>,
        marks: &mut SpriteMesh,
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

/// Paints the background below all points.
pub(super) fn paint_ground(rect: Rect, has_focus: bool, theme: &Theme, painter: &Painter) {
    let outline = if has_focus {
        Stroke::new(2.0, theme.accent())
    } else {
        Stroke::new(1.0, theme.outline())
    };
    painter.rect(rect, RADIUS, theme.canvas(), outline, StrokeKind::Inside);
}
