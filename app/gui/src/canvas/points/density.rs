//! Many points as one picture: how many there are, and of which colours, on each spot of the canvas.
//!
//! Only points that do not stand out are counted together. A point alone on its spot is still seen.

use egui::{
    Color32, ColorImage, Mesh, Painter, Pos2, Rect, Shape, TextureHandle, TextureOptions, Vec2,
};

use super::cloud::PointCloud;
use super::geometry::Transform;

/// Side of a spot in points of the screen.
const SPOT: f32 = 2.0;
/// Opacity of a spot with as many points as spots have on average.
const MEAN_OPACITY: f32 = 0.6;
/// Opacity of a spot with one point.
const LEAST_OPACITY: f32 = 0.2;
/// From this count on, opacity grows no more.
const MAX_COUNT: usize = 256;

/// The newest picture and what it shows.
pub(super) struct Density {
    transform: Transform,
    texture: TextureHandle,
}

/// Sums over the points of each spot.
struct Spots {
    width: usize,
    height: usize,
    /// Red, green, blue and how many.
    sums: Vec<[u32; 4]>,
}

/// Paints the points of `cloud` that do not stand out; `known` is the picture of the frame before.
pub(super) fn paint(
    known: &mut Option<Density>,
    cloud: &PointCloud,
    transform: &Transform,
    opacity: f32,
    painter: &Painter,
) {
    let rect = transform.rect();
    if known
        .as_ref()
        .is_none_or(|known| known.transform != *transform)
    {
        let picture = Spots::gather(cloud, transform).picture();
        if let Some(known) = known {
            known.texture.set(picture, TextureOptions::LINEAR);
            known.transform = *transform;
        } else {
            let ctx = painter.ctx();
            *known = Some(Density {
                transform: *transform,
                texture: ctx.load_texture("density of points", picture, TextureOptions::LINEAR),
            });
        }
    }
    if let Some(known) = known {
        let mut mesh = Mesh::with_texture(known.texture.id());
        let size = known.texture.size_vec2() * SPOT;
        let whole = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));
        let tint = Color32::WHITE.gamma_multiply(opacity);
        mesh.add_rect_with_uv(Rect::from_min_size(rect.min, size), whole, tint);
        painter.add(Shape::mesh(mesh));
    }
}

impl Spots {
    fn gather(cloud: &PointCloud, transform: &Transform) -> Self {
        let rect = transform.rect();
        let size = (rect.size() / SPOT).ceil().max(Vec2::splat(1.0));
        let (width, height) = (size.x as usize, size.y as usize);
        let mut sums = vec![[0_u32; 4]; width * height];
        let origin = (transform.to_screen(cloud.bounds().center()) - rect.min) / SPOT;
        let [x_scale, y_scale] = transform.scale().map(|scale| scale as f32 / SPOT);
        for slots in cloud.grid().rows_in(transform.seen(0.0)) {
            for point in &cloud.crowd()[slots] {
                let x = origin.x + point.place[0] * x_scale;
                let y = origin.y - point.place[1] * y_scale;
                if x < 0.0 || y < 0.0 || x >= size.x || y >= size.y {
                    continue;
                }
                let [r, g, b, a] = point.color.to_array();
                let sum = &mut sums[y as usize * width + x as usize];
                // A point that stands out has no colour here and counts for nothing.
                for (sum, part) in sum.iter_mut().zip([r, g, b, a.min(1)]) {
                    *sum += u32::from(part);
                }
            }
        }
        Self {
            width,
            height,
            sums,
        }
    }

    /// The mean colour of each spot, the more opaque the more points it has.
    fn picture(&self) -> ColorImage {
        let (num_spots, num_points) = self
            .sums
            .iter()
            .filter(|sum| sum[3] > 0)
            .fold((0_u64, 0_u64), |(spots, points), sum| {
                (spots + 1, points + u64::from(sum[3]))
            });
        let mean = num_points as f32 / num_spots.max(1) as f32;
        // What one point lets through, so that a mean number of them has the wanted opacity.
        let through = (1.0 - MEAN_OPACITY).powf(1.0 / mean.max(1.0));
        let opacity: Vec<f32> = (0..MAX_COUNT)
            .map(|count| (1.0 - through.powi(count as i32)).max(LEAST_OPACITY))
            .collect();
        let color = |&[r, g, b, count]: &[u32; 4]| {
            if count == 0 {
                return Color32::TRANSPARENT;
            }
            let opacity = opacity[(count as usize).min(MAX_COUNT - 1)];
            let share = opacity / count as f32;
            let [r, g, b] = [r, g, b].map(|sum| (sum as f32 * share) as u8);
            Color32::from_rgba_premultiplied(r, g, b, (opacity * 255.0) as u8)
        };
        let pixels = self.sums.iter().map(color).collect();
        ColorImage::new([self.width, self.height], pixels)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cloud::{MarkShape, PointMark};
    use super::super::geometry::{Aspect, PlaneView};
    use super::*;

    fn cloud(places: Vec<[f64; 2]>, stands_out: impl Fn(usize) -> bool) -> PointCloud {
        let mark = |at: usize| PointMark {
            color: Color32::WHITE,
            ring: Color32::TRANSPARENT,
            shape: MarkShape::Disc,
            stands_out: stands_out(at),
        };
        let marks = (0..places.len()).map(mark).collect();
        PointCloud::new(places, marks)
    }

    fn transform(cloud: &PointCloud) -> Transform {
        let rect = Rect::from_min_size(Pos2::new(10.0, 20.0), Vec2::new(300.0, 200.0));
        Transform::new(rect, cloud.bounds(), Aspect::Equal, PlaneView::default())
    }

    #[test]
    fn every_point_alone_or_not_leaves_ink_on_its_spot_and_those_that_stand_out_none() {
        let places: Vec<[f64; 2]> = (0..500)
            .map(|at| f64::from(at) * 0.37)
            .map(|t| [t.cos() * t.min(40.0), t.sin()])
            .collect();
        let cloud = cloud(places, |at| at % 9 == 4);
        let transform = transform(&cloud);
        let spots = Spots::gather(&cloud, &transform);
        let picture = spots.picture();
        for (point, &place) in cloud
            .places()
            .iter()
            .enumerate()
            .filter(|(at, _)| at % 9 != 4)
        {
            let spot = (transform.to_screen(place) - transform.rect().min) / SPOT;
            let ink = picture[(spot.x as usize, spot.y as usize)].a();
            assert!(f32::from(ink) >= LEAST_OPACITY * 250.0, "point {point}");
        }
        let counted: u32 = spots.sums.iter().map(|sum| sum[3]).sum();
        assert_eq!(counted as usize, (0..500).filter(|at| at % 9 != 4).count());
    }

    #[test]
    fn more_points_are_more_opaque() {
        let mut places = vec![[0.0, 0.0], [1.0, 1.0]];
        places.extend(std::iter::repeat_n([1.0, 0.0], 50));
        let cloud = cloud(places, |_| false);
        let transform = transform(&cloud);
        let picture = Spots::gather(&cloud, &transform).picture();
        let ink = |place| {
            let spot = (transform.to_screen(place) - transform.rect().min) / SPOT;
            picture[(spot.x as usize, spot.y as usize)].a()
        };
        assert!(ink([1.0, 0.0]) > ink([1.0, 1.0]));
        assert_eq!(ink([0.0, 0.0]), ink([1.0, 1.0]));
    }
}
