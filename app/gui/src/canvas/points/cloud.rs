//! Points with their places and looks, in the order in which they are drawn fastest.

use std::collections::BTreeMap;

use egui::Color32;

use super::geometry::Bounds;
use super::grid::PointGrid;

/// The shape of a mark: what colours do not tell, shapes do.
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

/// How a point looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointMark {
    /// Colour of the shape.
    pub color: Color32,
    /// Colour of a ring around it, for what a person said of it; transparent for none.
    pub ring: Color32,
    /// Its shape.
    pub shape: MarkShape,
    /// Whether it is drawn larger, above the others, and never merged with them into a density.
    pub stands_out: bool,
}

/// Points of a plane. Built once; only their looks change.
#[derive(Clone, Debug)]
pub struct PointCloud {
    places: Vec<[f64; 2]>,
    marks: Vec<PointMark>,
    grid: PointGrid,
    /// Points that do not stand out, by slot: what a density is made of. Transparent where the slot's
    /// point stands out.
    crowd: Vec<CrowdPoint>,
    /// How many points before each slot stand out, shape `[n_slots + 1]`.
    standing_before: Vec<u32>,
    /// The points that stand out, by slot.
    standing: Vec<u32>,
    /// Their places, one after another in memory.
    standing_places: Vec<[f64; 2]>,
    /// How many cells of the grid hold so many points that do not stand out.
    crowding: BTreeMap<u32, u32>,
}

/// Twelve bytes, so that a million of them are read in a few milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct CrowdPoint {
    /// From the middle of the bounds.
    pub(super) place: [f32; 2],
    pub(super) color: Color32,
}

impl PointCloud {
    /// Points at `places` of the plane; one whose place is not finite is never drawn nor hit.
    pub fn new(places: Vec<[f64; 2]>, marks: Vec<PointMark>) -> Self {
        let grid = PointGrid::new(&places);
        let middle = grid.bounds().center();
        let crowd = grid.order().iter().map(|&point| {
            let place = places[point as usize];
            CrowdPoint {
                place: [0, 1].map(|axis| (place[axis] - middle[axis]) as f32),
                color: Color32::TRANSPARENT,
            }
        });
        let mut cloud = Self {
            crowd: crowd.collect(),
            standing_before: Vec::new(),
            standing: Vec::new(),
            standing_places: Vec::new(),
            crowding: BTreeMap::new(),
            marks: Vec::new(),
            places,
            grid,
        };
        cloud.set_marks(marks);
        cloud
    }

    /// Gives the points other looks, shape `[n_points]`.
    pub fn set_marks(&mut self, marks: Vec<PointMark>) {
        self.standing.clear();
        self.standing_places.clear();
        self.standing_before.clear();
        self.standing_before.push(0);
        for (slot, &point) in self.grid.order().iter().enumerate() {
            let mark = marks[point as usize];
            self.crowd[slot].color = if mark.stands_out {
                self.standing.push(point);
                self.standing_places.push(self.places[point as usize]);
                Color32::TRANSPARENT
            } else {
                mark.color
            };
            self.standing_before.push(self.standing.len() as u32);
        }
        self.marks = marks;
        let mut crowding = BTreeMap::new();
        for slots in self.grid.slots_by_cell(self.bounds()) {
            let count = slots.len() - self.standing_in(&slots).len();
            *crowding.entry(count as u32).or_default() += 1;
        }
        self.crowding = crowding;
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Number of points that have a place.
    pub fn num_placed(&self) -> usize {
        self.crowd.len()
    }

    /// Where each point is on the plane.
    pub fn places(&self) -> &[[f64; 2]] {
        &self.places
    }

    /// How each point looks.
    pub fn marks(&self) -> &[PointMark] {
        &self.marks
    }

    /// What finds points by their place.
    pub fn grid(&self) -> &PointGrid {
        &self.grid
    }

    /// The box of the points.
    pub fn bounds(&self) -> Bounds {
        self.grid.bounds()
    }

    /// Points that do not stand out, by slot.
    pub(super) fn crowd(&self) -> &[CrowdPoint] {
        &self.crowd
    }

    /// How many cells of the grid hold so many points that do not stand out.
    pub(super) fn crowding(&self) -> &BTreeMap<u32, u32> {
        &self.crowding
    }

    /// The points among `slots` that stand out.
    pub(super) fn standing_in(&self, slots: &std::ops::Range<usize>) -> &[u32] {
        &self.standing[self.standing_range(slots)]
    }

    /// The same with their places.
    pub(super) fn standing_at(
        &self,
        slots: &std::ops::Range<usize>,
    ) -> impl Iterator<Item = (u32, [f64; 2])> + use<'_> {
        let range = self.standing_range(slots);
        let places = &self.standing_places[range.clone()];
        self.standing[range]
            .iter()
            .copied()
            .zip(places.iter().copied())
    }

    fn standing_range(&self, slots: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let [first, last] =
            [slots.start, slots.end].map(|slot| self.standing_before[slot] as usize);
        first..last
    }
}
