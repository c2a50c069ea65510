//! Many points as one picture: the number of points and their colours at each spot of the plane.
//!
//! Only points that are not prominent are counted. A point alone on its spot is still seen.
//!
//! Spots do not move on the plane when the view pans, so only spots that come into view are counted. The texture is a
//! ring buffer in both axes: the index of a spot is its number modulo the side, and a spot that comes into view
//! replaces the one that left it longest ago.

use std::ops::Range;

use egui::{Color32, ColorImage, Mesh, Painter, Pos2, Rect, Shape, TextureHandle, TextureOptions};

use super::cloud::PointCloud;
use super::geometry::{Bounds, Transform};

/// Side of a spot, in points of the screen.
const SPOT: f64 = 2.0;
/// Number of spots counted ahead of the visible part, on each side.
const AHEAD: i64 = 24;
/// Opacity of a spot with the mean number of points.
const MEAN_OPACITY: f32 = 0.6;
/// Opacity of a spot with one point.
const MIN_OPACITY: f32 = 0.2;
/// Maximum count that still raises the opacity.
const MAX_COUNT: usize = 256;
/// Upper bound of the relative error of a position in 32 bits.
const ROUNDING: f64 = 1e-6;

/// Columns and rows of spots, counted from the middle of all points to the right and downwards.
type Region = [Range<i64>; 2];

/// The picture at one scale.
pub(super) struct Density {
    spots: Spots,
    texture: TextureHandle,
}

/// The visible part of the plane, in spots.
struct VisibleSpots {
    /// Spots per unit of each axis.
    scale: [f64; 2],
    /// The upper left corner.
    corner: [f64; 2],
    size: [f64; 2],
}

/// The spots in the texture.
struct Spots {
    scale: [f64; 2],
    /// Sides of the texture.
    sides: [i64; 2],
    counted: Region,
    /// Opacity by number of points.
    opacity: Vec<f32>,
}

/// A part of the texture and its position there.
struct Patch {
    at: [usize; 2],
    image: ColorImage,
}

/// Paints the points of `cloud` that are not prominent; `known` is the picture of the previous frame.
pub(super) fn paint(
    known: &mut Option<Density>,
    cloud: &PointCloud,
    transform: &Transform,
    opacity: f32,
    painter: &Painter,
) {
    let seen = VisibleSpots::new(cloud, transform);
    let mut density = known
        .take()
        .filter(|known| known.spots.sides == seen.sides())
        .unwrap_or_else(|| Density::new(cloud, &seen, painter.ctx()));
    if density.spots.scale.iter().ne(&seen.scale) {
        density.spots = Spots::new(cloud, &seen);
    }
    for Patch { at, image } in density.spots.follow(cloud, &seen.region()) {
        let options = TextureOptions::LINEAR_REPEAT;
        density.texture.set_partial(at, image, options);
    }
    let mut mesh = Mesh::with_texture(density.texture.id());
    let tint = Color32::WHITE.gamma_multiply(opacity);
    mesh.add_rect_with_uv(transform.rect(), density.spots.uv(&seen), tint);
    painter.add(Shape::mesh(mesh));
    *known = Some(density);
}

/// Paints the same as one rectangle for each spot, without a texture.
pub(super) fn paint_plain(
    cloud: &PointCloud,
    transform: &Transform,
    opacity: f32,
    painter: &Painter,
) {
    let seen = VisibleSpots::new(cloud, transform);
    let region = seen.region();
    let image = Spots::new(cloud, &seen).picture(cloud, &region);
    let spot = SPOT as f32;
    let corner = transform.rect().min;
    let first = [0, 1].map(|axis| (region[axis].start as f64 - seen.corner[axis]) as f32 * spot);
    let mut mesh = Mesh::default();
    for (row, colors) in image.pixels.chunks(image.size[0].max(1)).enumerate() {
        for (column, color) in colors.iter().enumerate() {
            if color.a() > 0 {
                let x = corner.x + first[0] + column as f32 * spot;
                let y = corner.y + first[1] + row as f32 * spot;
                let place = Rect::from_min_size(Pos2::new(x, y), egui::Vec2::splat(spot));
                mesh.add_colored_rect(place, color.gamma_multiply(opacity));
            }
        }
    }
    painter.add(Shape::mesh(mesh));
}

impl Density {
    fn new(cloud: &PointCloud, seen: &VisibleSpots, ctx: &egui::Context) -> Self {
        let size = seen.sides().map(|side| side as usize);
        let image = ColorImage::filled(size, Color32::TRANSPARENT);
        Self {
            spots: Spots::new(cloud, seen),
            texture: ctx.load_texture("density of points", image, TextureOptions::LINEAR_REPEAT),
        }
    }
}

impl VisibleSpots {
    fn new(cloud: &PointCloud, transform: &Transform) -> Self {
        let rect = transform.rect();
        let (place, middle) = (transform.to_plane(rect.min), cloud.bounds().center());
        let scale = transform.scale().map(|scale| scale / SPOT);
        let [x, y] = [0, 1].map(|axis| (place[axis] - middle[axis]) * scale[axis]);
        Self {
            scale,
            corner: [x, -y],
            size: [rect.width(), rect.height()].map(|length| f64::from(length) / SPOT),
        }
    }

    /// Returns all spots that are at least partly visible, and the adjacent ones that they blend into.
    fn region(&self) -> Region {
        [0, 1].map(|axis| {
            let (start, end) = (self.corner[axis], self.corner[axis] + self.size[axis]);
            start.floor() as i64 - 1..end.ceil() as i64 + 1
        })
    }

    /// Returns the sides of a texture for it: powers of two, since some GPUs repeat no other texture.
    fn sides(&self) -> [i64; 2] {
        self.size
            .map(|length| (length.ceil() as u64 + 3 + 2 * AHEAD as u64).next_power_of_two() as i64)
    }
}

impl Spots {
    fn new(cloud: &PointCloud, seen: &VisibleSpots) -> Self {
        Self {
            scale: seen.scale,
            sides: seen.sides(),
            counted: [0..0, 0..0],
            opacity: opacities(mean_count(cloud, seen.scale)),
        }
    }

    /// Counts the visible spots that have not been counted.
    fn follow(&mut self, cloud: &PointCloud, seen: &Region) -> Vec<Patch> {
        let mut patches = Vec::new();
        let overlaps = |axis: usize| {
            let (seen, counted) = (&seen[axis], &self.counted[axis]);
            seen.start < counted.end && counted.start < seen.end
        };
        if !(overlaps(0) && overlaps(1)) {
            self.counted.clone_from(seen);
            self.count(cloud, seen, &mut patches);
            return patches;
        }
        for axis in 0..2 {
            let Range { start, end } = self.counted[axis];
            let mut part = self.counted.clone();
            if seen[axis].start < start {
                part[axis] = seen[axis].start - AHEAD..start;
                self.count(cloud, &part, &mut patches);
                let start = part[axis].start;
                self.counted[axis] = start..end.min(start + self.sides[axis]);
            }
            let Range { start, end } = self.counted[axis];
            if seen[axis].end > end {
                part[axis] = end..seen[axis].end + AHEAD;
                self.count(cloud, &part, &mut patches);
                let end = part[axis].end;
                self.counted[axis] = start.max(end - self.sides[axis])..end;
            }
        }
        patches
    }

    /// Counts a region, cut where the texture wraps around.
    fn count(&self, cloud: &PointCloud, region: &Region, patches: &mut Vec<Patch>) {
        let [columns, rows] = [0, 1].map(|axis| pieces(region[axis].clone(), self.sides[axis]));
        for rows in rows {
            for columns in &columns {
                let piece = [columns.clone(), rows.clone()];
                let at = [0, 1].map(|axis| piece[axis].start.rem_euclid(self.sides[axis]));
                patches.push(Patch {
                    at: at.map(|at| at as usize),
                    image: self.picture(cloud, &piece),
                });
            }
        }
    }

    /// Returns the mean colour of each spot, more opaque with more points.
    fn picture(&self, cloud: &PointCloud, region: &Region) -> ColorImage {
        let size = [0, 1].map(|axis| (region[axis].end - region[axis].start) as usize);
        let color = |&[r, g, b, count]: &[u32; 4]| {
            if count == 0 {
                return Color32::TRANSPARENT;
            }
            let opacity = self.opacity[(count as usize).min(MAX_COUNT - 1)];
            let share = opacity / count as f32;
            let [r, g, b] = [r, g, b].map(|sum| (sum as f32 * share) as u8);
            Color32::from_rgba_premultiplied(r, g, b, (opacity * 255.0) as u8)
        };
        let sums = self.sums(cloud, region, size);
        ColorImage::new(size, sums.iter().map(color).collect())
    }

    /// Returns red, green, blue and the number of points of each spot.
    fn sums(
        &self,
        cloud: &PointCloud,
        region: &Region,
        [width, height]: [usize; 2],
    ) -> Vec<[u32; 4]> {
        let mut sums = vec![[0_u32; 4]; width * height];
        let [x_scale, y_scale] = self.scale.map(|scale| scale as f32);
        for slots in cloud.grid().rows_in(self.plane(cloud, region)) {
            for point in &cloud.ordinary()[slots] {
                let x = floor(point.place[0] * x_scale).wrapping_sub(region[0].start);
                let y = floor(-point.place[1] * y_scale).wrapping_sub(region[1].start);
                let (x, y) = (x as usize, y as usize);
                if x >= width || y >= height {
                    continue;
                }
                let [r, g, b, a] = point.color.to_array();
                // A prominent point has no colour here and is not counted.
                for (sum, part) in sums[y * width + x].iter_mut().zip([r, g, b, a.min(1)]) {
                    *sum += u32::from(part);
                }
            }
        }
        sums
    }

    /// Returns a box that contains all points of a region.
    fn plane(&self, cloud: &PointCloud, region: &Region) -> Bounds {
        let middle = cloud.bounds().center();
        let place = |axis: usize, spot: i64, direction: f64| {
            let spot = spot as f64;
            let beyond = spot + direction * (1.0 + spot.abs() * ROUNDING);
            beyond / self.scale[axis]
        };
        let [x, y] = region;
        Bounds {
            min: [
                middle[0] + place(0, x.start, -1.0),
                middle[1] - place(1, y.end, 1.0),
            ],
            max: [
                middle[0] + place(0, x.end, 1.0),
                middle[1] - place(1, y.start, -1.0),
            ],
        }
    }

    /// Returns the texture coordinates of the visible part.
    fn uv(&self, seen: &VisibleSpots) -> Rect {
        let sides = self.sides.map(|side| side as f64);
        let corner = [0, 1].map(|axis| seen.corner[axis].rem_euclid(sides[axis]));
        let at = |share: f64| {
            let [x, y] = [0, 1].map(|axis| (corner[axis] + share * seen.size[axis]) / sides[axis]);
            Pos2::new(x as f32, y as f32)
        };
        Rect::from_min_max(at(0.0), at(1.0))
    }
}

/// Returns the parts of `range` between multiples of `side`.
fn pieces(range: Range<i64>, side: i64) -> Vec<Range<i64>> {
    let cut = (range.start.div_euclid(side) + 1) * side;
    if cut < range.end {
        vec![range.start..cut, cut..range.end]
    } else {
        vec![range]
    }
}

/// Same as [`f32::floor`], which is a function call unless the processor is known.
fn floor(value: f32) -> i64 {
    let whole = value as i64;
    whole - i64::from(whole as f32 > value)
}

/// Returns the mean number of points of a non-empty spot, as if the points of each grid cell were spread evenly over
/// it. It depends on the scale only, so that panning changes no colour.
fn mean_count(cloud: &PointCloud, scale: [f64; 2]) -> f32 {
    let [width, height] = cloud.grid().cell_size();
    let spots_per_cell = width * scale[0] * height * scale[1];
    let (mut num_points, mut num_spots) = (0.0, 0.0);
    for (&count, &num_cells) in cloud.cells_by_count() {
        let (count, num_cells) = (f64::from(count), f64::from(num_cells));
        num_points += num_cells * count;
        num_spots += num_cells * spots_per_cell * -(-count / spots_per_cell).exp_m1();
    }
    (num_points / num_spots).max(1.0) as f32
}

/// Returns the opacity by number of points.
fn opacities(mean_count: f32) -> Vec<f32> {
    // The transmittance of one point, such that a mean number of points has the wanted opacity.
    let through = (1.0 - MEAN_OPACITY).powf(1.0 / mean_count);
    (0..MAX_COUNT)
        .map(|count| (1.0 - through.powi(count as i32)).max(MIN_OPACITY))
        .collect()
}

#[cfg(test)]
mod tests {
    use egui::Vec2;
    use proptest::prelude::*;

    use super::super::cloud::{MarkShape, PointMark};
    use super::super::geometry::{Aspect, PlaneView};
    use super::*;

    fn cloud(places: Vec<[f64; 2]>, is_prominent: impl Fn(usize) -> bool) -> PointCloud {
        let mark = |at: usize| PointMark {
            color: Color32::WHITE,
            ring: Color32::TRANSPARENT,
            shape: MarkShape::Disc,
            is_prominent: is_prominent(at),
        };
        let marks = (0..places.len()).map(mark).collect();
        PointCloud::new(places, marks)
    }

    fn transform(cloud: &PointCloud, view: PlaneView) -> Transform {
        let rect = Rect::from_min_size(Pos2::new(10.0, 20.0), Vec2::new(300.0, 200.0));
        Transform::new(rect, cloud.bounds(), Aspect::Equal, view)
    }

    /// Returns the opacity of the whole picture at a position.
    fn ink(cloud: &PointCloud) -> impl Fn([f64; 2]) -> u8 {
        let transform = transform(cloud, PlaneView::default());
        let seen = VisibleSpots::new(cloud, &transform);
        let picture = Spots::new(cloud, &seen).picture(cloud, &seen.region());
        move |place| {
            let at = transform.to_screen(place) - transform.rect().min;
            let spot = [(at.x, 0), (at.y, 1)].map(|(at, axis)| {
                let spot = (seen.corner[axis] + f64::from(at) / SPOT).floor() as i64;
                (spot - seen.region()[axis].start) as usize
            });
            picture[(spot[0], spot[1])].a()
        }
    }

    fn spiral(count: u32) -> Vec<[f64; 2]> {
        (0..count)
            .map(|at| f64::from(at) * 0.37)
            .map(|t| [t.cos() * t.min(40.0), t.sin()])
            .collect()
    }

    #[test]
    fn every_point_colours_its_spot_and_prominent_ones_do_not() {
        let cloud = cloud(spiral(500), |at| at % 9 == 4);
        let ink = ink(&cloud);
        for (point, &place) in cloud
            .places()
            .iter()
            .enumerate()
            .filter(|(at, _)| at % 9 != 4)
        {
            assert!(
                f32::from(ink(place)) >= MIN_OPACITY * 250.0,
                "point {point}"
            );
        }
        let seen = VisibleSpots::new(&cloud, &transform(&cloud, PlaneView::default()));
        let (region, spots) = (seen.region(), Spots::new(&cloud, &seen));
        let size = [0, 1].map(|axis| region[axis].clone().count());
        let sums = spots.sums(&cloud, &region, size);
        let counted: u32 = sums.iter().map(|sum| sum[3]).sum();
        assert_eq!(counted as usize, (0..500).filter(|at| at % 9 != 4).count());
    }

    #[test]
    fn more_points_are_more_opaque() {
        let mut places = vec![[0.0, 0.0], [1.0, 1.0]];
        places.extend(std::iter::repeat_n([1.0, 0.0], 50));
        let cloud = cloud(places, |_| false);
        let ink = ink(&cloud);
        assert!(ink([1.0, 0.0]) > ink([1.0, 1.0]));
        assert_eq!(ink([0.0, 0.0]), ink([1.0, 1.0]));
    }

    proptest! {
        #[test]
        fn a_panned_picture_equals_a_fresh_one(
            moves in proptest::collection::vec((-400.0..400.0_f32, -300.0..300.0_f32), 1..12),
            zoom in 1.0..30.0_f64,
        ) {
            let cloud = cloud(spiral(3_000), |at| at % 50 == 0);
            let fitted = transform(&cloud, PlaneView::default());
            let mut view = PlaneView::default().zoomed(&fitted, fitted.rect().center(), [zoom; 2]);
            let mut spots = Spots::new(&cloud, &VisibleSpots::new(&cloud, &transform(&cloud, view)));
            let size = spots.sides.map(|side| side as usize);
            let mut texture = ColorImage::filled(size, Color32::RED);
            for (x, y) in moves {
                view = view.panned(&transform(&cloud, view), Vec2::new(x, y));
                let region = VisibleSpots::new(&cloud, &transform(&cloud, view)).region();
                for Patch { at, image } in spots.follow(&cloud, &region) {
                    for (row, pixels) in image.pixels.chunks(image.width()).enumerate() {
                        let start = (at[1] + row) * size[0] + at[0];
                        texture.pixels[start..start + pixels.len()].copy_from_slice(pixels);
                    }
                }
                let fresh = spots.picture(&cloud, &region);
                for (at, &expected) in fresh.pixels.iter().enumerate() {
                    let spot = [at % fresh.width(), at / fresh.width()];
                    let [x, y] = [0, 1].map(|axis| {
                        let spot = region[axis].start + spot[axis] as i64;
                        spot.rem_euclid(spots.sides[axis]) as usize
                    });
                    prop_assert_eq!(texture[(x, y)], expected, "spot {:?}", spot);
                }
            }
        }
    }
}
