//! A tessellated frame as PNG: triangles drawn by the processor, blended as on the screen.

use egui::epaint::{ClippedPrimitive, Primitive, Vertex, WHITE_UV};
use egui::{Color32, Mesh, Rect, TextureId};

use crate::error::PaintError;
use crate::font_atlas::FontAtlas;

/// The page that a frame is drawn on.
#[derive(Clone, Copy, Debug)]
pub struct PixelPage<'a> {
    /// Width and height, in pixels.
    pub size_px: [u32; 2],
    /// Pixels per point of the frame.
    pub pixels_per_point: f32,
    /// The colour below everything, opaque.
    pub background: Color32,
    /// The glyphs of the texts.
    pub font: &'a FontAtlas,
}

/// Draws the triangles of a frame and returns them as a PNG file.
///
/// # Errors
/// If a side has 0 pixels or too many, a triangle has a texture other than that of the fonts, or the file cannot be
/// encoded.
pub fn write_png(
    primitives: &[ClippedPrimitive],
    page: &PixelPage<'_>,
) -> Result<Vec<u8>, PaintError> {
    let [width, height] = page.size_px;
    if [width, height]
        .iter()
        .any(|side| !(1..=PaintError::MAX_SIDE).contains(side))
    {
        return Err(PaintError::Size { width, height });
    }
    let mut image = Image::new(page);
    for primitive in primitives {
        let Primitive::Mesh(mesh) = &primitive.primitive else {
            return Err(PaintError::Callback);
        };
        image.draw(mesh, primitive.clip_rect, page)?;
    }
    encode(&image)
}

fn encode(image: &Image) -> Result<Vec<u8>, PaintError> {
    let mut file = Vec::new();
    let failed = |error: png::EncodingError| PaintError::Png {
        cause: error.to_string(),
    };
    let mut encoder = png::Encoder::new(&mut file, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    let bytes: Vec<u8> = image.pixels.iter().flatten().copied().collect();
    writer.write_image_data(&bytes).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(file)
}

struct Image {
    width: usize,
    height: usize,
    /// Red, green and blue of each pixel, row by row.
    pixels: Vec<[u8; 3]>,
}

/// Pixels from the first to before the last, of columns and of rows.
type Cells = [std::ops::Range<usize>; 2];

impl Image {
    fn new(page: &PixelPage<'_>) -> Self {
        let [width, height] = page.size_px.map(|side| side as usize);
        let [r, g, b, _] = page.background.to_array();
        Self {
            width,
            height,
            pixels: vec![[r, g, b]; width * height],
        }
    }

    fn draw(&mut self, mesh: &Mesh, clip: Rect, page: &PixelPage<'_>) -> Result<(), PaintError> {
        if mesh.texture_id != TextureId::default() {
            return Err(PaintError::Texture);
        }
        let clip = self.cells(clip * page.pixels_per_point);
        for corners in mesh.indices.chunks_exact(3) {
            let vertex = |at: usize| mesh.vertices.get(corners[at] as usize);
            if let (Some(a), Some(b), Some(c)) = (vertex(0), vertex(1), vertex(2)) {
                self.draw_triangle([*a, *b, *c], &clip, page);
            }
        }
        Ok(())
    }

    /// Returns the pixels whose middles are in a rectangle, in pixels.
    fn cells(&self, rect: Rect) -> Cells {
        let range = |from: f32, to: f32, side: usize| {
            let cell = |value: f32| (value.round().max(0.0) as usize).min(side);
            cell(from)..cell(to)
        };
        [
            range(rect.left(), rect.right(), self.width),
            range(rect.top(), rect.bottom(), self.height),
        ]
    }

    /// Draws the pixels whose middles are in a triangle. A pixel on the edge of two triangles belongs to one of them.
    fn draw_triangle(&mut self, corners: [Vertex; 3], clip: &Cells, page: &PixelPage<'_>) {
        let scale = f64::from(page.pixels_per_point);
        let mut corners = corners;
        let place = |corner: &Vertex| {
            [f64::from(corner.pos.x), f64::from(corner.pos.y)].map(|at| at * scale)
        };
        let mut places = corners.each_ref().map(place);
        let area = cross(places[0], places[1], places[2]);
        if area.abs() < 1e-9 || !area.is_finite() {
            return;
        }
        if area < 0.0 {
            corners.swap(1, 2);
            places.swap(1, 2);
        }
        let area = area.abs();
        let around = |axis: usize| {
            let values = places.map(|place| place[axis]);
            let least = values.into_iter().fold(f64::INFINITY, f64::min);
            let most = values.into_iter().fold(f64::NEG_INFINITY, f64::max);
            let first = (least - 0.5).ceil().max(0.0) as usize;
            let end = (most + 0.5).floor().max(0.0) as usize + 1;
            first.max(clip[axis].start)..end.min(clip[axis].end)
        };
        let (columns, rows) = (around(0), around(1));
        // An edge that goes up, or a horizontal one that goes right, keeps the pixels on it.
        let is_kept =
            |from: [f64; 2], to: [f64; 2]| to[1] < from[1] || (to[1] <= from[1] && to[0] > from[0]);
        let edges = [(1, 2), (2, 0), (0, 1)];
        let kept = edges.map(|(from, to)| is_kept(places[from], places[to]));
        for row in rows {
            for column in columns.clone() {
                let at = [column as f64 + 0.5, row as f64 + 0.5];
                let weights = edges.map(|(from, to)| cross(places[from], places[to], at));
                let is_inside =
                    (0..3).all(|edge| weights[edge] > 0.0 || (weights[edge] >= 0.0 && kept[edge]));
                if is_inside {
                    let weights = weights.map(|weight| (weight / area) as f32);
                    self.blend(
                        column + row * self.width,
                        source(&corners, weights, page.font),
                    );
                }
            }
        }
    }

    /// Puts a premultiplied colour, 0 to 1, over a pixel.
    fn blend(&mut self, pixel: usize, source: [f32; 4]) {
        let Some(below) = self.pixels.get_mut(pixel) else {
            return;
        };
        for (channel, value) in below.iter_mut().enumerate() {
            let blended = source[channel] * 255.0 + f32::from(*value) * (1.0 - source[3]);
            *value = blended.round().clamp(0.0, 255.0) as u8;
        }
    }
}

/// Returns twice the area of a triangle, positive if its corners are in clockwise order on the screen.
fn cross(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Returns the colour of a place in a triangle, given the weights of its corners.
fn source(corners: &[Vertex; 3], weights: [f32; 3], font: &FontAtlas) -> [f32; 4] {
    let mixed = |value: &dyn Fn(&Vertex) -> f32| -> f32 {
        let values = corners.iter().zip(weights);
        values.map(|(corner, weight)| value(corner) * weight).sum()
    };
    let color: [f32; 4] = std::array::from_fn(|channel| {
        mixed(&|corner| f32::from(corner.color.to_array()[channel]) / 255.0)
    });
    if corners.iter().all(|corner| corner.uv == WHITE_UV) {
        return color;
    }
    let texel = font.color_at([mixed(&|corner| corner.uv.x), mixed(&|corner| corner.uv.y)]);
    std::array::from_fn(|channel| color[channel] * texel[channel])
}

#[cfg(test)]
mod tests {
    use egui::{Context, RawInput, pos2};

    use super::*;

    fn image_of(mesh: &Mesh, clip: Rect, pixels_per_point: f32) -> Image {
        let font = FontAtlas::default();
        let page = PixelPage {
            size_px: [8, 8],
            pixels_per_point,
            background: Color32::WHITE,
            font: &font,
        };
        let mut image = Image::new(&page);
        image.draw(mesh, clip, &page).unwrap();
        image
    }

    fn rect(from: f32, to: f32) -> Rect {
        Rect::from_min_max(pos2(from, from), pos2(to, to))
    }

    #[test]
    fn a_rectangle_of_two_triangles_covers_each_pixel_once() {
        let mut mesh = Mesh::default();
        let half = Color32::from_rgba_premultiplied(0, 0, 0, 128);
        mesh.add_colored_rect(rect(2.0, 6.0), half);
        let image = image_of(&mesh, rect(0.0, 8.0), 1.0);
        let gray = [127_u8; 3];
        assert_eq!(image.pixels.iter().filter(|it| **it == gray).count(), 16);
        assert_eq!(
            image.pixels.iter().filter(|it| **it == [255; 3]).count(),
            48
        );
    }

    #[test]
    fn clips_and_scales_are_in_pixels() {
        let mut mesh = Mesh::default();
        mesh.add_colored_rect(rect(1.0, 3.0), Color32::BLACK);
        let image = image_of(&mesh, rect(0.0, 2.0), 2.0);
        let black = image.pixels.iter().filter(|it| **it == [0; 3]).count();
        assert_eq!(
            black, 4,
            "2 x 2 of 4 x 4 pixels are inside the clip rectangle"
        );
    }

    #[test]
    fn texts_are_drawn_with_the_fonts_of_the_window() {
        let ctx = Context::default();
        let mut font = FontAtlas::default();
        let mut last = None;
        for _ in 0..2 {
            let mut output = ctx.run_ui(RawInput::default(), |ui| {
                ui.label("Text");
            });
            font.update(&output.textures_delta);
            output.textures_delta.clear();
            last = Some(ctx.tessellate(output.shapes, 1.0));
        }
        let page = PixelPage {
            size_px: [60, 30],
            pixels_per_point: 1.0,
            background: Color32::BLACK,
            font: &font,
        };
        let file = write_png(&last.unwrap(), &page).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (60, 30));
        let num_bright = pixels.iter().filter(|value| **value > 90).count();
        assert!(num_bright > 60, "{num_bright}");
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let font = FontAtlas::default();
        let page = PixelPage {
            size_px: [0, 8],
            pixels_per_point: 1.0,
            background: Color32::WHITE,
            font: &font,
        };
        let refused = write_png(&[], &page).unwrap_err();
        assert!(refused.to_string().contains("from 1 to 16384"), "{refused}");
    }
}
