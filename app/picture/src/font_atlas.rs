//! The texture of the fonts, as egui sends it with its frames.

use egui::{ColorImage, ImageData, TextureId, TexturesDelta};

/// The glyphs that the frames of a context have used so far.
#[derive(Clone, Debug, Default)]
pub struct FontAtlas {
    image: ColorImage,
}

impl FontAtlas {
    /// Takes over the changes of a frame.
    pub fn update(&mut self, delta: &TexturesDelta) {
        let Some(changes) = delta.set.get(&TextureId::default()) else {
            return;
        };
        for change in changes {
            let ImageData::Color(image) = &change.image;
            match change.pos {
                None => self.image = ColorImage::clone(image),
                Some(at) => self.patch(at, image),
            }
        }
    }

    fn patch(&mut self, [left, top]: [usize; 2], image: &ColorImage) {
        let width = self.image.size[0];
        for (row, line) in image.pixels.chunks(image.size[0].max(1)).enumerate() {
            let start = (top + row) * width + left;
            if let Some(place) = self.image.pixels.get_mut(start..start + line.len()) {
                place.copy_from_slice(line);
            }
        }
    }

    /// Returns the colour at a place of the texture, 0 to 1 on both axes; values between pixels are interpolated.
    /// Colours are premultiplied, 0 to 1.
    pub(crate) fn color_at(&self, [u, v]: [f32; 2]) -> [f32; 4] {
        let [width, height] = self.image.size;
        if width == 0 || height == 0 {
            return [1.0; 4];
        }
        let (x, y) = (u * width as f32 - 0.5, v * height as f32 - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (across, down) = (x - left, y - top);
        let texel = |dx: f32, dy: f32| {
            let column = ((left + dx).max(0.0) as usize).min(width - 1);
            let row = ((top + dy).max(0.0) as usize).min(height - 1);
            self.image.pixels[row * width + column].to_array()
        };
        let (a, b) = (texel(0.0, 0.0), texel(1.0, 0.0));
        let (c, d) = (texel(0.0, 1.0), texel(1.0, 1.0));
        std::array::from_fn(|channel| {
            let value = |texel: [u8; 4]| f32::from(texel[channel]) / 255.0;
            let upper = value(a) * (1.0 - across) + value(b) * across;
            let lower = value(c) * (1.0 - across) + value(d) * across;
            upper * (1.0 - down) + lower * down
        })
    }
}
