//! Points with their positions and marks, in the order that is fastest to draw.

use std::collections::BTreeMap;

use egui::{Color32, Pos2, Shape, Stroke, Vec2};

use super::geometry::Bounds;
use super::grid::PointGrid;

/// The shape of a mark: distinguishes what colours do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkShape {
    /// A filled circle.
    Disc,
    /// A filled square.
    Square,
    /// A filled triangle.
    Triangle,
    /// A filled square on its corner.
    Diamond,
}

/// The appearance of a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointMark {
    /// Colour of the shape.
    pub color: Color32,
    /// Colour of a ring around it, for the user's label; transparent if unlabelled.
    pub ring: Color32,
    /// Shape of the mark.
    pub shape: MarkShape,
    /// True if it is drawn larger, above the others, and never merged with them into a density.
    pub is_prominent: bool,
}

/// Points of a plane. Built once; only their marks change.
#[derive(Clone, Debug)]
pub struct PointCloud {
    places: Vec<[f64; 2]>,
    marks: Vec<PointMark>,
    grid: PointGrid,
    /// Points that are not prominent, by slot; the density is made of these. Transparent at the slot of a prominent
    /// point.
    ordinary: Vec<OrdinaryPoint>,
    /// Number of prominent points before each slot, shape `[n_slots + 1]`.
    prominent_before: Vec<u32>,
    /// The prominent points, by slot.
    prominent: Vec<u32>,
    /// Positions of the prominent points, contiguous in memory.
    prominent_places: Vec<[f64; 2]>,
    /// Number of grid cells by the number of non-prominent points in a cell.
    cells_by_count: BTreeMap<u32, u32>,
}

/// A point of the density. Twelve bytes, so that a million of them are read in a few milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrdinaryPoint {
    /// Offset from the middle of the bounds.
    pub(super) place: [f32; 2],
    pub(super) color: Color32,
}

impl PointCloud {
    /// Creates points at `places` of the plane; one whose position is not finite is never drawn nor hit.
    pub fn new(places: Vec<[f64; 2]>, marks: Vec<PointMark>) -> Self {
        let grid = PointGrid::new(&places);
        let middle = grid.bounds().center();
        let ordinary = grid.order().iter().map(|&point| {
            let place = places[point as usize];
            OrdinaryPoint {
                place: [0, 1].map(|axis| (place[axis] - middle[axis]) as f32),
                color: Color32::TRANSPARENT,
            }
        });
        let mut cloud = Self {
            ordinary: ordinary.collect(),
            prominent_before: Vec::new(),
            prominent: Vec::new(),
            prominent_places: Vec::new(),
            cells_by_count: BTreeMap::new(),
            marks: Vec::new(),
            places,
            grid,
        };
        cloud.set_marks(marks);
        cloud
    }

    /// Replaces the marks, shape `[n_points]`.
    pub fn set_marks(&mut self, marks: Vec<PointMark>) {
        self.prominent.clear();
        self.prominent_places.clear();
        self.prominent_before.clear();
        self.prominent_before.push(0);
        for (slot, &point) in self.grid.order().iter().enumerate() {
            let mark = marks[point as usize];
            self.ordinary[slot].color = if mark.is_prominent {
                self.prominent.push(point);
                self.prominent_places.push(self.places[point as usize]);
                Color32::TRANSPARENT
            } else {
                mark.color
            };
            self.prominent_before.push(self.prominent.len() as u32);
        }
        self.marks = marks;
        let mut cells_by_count = BTreeMap::new();
        for slots in self.grid.slots_by_cell(self.bounds()) {
            let count = slots.len() - self.prominent_in(&slots).len();
            *cells_by_count.entry(count as u32).or_default() += 1;
        }
        self.cells_by_count = cells_by_count;
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the number of points with a finite position.
    pub fn num_placed(&self) -> usize {
        self.ordinary.len()
    }

    /// Returns the position of each point on the plane.
    pub fn places(&self) -> &[[f64; 2]] {
        &self.places
    }

    /// Returns the mark of each point.
    pub fn marks(&self) -> &[PointMark] {
        &self.marks
    }

    /// Returns the grid that finds points by their position.
    pub fn grid(&self) -> &PointGrid {
        &self.grid
    }

    /// Returns the bounding box of the points.
    pub fn bounds(&self) -> Bounds {
        self.grid.bounds()
    }

    /// Returns the points that are not prominent, by slot.
    pub(super) fn ordinary(&self) -> &[OrdinaryPoint] {
        &self.ordinary
    }

    /// Returns the number of grid cells by the number of non-prominent points in a cell.
    pub(super) fn cells_by_count(&self) -> &BTreeMap<u32, u32> {
        &self.cells_by_count
    }

    /// Returns the prominent points among `slots`.
    pub(super) fn prominent_in(&self, slots: &std::ops::Range<usize>) -> &[u32] {
        &self.prominent[self.prominent_range(slots)]
    }

    /// Returns the prominent points among `slots` with their positions.
    pub(super) fn prominent_at(
        &self,
        slots: &std::ops::Range<usize>,
    ) -> impl Iterator<Item = (u32, [f64; 2])> + use<'_> {
        let range = self.prominent_range(slots);
        let places = &self.prominent_places[range.clone()];
        self.prominent[range]
            .iter()
            .copied()
            .zip(places.iter().copied())
    }

    fn prominent_range(&self, slots: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let [first, last] =
            [slots.start, slots.end].map(|slot| self.prominent_before[slot] as usize);
        first..last
    }
}

/// Returns the shape of a mark alone, for a legend: its middle, half its size and its colour.
pub fn mark_shape(shape: MarkShape, at: Pos2, radius: f32, color: Color32) -> Shape {
    let corners: &[[f32; 2]] = match shape {
        MarkShape::Disc => return Shape::circle_filled(at, radius, color),
        MarkShape::Square => &[[-0.8, -0.8], [0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]],
        MarkShape::Triangle => &[[0.0, -1.1], [1.0, 0.65], [-1.0, 0.65]],
        MarkShape::Diamond => &[[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]],
    };
    let corners = corners
        .iter()
        .map(|&corner| at + Vec2::from(corner) * radius)
        .collect();
    Shape::convex_polygon(corners, color, Stroke::NONE)
}
