//! A picture of a screen or a page, and measurements of its colours.

use std::io::Cursor;

use anyhow::{Result, bail};

/// The pixels of a screen or a page.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green and blue of each pixel, row by row from the top left: `[height, width, 3]`.
    pub rgb: Vec<u8>,
}

impl Picture {
    /// Reads a PNG with 8 bits for each of red, green, blue and an optional alpha, which is ignored.
    ///
    /// # Errors
    /// The file is damaged, or has another format.
    pub fn from_png(bytes: &[u8]) -> Result<Self> {
        let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info()?;
        let channels = match reader.output_color_type() {
            (png::ColorType::Rgb, png::BitDepth::Eight) => 3,
            (png::ColorType::Rgba, png::BitDepth::Eight) => 4,
            other => bail!("a picture of {other:?}, not of 8 bits for red, green and blue"),
        };
        let (width, height) = (reader.info().width as usize, reader.info().height as usize);
        let mut pixels = vec![0; width * height * channels];
        reader.next_frame(&mut pixels)?;
        let rgb = pixels.chunks_exact(channels).flat_map(|it| &it[..3]);
        Ok(Self {
            width,
            height,
            rgb: rgb.copied().collect(),
        })
    }

    /// Returns the fraction of pixels, from 0 to 1, whose colour is within `tolerance` of `rgb` in each channel.
    pub fn share_of(&self, rgb: [u8; 3], tolerance: u8) -> f64 {
        let is_near = |pixel: &&[u8]| (0..3).all(|i| pixel[i].abs_diff(rgb[i]) <= tolerance);
        let count = self.rgb.chunks_exact(3).filter(is_near).count();
        count as f64 / (self.width * self.height) as f64
    }

    /// Returns the number of different colours.
    pub fn num_colours(&self) -> usize {
        let mut colours: Vec<&[u8]> = self.rgb.chunks_exact(3).collect();
        colours.sort_unstable();
        colours.dedup();
        colours.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_of(color: png::ColorType, pixels: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
        encoder.set_color(color);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(pixels).unwrap();
        writer.finish().unwrap();
        bytes
    }

    #[test]
    fn colours_are_read_with_and_without_alpha() {
        let plain = png_of(png::ColorType::Rgb, &[255, 0, 0, 0, 0, 9]);
        let alpha = png_of(png::ColorType::Rgba, &[255, 0, 0, 255, 0, 0, 9, 255]);
        for bytes in [plain, alpha] {
            let picture = Picture::from_png(&bytes).unwrap();
            assert_eq!(picture.rgb, [255, 0, 0, 0, 0, 9]);
            assert_eq!(
                (picture.width, picture.height, picture.num_colours()),
                (2, 1, 2)
            );
            assert!((picture.share_of([0, 0, 0], 10) - 0.5).abs() < 1e-9);
        }
    }

    #[test]
    fn damaged_pictures_are_refused() {
        let whole = png_of(png::ColorType::Rgb, &[1; 6]);
        assert!(Picture::from_png(&whole[..whole.len() / 2]).is_err());
        assert!(Picture::from_png(b"P6\n1 1\n255\nabc").is_err());
        assert!(Picture::from_png(&png_of(png::ColorType::Grayscale, &[1; 2])).is_err());
    }
}
